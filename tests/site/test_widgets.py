"""The widgets on a page of the book's own kind, in a real Chromium, without a kernel."""

import gzip
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import ROOT, Quiet
from test_pages import PALE

from bytesperflop.widgets import counts, data, pipeline, split_budget, tensor
from bytesperflop.widgets.explorer import Explorer
from bytesperflop.widgets.orders import every_schedule

HERE = Path(__file__).parent / "widgets"
TOC = "format: jb-book\nroot: index\nparts:\n- numbered: true\n  chapters: [{file: page}]\n"
SPECS = {
    spec.id: spec
    for spec in (
        data.data_ratio(),
        tensor.tensor_ratio(),
        counts.counting_rule(),
        pipeline.pipeline_timeline(),
        split_budget.budget(),
    )
}
every_widget = pytest.mark.parametrize("name", SPECS)


def build(place: Path, pages: Path) -> subprocess.CompletedProcess:
    """A book of those pages with the book's own configuration, as strict as the book."""
    shutil.copytree(pages, place / "book")
    for shared in ("_config.yml", "pyproject.toml", "lib", "book/_ext", "book/_assets"):
        (place / shared).symlink_to(ROOT / shared)
    shutil.copy(ROOT / "book/references.bib", place / "book")
    (place / "_toc.yml").write_text(TOC)
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", "book", "-W", "-n"]
    command += ["--config", "_config.yml", "--toc", str(place / "_toc.yml"), "--path-output", "."]
    return subprocess.run(command, cwd=place, env=os.environ, capture_output=True, text=True)


class Zipped(Quiet):
    """Serves as the web does: what can be compressed is."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file() or path.suffix in (".woff2", ".png"):
            return super().do_GET()
        body = gzip.compress(path.read_bytes())
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("widgets")
    done = build(place, HERE)
    assert done.returncode == 0, done.stderr
    return place / "_build/html"


@pytest.fixture(scope="module")
def served(book):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Zipped, directory=book))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


class Widget:
    """One widget of an open page."""

    def __init__(self, seen, name: str) -> None:
        self.page, self.root = seen.page, seen.page.locator(f'section[data-widget="{name}"]')

    def reveal(self) -> "Widget":
        if self.root.locator("button.skip").count():
            self.root.locator("button.skip").click()
        return self

    def control(self, name: str):
        return self.root.locator(f'.control[data-name="{name}"]')

    def slider(self, name: str):
        return self.control(name).locator("input[type=range]")

    def field(self, name: str):
        return self.control(name).locator("input[type=text]")

    def switch(self, name: str):
        return self.root.locator(f'.switch[data-name="{name}"]')

    def type(self, name: str, text: str) -> str:
        """Type an exact number; what the control complains of."""
        self.field(name).fill(text)
        self.field(name).press("Tab")
        return self.control(name).locator(".complaint").inner_text()

    @property
    def says(self) -> str:
        return self.root.locator(".readout").inner_text().replace("\n", " ")

    @property
    def picture(self) -> str:
        return self.root.locator(".board").first.inner_html()


@pytest.fixture
def open_page(visit, served):
    """A function that opens the page of widgets, and gives one of them and the visit."""

    def start(name: str, fragment: str = "", reveal: bool = True, **options):
        seen = visit(**options)
        seen.open(f"{served}/page.html{fragment}")
        widget = Widget(seen, name)
        widget.root.wait_for()
        return (widget.reveal() if reveal else widget), seen

    return start


# The page's numbers are Python's


def points(spec, count: int = 1000) -> list[tuple[dict, list[str]]]:
    """Random points, every end of every control, every preset."""
    rng = random.Random(spec.id)

    def anywhere(control) -> float:
        share = rng.random()
        value = control.low + (control.high - control.low) * share
        if control.scale != "linear":
            value = control.low * (control.high / control.low) ** share
        return round(value) if control.whole else value

    drawn = [{x.symbol.name: anywhere(x) for x in spec.controls} for _ in range(count)]
    for end in ("low", "high"):
        drawn += [spec.start | {x.symbol.name: getattr(x, end)} for x in spec.controls]
        drawn.append({x.symbol.name: getattr(x, end) for x in spec.controls})
    for presets in spec.presets:
        for point in presets.points.values():
            drawn.append(spec.start | {k: x for k, x in point.items() if k in spec.start})
    names = [x.name for x in spec.assumptions]
    return [(spec.start | x, [a for a in names if rng.random() < 0.5]) for x in drawn]


EVALUATE = """async ([source, spec, points, names]) => {
    const address = URL.createObjectURL(new Blob([source], {type: 'text/javascript'}));
    const engine = (await import(address)).compile(spec);
    return points.map(([values, dropped]) => names.map(x => engine.at(x, values, dropped)));
}"""


def differences(page, spec, described: dict) -> list:
    """Where the page's number is not Python's to 1e-12, and how many were compared."""
    where, names = points(spec), [*spec.formulas]
    found = page.evaluate(EVALUATE, [Explorer._esm, described, where, names])
    wrong = []
    for (values, dropped), row in zip(where, found, strict=True):
        expected = spec.at(values, dropped)
        for name, number in zip(names, row, strict=True):
            if number is None or not math.isclose(number, expected[name], rel_tol=1e-12, abs_tol=0):
                wrong.append((name, values, dropped, number, expected[name]))
    assert len(where) >= 1000
    return wrong


@every_widget
def test_javascripts_values_are_pythons(name, visit):
    page = visit().page
    assert differences(page, SPECS[name], SPECS[name].data()) == []


def test_a_wrong_coefficient_would_be_seen(visit):
    described = SPECS["data-ratio"].data()
    described["functions"]["stated"] = described["functions"]["stated"].replace(
        "1/3", "0.33333333333"
    )
    wrong = differences(visit().page, SPECS["data-ratio"], described)
    assert {name for name, *_ in wrong} == {"stated"}


SIMULATE = """async ([source, spec, points]) => {
    const address = URL.createObjectURL(new Blob([source], {type: 'text/javascript'}));
    const {compile, simulate} = await import(address);
    return points.map(([values, dropped]) => {
        const run = simulate(spec.pictures[0], compile(spec), {values, dropped});
        const cells = run.cells.map(c => [c.kind, c.stage, c.j, c.start, c.end]);
        return [run.makespan, run.idle, run.peaks, cells];
    });
}"""


def runs(make, p: int, m: int) -> bool:
    """Whether a schedule has orders for these."""
    try:
        make(p, m)
    except ValueError:
        return False
    return True


def test_the_pages_simulator_is_timeline(visit):
    """Every schedule, every p and some m that the page offers, random times and delays."""
    spec, rng = SPECS["pipeline"], random.Random(5)
    orders, gantt = every_schedule(), SPECS["pipeline"].pictures[0]
    where = []
    for schedule, make in orders.schedules.items():
        for p in range(1, orders.most_stages + 1):
            every = range(1, orders.most_microbatches + 1)
            legal = [m for m in every if runs(make, p, m)]
            for m in rng.sample(legal, min(6, len(legal))):
                times = {f"t_{kind}": rng.uniform(0.25, 8) for kind in orders.kinds}
                more = {
                    "p": p,
                    "m": m,
                    "schedule": schedule,
                    "c": rng.uniform(0, 4),
                    "delta": rng.random(),
                }
                dropped = [a.name for a in spec.assumptions if rng.random() < 0.7]
                where.append((spec.start | times | more, dropped))
    found = visit().page.evaluate(SIMULATE, [Explorer._esm, spec.data(), where])
    for (values, dropped), (makespan, idle, peaks, cells) in zip(where, found, strict=True):
        timeline = gantt.timeline(spec, values, dropped)
        assert math.isclose(makespan, timeline.makespan, rel_tol=1e-12)
        assert math.isclose(idle, timeline.idle_fraction, rel_tol=1e-9, abs_tol=1e-12)
        assert peaks == [timeline.peak_in_flight(stage) for stage in range(values["p"])]
        spans = {(op.kind, op.stage, op.microbatch): (a, b) for op, a, b in timeline.spans()}
        assert len(cells) == len(spans)
        for kind, stage, j, start, end in cells:
            assert (start, end) == pytest.approx(spans[kind, stage, j], rel=1e-12)


# What a reader does


@every_widget
def test_guess_first(name, open_page):
    widget, seen = open_page(name, reveal=False)
    question, spec = widget.root.locator("form.question"), SPECS[name]
    assert not widget.root.locator(".live").is_visible()
    question.locator("input").fill("no idea")
    question.locator("button[type=submit]").click()
    assert "no number" in question.inner_text()
    assert not widget.root.locator(".live").is_visible()
    slip = spec.question.slips[0]
    guess = spec.at(spec.start)[slip.formula] / spec.question.per_unit
    question.locator("input").fill(f"{guess:.6g}")
    question.locator("input").press("Enter")
    assert widget.root.locator(".live").is_visible()
    verdict = widget.root.locator(".verdict").inner_html()
    assert "Right." not in verdict
    assert next(x["says"] for x in spec.data()["question"]["slips"]) in verdict
    assert question.count() == 0
    assert seen.complaints == []


@every_widget
def test_a_right_guess(name, open_page):
    widget, _ = open_page(name, reveal=False)
    spec = SPECS[name]
    right = spec.at(spec.start)[spec.question.answer] / spec.question.per_unit
    widget.root.locator("form.question input").fill(f"{right * 1.01:.4g}")
    widget.root.locator("form.question input").press("Enter")
    assert "Right." in widget.root.locator(".verdict").inner_text()


@every_widget
def test_every_slider_can_be_moved_by_keyboard(name, open_page):
    widget, seen = open_page(name)
    widget.root.locator("details").evaluate_all("all => all.forEach(e => e.open = true)")
    for control in SPECS[name].controls:
        slider, values = widget.slider(control.symbol.name), []
        slider.focus()
        for key in ("End", "ArrowLeft", "ArrowLeft"):
            slider.press(key)
            values.append(float(widget.field(control.symbol.name).input_value()))
        assert values[0] == pytest.approx(control.high / control.per_unit)
        assert values[0] > values[1] > values[2]
        assert slider.get_attribute("aria-valuetext")
    assert seen.complaints == []


def test_drag(open_page):
    widget, seen = open_page("data-ratio")
    before, box = widget.says, widget.slider("T").bounding_box()
    seen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    seen.page.mouse.down()
    seen.page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2, steps=8)
    during = widget.says
    seen.page.mouse.up()
    assert during != before
    assert float(widget.field("T").input_value()) > 8192
    assert "T=" in seen.page.url


def test_a_slider_that_does_nothing_until_latency_is_switched_on(open_page):
    widget, _ = open_page("data-ratio")

    def number():
        return re.search(r"busy ([\d.,]+ %)", widget.says)[1]

    held = number()
    widget.type("N", "0.01")
    assert number() == held
    assert "no effect" in widget.control("N").inner_text()
    widget.switch("bandwidth-bound").locator("input").click()
    assert number() != held
    assert "no effect" not in widget.control("N").inner_text()
    assert "Back: N, α, pd" in widget.switch("bandwidth-bound").inner_text()
    assert "points here" in widget.switch("bandwidth-bound").inner_text()
    assert "N*" in widget.picture


def test_presets_and_reset(open_page):
    widget, seen = open_page("data-ratio")
    start = widget.says
    chip, _, model = (widget.root.locator(".presets select").nth(i) for i in range(3))
    assert chip.input_value() == "H100 SXM"
    chip.select_option("A100 80GB")
    model.select_option("Llama 3 70B")
    assert widget.field("F").input_value() == "175.6"
    assert widget.field("N").input_value() == "70"
    assert widget.says != start
    widget.type("F", "300")
    assert chip.input_value() == ""
    widget.root.locator("button.reset").click()
    assert widget.says == start
    assert "#" not in seen.page.url


def test_the_address_holds_the_state(open_page):
    widget, seen = open_page("data-ratio")
    widget.type("T", "20000")
    widget.switch("many replicas").locator("input").click()
    said = widget.says
    assert seen.page.url.endswith("#data-ratio:T=20000,without=many-replicas")
    fragment = "#" + seen.page.url.partition("#")[2]
    again, _ = open_page("data-ratio", fragment, reveal=False)
    assert again.says == said
    assert not again.switch("many replicas").locator("input").is_checked()
    other = Widget(seen, "tensor-ratio").reveal()
    other.type("t", "4")
    assert seen.page.url.endswith("without=many-replicas;tensor-ratio:t=4")


@pytest.mark.parametrize(
    ("fragment", "words"),
    [
        ("#data-ratio:T=-3", "T = -3"),
        ("#data-ratio:T=1e400,N=2e9", "T = 1e400"),
        ("#data-ratio:T=abc", "T = abc"),
        ("#data-ratio:T=", "T = "),
        ("#data-ratio:T=100.5", "T = 100.5"),
        ("#data-ratio:without=optimism", "no such assumption"),
        ("#data-ratio:<img src=x onerror=alert(1)>=3", "no such control"),
        ("#data-ratio:%E0%A4%A=1,__proto__=2", "no such control"),
        ("#pipeline:schedule=none", "must be one of gpipe"),
        ("#pipeline:p=12,L=4", "more stages than layers"),
    ],
)
def test_a_fragment_edited_by_hand(fragment, words, open_page):
    widget, seen = open_page(fragment[1:].partition(":")[0], fragment, reveal=False)
    assert words in widget.root.locator(".live > .complaint").inner_text()
    assert widget.root.locator(".board svg").first.is_visible()
    assert widget.root.locator(".complaint img").count() == 0
    assert seen.complaints == []


@pytest.mark.parametrize("text", ["abc", "", "0", "-4", "1e400", "-1e400", "NaN", "8192.5", "9e99"])
def test_bad_numbers(text, open_page):
    widget, seen = open_page("data-ratio")
    picture, said = widget.picture, widget.says
    assert "must be a whole number from 256 to 1,048,576 tokens" in widget.type("T", text)
    assert widget.field("T").get_attribute("aria-invalid") == "true"
    assert (widget.picture, widget.says) == (picture, said)
    assert widget.type("T", "4,096") == ""
    assert widget.field("T").get_attribute("aria-invalid") is None
    assert widget.says != said
    assert seen.complaints == []


def test_more_stages_than_layers(open_page):
    widget, seen = open_page("pipeline")
    picture = widget.picture
    widget.type("L", "3")
    assert "more stages than layers" in widget.control("L").inner_text()
    assert widget.picture == picture
    assert seen.complaints == []


def test_the_schedules_of_the_library(open_page):
    widget, seen = open_page("pipeline")
    choice = widget.root.locator(".presets select").first
    assert choice.locator("option").all_inner_texts() == [*every_schedule().schedules]
    for name in every_schedule().schedules:
        choice.select_option(name)
        assert "Simulated:" in widget.says
    choice.select_option("1f1b")
    assert "Simulated: 33 units" in widget.says
    widget.root.locator(".board").hover(position={"x": 60, "y": 25})
    assert re.match(
        r"(for|back)ward of microbatch \d+ on stage 0", widget.root.locator(".caption").inner_text()
    )
    assert seen.complaints == []


def test_budget_without_room(open_page):
    widget, seen = open_page("budget")
    for name, most in (("cap_d", "8"), ("cap_t", "8")):
        assert widget.type(name, most) == ""
    assert "no room" in widget.type("cap_p", "2")
    assert "8 × 8 × 16" in widget.says
    assert seen.complaints == []


# Where it is read


@pytest.mark.parametrize("by", ["file", "http"])
def test_nothing_from_elsewhere(by, visit, book, served):
    address, seen = book.as_uri() if by == "file" else served, visit()
    seen.open(f"{address}/page.html")
    for name in SPECS:
        assert Widget(seen, name).reveal().root.locator(".board svg").first.is_visible()
    assert [x for x in seen.requests if not x.startswith((address, "data:", "blob:"))] == []
    assert seen.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_and_legible(scheme, open_page):
    _, seen = open_page("data-ratio", viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page = seen.page
    for name in SPECS:
        Widget(seen, name).reveal()
    page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate(PALE) == []
    heights = """[...document.querySelectorAll('.bpf-w svg text')].map(
        e => e.getBoundingClientRect().height)"""
    assert min(page.evaluate(heights)) >= 11
    edges = """[...document.querySelectorAll('.bpf-w svg text')].filter(e => {
        const own = e.getBoundingClientRect(), all = e.ownerSVGElement.getBoundingClientRect();
        return own.left < all.left - 1 || own.right > all.right + 1;
    }).map(e => e.textContent)"""
    assert page.evaluate(edges) == []


SVG_CONTRAST = """() => {
    const light = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(c => c / 255)
        .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const back = light(getComputedStyle(document.body).backgroundColor);
    const pale = [];
    for (const e of document.querySelectorAll('.bpf-w .board svg text, .bpf-w .board svg .line')) {
        const style = getComputedStyle(e), isText = e.tagName === 'text';
        const inside = isText && e.classList.contains('in');
        const cells = `.cell.${[...e.classList].find(x => x.startsWith('k'))}`;
        const cell = inside && getComputedStyle(e.ownerSVGElement.querySelector(cells));
        const behind = inside ? light(cell.fill) : back;
        const contrast = ratio(light(isText ? style.fill : style.stroke), behind);
        if (contrast < (isText ? 4.5 : 3)) pale.push([contrast, e.outerHTML.slice(0, 90)]);
    }
    return pale;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_in_the_pictures(scheme, open_page):
    _, seen = open_page("data-ratio", color_scheme=scheme)
    for name in SPECS:
        Widget(seen, name).reveal()
    assert seen.page.evaluate("document.documentElement.dataset.theme") == scheme
    assert seen.page.locator(".bpf-w .board svg text").count() > 50
    assert seen.page.evaluate(SVG_CONTRAST) == []


def test_nothing_moves(open_page):
    _, seen = open_page("data-ratio", reduced_motion="reduce")
    moving = """[...document.querySelectorAll(".bpf-w, .bpf-w *")].map(e => getComputedStyle(e))
        .filter(s => s.animationName !== "none" || parseFloat(s.transitionDuration) > 1e-4)
        .length"""
    assert seen.page.evaluate(moving) == 0


def test_without_javascript_the_picture_stands_there(visit, served):
    seen = visit(java_script_enabled=False)
    seen.page.goto(f"{served}/page.html")
    for place, spec in enumerate(SPECS.values()):
        still = seen.page.locator("figure.bpf-w-static").nth(place)
        assert still.locator("img").is_visible()
        assert spec.title in still.inner_text()
    assert seen.page.locator("section.bpf-w").count() == 0


def test_in_print_the_picture_replaces_the_widget(open_page):
    widget, seen = open_page("data-ratio")
    still = seen.page.locator("figure.bpf-w-static").first
    assert not still.is_visible()
    seen.page.emulate_media(media="print")
    assert still.locator("img").is_visible()
    assert not widget.root.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("revealed", [False, True])
def test_axe_finds_nothing_serious(scheme, revealed, open_page):
    _, seen = open_page("data-ratio", reveal=False, color_scheme=scheme)
    if revealed:
        for name in SPECS:
            Widget(seen, name).reveal()
    found = Axe().run(seen.page, context=".bpf-w").response
    serious = [x for x in found["violations"] if x["impact"] in ("serious", "critical")]
    assert [(x["id"], [n["html"] for n in x["nodes"]]) for x in serious] == []
    assert len(found["passes"]) > 10


# What it weighs


def test_weight(visit, served, book):
    """A page with every widget: its own bytes as sent, and with everything that it loads."""
    seen = visit()
    seen.open(f"{served}/page.html")
    paths = {
        x.removeprefix(served + "/").split("?")[0] for x in seen.requests if x.startswith(served)
    }
    sent = {x: len(gzip.compress((book / x).read_bytes())) for x in paths}
    assert sent["page.html"] < 250_000
    assert sum(sent.values()) < 750_000, sorted(sent.items(), key=lambda x: -x[1])[:8]


# Every view is one that shows

PLAIN = """
```{code-cell} ipython3
import ipywidgets
ipywidgets.IntSlider()
```
"""


def test_a_plain_ipywidget_fails_the_build(tmp_path):
    pages = shutil.copytree(HERE, tmp_path / "pages")
    head = (HERE / "page.md").read_text().partition("```")[0]
    (pages / "page.md").write_text(head + PLAIN)
    done = build(tmp_path / "built", pages)
    assert done.returncode != 0
    assert "IntSliderModel of @jupyter-widgets/controls needs a kernel" in done.stderr


def test_every_view_of_the_book_is_ours(site):
    """Read off the built pages, whatever the build thought of them."""
    state = re.compile(
        r'<script type="application/vnd.jupyter.widget-state\+json">(.*?)</script>', re.S
    )
    view = re.compile(
        r'<script type="application/vnd.jupyter.widget-view\+json">(.*?)</script>', re.S
    )
    for path in site.rglob("*.html"):
        text = path.read_text()
        embedded = json.loads(found[1]) if (found := state.search(text)) else {}
        for shown in view.findall(text):
            model = embedded["state"][json.loads(shown)["model_id"]]
            assert embedded["sources"][model["_esm"]] == str(Explorer._esm), path
