"""The same widget in JupyterLab with a live kernel: both sides see what the other does."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

SHOW = "from bytesperflop import widgets\n\none = widgets.data_ratio()\none"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab on a folder of its own, with one notebook; its address."""
    place = tmp_path_factory.mktemp("lab")
    (place / "home").mkdir()
    cells = [new_code_cell(SHOW), new_code_cell("one.values['T'], one.dropped, one.results['now']")]
    cells.append(new_code_cell("one.values = {'T': 65536}\none.dropped = ['many replicas']"))
    notebook = new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    nbformat.write(notebook, place / "try.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = place / "home/lab/user-settings/@jupyterlab/apputils-extension"
    settings.mkdir(parents=True)
    quiet = {"checkForUpdates": False, "fetchNews": "false"}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet))
    command = [str(Path(sys.executable).with_name("jupyter")), "lab", "--no-browser"]
    command += [f"--port={port}", "--IdentityProvider.token=", "--ServerApp.password="]
    command += ["--expose-app-in-browser", "--allow-root", f"--notebook-dir={place}"]
    home = {"JUPYTER_CONFIG_DIR": str(place / "home"), "HOME": str(place / "home")}
    log = (place / "log").open("w")
    server = subprocess.Popen(command, env=os.environ | home, stdout=log, stderr=log, cwd=place)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            if server.poll() is not None:
                pytest.fail((place / "log").read_text())
            try:
                urllib.request.urlopen(f"{address}/api", timeout=1)
                break
            except OSError:
                time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait(20)
        log.close()


RUN = """async cell => {
    const panel = jupyterapp.shell.currentWidget;
    panel.content.activeCellIndex = cell;
    await jupyterapp.commands.execute('notebook:run-cell');
}"""


def output(page, cell: int) -> str:
    shown = page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".jp-OutputArea-output")
    shown.first.wait_for()
    return shown.first.inner_text()


def seen_by_kernel(page, start: str) -> str:
    """What the kernel says, once the changes that Jupyter sends one by one have reached it."""
    seen = ""
    for _ in range(40):
        page.evaluate(RUN, 1)
        seen = output(page, 1)
        if seen.startswith(start):
            break
        page.wait_for_timeout(250)
    assert seen.startswith(start)
    return seen


def test_both_directions(lab, chromium):
    context = chromium.new_context(viewport={"width": 1280, "height": 1600})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{lab}/lab/tree/try.ipynb")
    page.wait_for_function(
        "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
    )
    page.evaluate(RUN, 0)
    widget = page.locator("section.bpf-w")
    widget.wait_for()
    widget.locator("button.skip").click()

    # The page moves, the kernel sees.
    slider = widget.locator('.control[data-name="T"] input[type=range]')
    slider.press("ArrowRight")
    field = widget.locator('.control[data-name="T"] input[type=text]')
    moved = int(field.input_value())
    assert moved > 8192
    widget.locator('.switch[data-name="bandwidth-bound"] input').click()
    seen = seen_by_kernel(page, f"({moved}, ['bandwidth-bound'], ")
    said = widget.locator(".readout").inner_text()
    number = float(seen.rstrip(")").split(", ")[-1])
    assert f"{100 * number:.1f} %" in said

    # The kernel moves, the page sees.
    page.evaluate(RUN, 2)
    page.wait_for_function("field => field.value === '65536'", arg=field.element_handle())
    assert widget.locator('.switch[data-name="bandwidth-bound"] input').is_checked()
    assert not widget.locator('.switch[data-name="many replicas"] input').is_checked()
    assert widget.locator(".readout").inner_text() != said
    assert errors == []
    context.close()
