"""From one slider event to the redrawn picture in Chromium, and what each widget weighs.

Run: python benchmarks/widgets.py
"""

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from bytesperflop import widgets

ROOT = Path(__file__).parents[1]
EVENTS = 300
MAKE: tuple[Callable[[], Any], ...] = (
    widgets.counting,
    widgets.data_ratio,
    widgets.tensor_ratio,
    widgets.pipeline_timeline,
    widgets.budget,
)

# An input event, its handlers, and the layout of what they drew; then the frame it is painted in.
MEASURE = """async ([events, first, before]) => {
    for (const [name, value] of Object.entries(before)) {
        const field = document.querySelector(`[data-name="${name}"] input[type=text]`);
        field.value = value;
        field.dispatchEvent(new Event('change', {bubbles: true}));
    }
    const all = [...document.querySelectorAll('.bpf-w input[type=range]')];
    const sliders = all.slice(first, first + 2);
    const times = [];
    for (let i = 0; i < events; i++) {
        const slider = sliders[i % sliders.length];
        slider.value = Number(slider.max) * (0.3 + 0.6 * ((i * 37) % 100) / 100);
        const start = performance.now();
        slider.dispatchEvent(new Event('input', {bubbles: true}));
        document.querySelector('.bpf-w').getBoundingClientRect();
        times.push(performance.now() - start);
        await new Promise(requestAnimationFrame);
    }
    return times.sort((a, b) => a - b);
}"""


def page_of(widget: Any) -> str:
    """A page that holds one widget as the book's pages do."""
    identity = widget.model_id
    state = {x: getattr(widget, x) for x in ("spec", "values", "dropped")} | {"_esm": 0, "_css": 1}
    sources = [str(widget._esm), str(widget._css)]
    script = (ROOT / "book/_ext/static_widgets.js").read_text()
    embedded = json.dumps({"sources": sources, "state": {identity: state}}).replace("</", "<\\/")
    kind = "application/vnd.jupyter.widget"
    return (
        f'<!doctype html><meta charset="utf-8"><body><script type="{kind}-view+json">'
        f'{{"model_id": "{identity}"}}</script><script type="{kind}-state+json">{embedded}</script>'
        f"<script>{script}</script>"
    )


def main() -> None:
    """Print the median and the slowest of twenty, and the compressed size of the state."""
    sys.path.insert(0, str(ROOT / "tests/site"))
    import browser

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser.find(), args=["--no-sandbox"])
        for make in MAKE:
            widget = make()
            page = chromium.new_page(viewport={"width": 800, "height": 1000})
            page.set_content(page_of(widget))
            page.locator("button.skip").click()
            runs: list[tuple[str, int, dict[str, int]]] = [("", 0, {})]
            if make is widgets.pipeline_timeline:
                runs.append((", 12 x 32", 2, {"p": 12, "m": 32}))
            for what, first, before in runs:
                times = page.evaluate(MEASURE, [EVENTS, first, before])
                median, late = times[EVENTS // 2], times[EVENTS * 19 // 20]
                sent = len(gzip.compress(json.dumps(widget.spec).encode()))
                name = make.__name__ + what
                print(
                    f"{name:28} {median:6.1f} ms   {late:6.1f} ms   {sent / 1000:5.1f} kB of spec"
                )
            page.close()
        chromium.close()
    script, style = (len(gzip.compress(x.encode())) for x in (widget._esm, widget._css))
    print(f"script {script / 1000:.1f} kB, style {style / 1000:.1f} kB, compressed, once a page")


if __name__ == "__main__":
    main()
