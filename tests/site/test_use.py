"""What a reader does on the site: search, copy, fold, change the colours, go on, download."""

import nbformat
import pytest
from bs4 import BeautifulSoup
from conftest import toc_pages

CHAPTER = "data-parallelism"


def test_search_finds_a_word(visit, address):
    seen = visit()
    page = seen.page
    page.goto(f"{address}/search.html?q=gradient")
    page.locator(f"ul.search li a[href^='{CHAPTER}.html']").first.wait_for()
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


def test_previous_and_next_visit_every_page(site, visit, address):
    pages = toc_pages()

    def leads(name: str, selector: str) -> str | None:
        link = BeautifulSoup((site / f"{name}.html").read_text(), "html.parser").select_one(
            selector
        )
        target = link and (site / f"{name}.html").parent.joinpath(link["href"]).resolve()
        return target and str(target.relative_to(site.resolve()))[:-5]

    assert [leads(name, "a.right-next") for name in pages] == [*pages[1:], None]
    assert [leads(name, "a.left-prev") for name in pages] == [None, *pages[:-1]]
    page = visit().open(f"{address}/{pages[0]}.html")
    page.locator("a.right-next").click()
    page.wait_for_url(f"{address}/{pages[1]}.html")


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
