"""How long until a chapter's widget answers on a slow line, against the page without it.

Run: make book, then python benchmarks/slow_line.py
"""

import gzip
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
CHAPTERS = ("counting-rules", "data-parallelism", "pipeline-parallelism", "why-all-three")
RATE = 1.6e6 / 8  # byte/s
LINE = {"offline": False, "latency": 150, "downloadThroughput": RATE, "uploadThroughput": RATE}


class Zipped(SimpleHTTPRequestHandler):
    """Serves as the web does: what can be compressed is."""

    def do_GET(self) -> None:
        """Compress every file but fonts and pictures."""
        path = Path(self.translate_path(self.path))
        if not path.is_file() or path.suffix in (".woff2", ".png"):
            super().do_GET()
            return
        body = gzip.compress(path.read_bytes())
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def milliseconds(browser: Any, address: str, ready: str) -> float:
    """From the first request to the element that is asked for, nothing cached."""
    page = browser.new_context().new_page()
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", LINE)
    page.goto(address, wait_until="commit")
    page.locator(ready).first.wait_for()
    taken = page.evaluate("performance.now()")
    page.context.close()
    return taken


def main() -> None:
    """Print, chapter by chapter, when the heading shows and when the widget can be used."""
    sys.path.insert(0, str(ROOT / "tests/site"))
    import browser

    handler = partial(Zipped, directory=ROOT / "_build/html")
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser.find(), args=["--no-sandbox"])
        for chapter in CHAPTERS:
            address = f"http://127.0.0.1:{server.server_port}/{chapter}.html"
            text, widget = (
                milliseconds(chromium, address, ready)
                for ready in ("article h1", "section.bpf-w button.skip")
            )
            print(
                f"{chapter:22} text {text:5.0f} ms, widget {widget:5.0f} ms: {widget / text:.1f} x"
            )
        chromium.close()
    server.shutdown()


if __name__ == "__main__":
    main()
