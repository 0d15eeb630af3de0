"""The built site, a server for it, and one Chromium for every test."""

import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
SITE = ROOT / "_build/html"
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(ROOT / "book/_ext"))


def toc_pages() -> list[str]:
    """Every page that the table of contents names, the root first."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    pages = [toc["root"]]

    def walk(entries: list[dict]) -> None:
        for entry in entries:
            pages.extend([entry["file"]] if "file" in entry else [])
            for below in ("chapters", "sections"):
                walk(entry.get(below, []))

    walk(toc["parts"])
    return pages


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def site() -> Path:
    if not (SITE / "index.html").exists():
        pytest.fail("There is no site to look at: run `make book` first.")
    return SITE


@pytest.fixture(scope="session")
def address(site):
    """The site served over HTTP by this machine to itself."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def chromium():
    import browser

    path = browser.find()
    if path is None:
        pytest.fail(browser.HELP)
    with sync_playwright() as playwright:
        # Root, as in a container, may not use the sandbox.
        one = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield one
        one.close()


class Visit:
    """A page that is open, and what it asked for and complained of since."""

    def __init__(self, chromium, **options) -> None:
        self.context = chromium.new_context(**options)
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.complaints.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self.hear)

    def hear(self, message) -> None:
        # The theme and its toggle buttons log that they have begun.
        if not (message.type == "log" and message.text.startswith(("[PST]", "[togglebutton]"))):
            self.complaints.append(f"{message.type}: {message.text}")

    def open(self, url: str):
        self.page.goto(url)
        self.page.wait_for_function("window.MathJax?.startup?.promise !== undefined")
        self.page.evaluate("MathJax.startup.promise")
        return self.page


@pytest.fixture
def visit(chromium):
    """A function that opens a browser window with the given options."""
    visits: list[Visit] = []

    def start(**options) -> Visit:
        visits.append(Visit(chromium, **options))
        return visits[-1]

    yield start
    for one in visits:
        one.context.close()
