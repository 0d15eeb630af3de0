"""Every page of the built site, looked at in a real Chromium."""

import gzip
from functools import cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from conftest import toc_pages

PAGES = toc_pages()
KIB = 1024

# Text as a reader gets it: no code, no scripts, no typeset mathematics; closed boxes count too.
READABLE = """() => {
    const copy = document.querySelector('article').cloneNode(true);
    copy.querySelectorAll('pre, code, script, style, mjx-container').forEach(e => e.remove());
    return copy.textContent;
}"""

# Elements with text of their own whose contrast with what lies behind them is too low.
PALE = """() => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const rgba = colour => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const over = (top, below) => {
        const a = top[3] / 255;
        return [0, 1, 2].map(i => a * top[i] + (1 - a) * below[i]).concat(255);
    };
    const behind = element => {
        const layers = [];
        for (let e = element; e; e = e.parentElement) {
            layers.push(rgba(getComputedStyle(e).backgroundColor));
            if (layers.at(-1)[3] === 255) break;
        }
        return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 255]);
    };
    const light = colour => colour.slice(0, 3)
        .map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const pale = [];
    for (const e of document.querySelectorAll('body *')) {
        const text = [...e.childNodes].filter(n => n.nodeType === 3 && n.data.trim());
        if (!text.length || !e.checkVisibility({opacityProperty: true, visibilityProperty: true}))
            continue;
        if (e.closest('mjx-assistive-mml, .headerlink, svg, [aria-hidden=true]')) continue;
        const style = getComputedStyle(e), back = behind(e);
        const [a, b] = [light(over(rgba(style.color), back)), light(back)];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const size = parseFloat(style.fontSize), bold = parseInt(style.fontWeight) >= 700;
        if (contrast < (size >= 24 || (bold && size >= 18.66) ? 3 : 4.5))
            pale.push(`${contrast.toFixed(1)} ${e.tagName}.${e.className}: ${text[0].data.trim()}`);
    }
    return pale;
}"""


@cache
def read(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(), "html.parser")


@cache
def anchors(path: Path) -> set[str]:
    """The places of a page that a link can lead to."""
    return {tag.get("id") or tag["name"] for tag in read(path).select("[id], a[name]")}


@pytest.fixture
def document(site, name) -> BeautifulSoup:
    return read(site / f"{name}.html")


def test_the_site_has_the_pages_of_its_table_of_contents(site):
    built = {str(path.relative_to(site))[:-5] for path in site.rglob("*.html")}
    built = {name for name in built if not name.startswith("_static/")}
    assert built == {*PAGES, "search"}
    assert len(PAGES) == len(set(PAGES))


@pytest.mark.parametrize("name", PAGES)
def test_over_http(name, visit, address):
    seen = visit()
    page = seen.open(f"{address}/{name}.html")
    assert [url for url in seen.requests if not url.startswith((address, "data:", "blob:"))] == []
    assert seen.complaints == []

    assert page.locator("mjx-merror").count() == 0
    assert page.evaluate(
        "[...document.querySelectorAll('.math:not(:has(mjx-container))')].map(e => e.outerHTML)"
    ) == []  # fmt: skip
    text = page.evaluate(READABLE)
    for raw in (r"\(", r"\[", r"\frac", "$", "{glue", "{eval", "{prf:", "{cite", "`", ":::", "[]("):
        assert raw not in text, f"{raw} stands in the text"


@pytest.mark.parametrize("name", PAGES)
def test_from_a_file(name, visit, site):
    seen = visit()
    page = seen.open((site / f"{name}.html").as_uri())
    assert [
        url for url in seen.requests if not url.startswith((site.as_uri(), "data:", "blob:"))
    ] == []
    assert seen.complaints == []
    assert page.locator("mjx-merror").count() == 0
    assert page.evaluate("document.querySelectorAll('.math:not(:has(mjx-container))').length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_on_a_phone(name, scheme, visit, address):
    """No horizontal scroll at 360 px, boxes open; text stands out from what is behind it."""
    seen = visit(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page = seen.open(f"{address}/{name}.html")
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
    for button in page.locator("button.toggle-button").all():
        button.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    wide = """[...document.querySelectorAll('article *')].filter(e =>
        e.getBoundingClientRect().right > 361 && ![...function* (e) {
            while ((e = e.parentElement)) yield getComputedStyle(e).overflowX;
        }(e)].some(x => ['auto', 'scroll', 'hidden'].includes(x))).map(e => e.outerHTML)"""
    assert page.evaluate(wide) == []
    assert page.evaluate(PALE) == []


@pytest.mark.parametrize("name", PAGES)
def test_head_images_and_ids(name, document):
    assert document.title.text.strip()
    assert len(document.article.find_all("h1")) == 1
    described = document.find_all("meta", attrs={"name": "description"})
    assert len(described) == 1
    assert len(described[0]["content"]) > 40
    assert document.find("link", rel="icon")
    # The picture beside the site's title is the only one that may leave its meaning to the text.
    assert [str(image) for image in document.article.find_all("img") if not image.get("alt")] == []
    ids = [tag["id"] for tag in document.find_all(id=True)]
    assert sorted({name for name in ids if ids.count(name) > 1}) == []


def test_titles_and_descriptions_differ(site):
    pages = [read(site / f"{name}.html") for name in PAGES]
    for parts in (
        [page.title.text for page in pages],
        [page.find("meta", attrs={"name": "description"})["content"] for page in pages],
    ):
        assert len(set(parts)) == len(PAGES)


@pytest.mark.parametrize("name", [*PAGES, "search"])
def test_links(name, site, document):
    """Each link leads to a file of the site, and to a place in it; loads never leave the site."""
    page = site / f"{name}.html"
    for tag in document.find_all(["a", "link", "img", "script", "source", "iframe"]):
        target = tag.get("href") or tag.get("src")
        if not target or target.startswith(("data:", "javascript:", "mailto:")):
            continue
        if target.startswith(("http:", "https:", "//")):
            assert tag.name == "a" or tag.get("rel") == ["canonical"], f"{tag} loads from elsewhere"
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path.split("?")[0]).resolve() if path else page
        assert file.exists(), f"{target} leads nowhere"
        if anchor and file.suffix == ".html":
            assert anchor in anchors(file), f"no #{anchor} in {path}"


@pytest.mark.parametrize("name", PAGES)
def test_weight_of_the_page(name, site, document):
    """A page's own text and pictures: under 150 KB as sent."""
    page = site / f"{name}.html"
    sources = {image["src"] for image in document.find_all("img") if "_images" in image["src"]}
    files = [page, *((page.parent / source).resolve() for source in sources)]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) < 150_000


def test_weight_of_the_shell(visit, address, site):
    """Scripts, styles, fonts and MathJax, shared by all pages: measured once, as sent."""
    seen = visit()
    seen.open(f"{address}/{PAGES[1]}.html")
    paths = {url.removeprefix(address + "/").split("?")[0] for url in seen.requests}
    shell = [site / path for path in paths if path.startswith("_static/")]
    assert len(shell) > 10
    assert sum(len(gzip.compress(path.read_bytes())) for path in shell) < 1200 * KIB
    everything = sum(path.stat().st_size for path in Path(site).rglob("*") if path.is_file())
    assert everything < 30 * KIB**2
