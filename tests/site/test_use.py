"""What a reader does on the site: search, copy, fold, change the colours, go on, download."""

import nbformat
import pytest
from conftest import toc_pages

CHAPTER = "data-parallelism"


def test_search_finds_a_word(visit, address):
    seen = visit()
    page = seen.open(f"{address}/{CHAPTER}.html")
    title = page.locator("article h1").inner_text()
    word = max(title.replace("#", "").split(), key=len).strip(":,.?")
    seen.page.goto(f"{address}/search.html?q={word}")
    seen.page.locator("ul.search li a").first.wait_for()
    found = seen.page.locator("ul.search li > a").evaluate_all("all => all.map(a => a.href)")
    assert any(f"{address}/{CHAPTER}.html" in link for link in found)
    assert seen.complaints == []


def test_copy_button(visit, address):
    seen = visit(permissions=["clipboard-read", "clipboard-write"])
    page = seen.open(f"{address}/{CHAPTER}.html")
    cell = page.locator("div.cell_input div.highlight:visible").first
    cell.hover()
    cell.locator("button.copybtn").click()
    assert page.evaluate("navigator.clipboard.readText()").strip() == cell.locator(
        "pre"
    ).inner_text().strip()  # fmt: skip


def test_download_of_the_notebook(visit, address, tmp_path):
    page = visit(accept_downloads=True).open(f"{address}/{CHAPTER}.html")
    page.locator(".dropdown-download-buttons > button").click()
    link = page.locator("a.btn-download-notebook-button")
    link.evaluate("a => a.setAttribute('download', '')")
    with page.expect_download() as download:
        link.click()
    download.value.save_as(tmp_path / "chapter.ipynb")
    nbformat.validate(nbformat.read(tmp_path / "chapter.ipynb", as_version=4))


def test_folded_boxes_open_by_keyboard(visit, address):
    page = visit().open(f"{address}/{CHAPTER}.html")
    button = page.locator("button.toggle-button").first
    button.focus()
    before = button.get_attribute("aria-expanded")
    page.keyboard.press("Enter")
    assert {before, button.get_attribute("aria-expanded")} == {"true", "false"}


def test_colours_change_and_stay(visit, address):
    page = visit(color_scheme="light").open(f"{address}/{CHAPTER}.html")
    theme = "document.documentElement.dataset.theme"
    seen = {page.evaluate(theme)}
    for _ in range(3):
        page.locator("button.theme-switch-button:visible").first.click()
        seen.add(page.evaluate(theme))
    assert seen == {"light", "dark"}


def test_previous_and_next_visit_every_page(visit, address):
    pages = toc_pages()
    page = visit().open(f"{address}/{pages[0]}.html")
    for name in pages[1:]:
        page.locator("a.right-next").click()
        page.wait_for_url(f"{address}/{name}.html")
    assert page.locator("a.right-next").count() == 0
    for name in reversed(pages[:-1]):
        page.locator("a.left-prev").click()
        page.wait_for_url(f"{address}/{name}.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_stand_on_a_light_panel(visit, address, scheme):
    page = visit(color_scheme=scheme).open(f"{address}/{CHAPTER}.html")
    colour = "e => getComputedStyle(e).backgroundColor"
    assert page.locator("figure img").first.evaluate(colour) == "rgb(255, 255, 255)"


def test_nothing_moves_where_motion_is_not_wanted(visit, address):
    page = visit(reduced_motion="reduce").open(f"{address}/{CHAPTER}.html")
    moving = """[...document.querySelectorAll('body *')].map(e => getComputedStyle(e)).filter(
        s => s.animationName !== 'none' || !['0s', '1e-05s'].includes(s.transitionDuration))"""
    assert page.evaluate(f"{moving}.length") == 0
