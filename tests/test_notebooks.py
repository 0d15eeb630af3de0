"""The site's build ran every code cell of every source, and none of them failed."""

from pathlib import Path

import jupytext
import nbformat
import pytest

ROOT = Path(__file__).parents[1]
EXECUTED = ROOT / "_build/jupyter_execute"
SOURCES = sorted(
    path
    for path in (ROOT / "book").rglob("*.md")
    if "```{code-cell}" in path.read_text() and ".ipynb_checkpoints" not in path.parts
)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT / "book").with_suffix(""))


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_every_notebook_was_executed():
    written = {
        str(path.relative_to(EXECUTED).with_suffix("")) for path in EXECUTED.rglob("*.ipynb")
    }
    assert {name(source) for source in SOURCES} <= written
    assert SOURCES


@pytest.mark.parametrize("source", SOURCES, ids=name)
def test_every_code_cell_ran(source):
    """As many executed cells as the source has, in order, on one kernel, without an error."""
    cells = code_cells(jupytext.read(source, fmt="md:myst"))
    ran = code_cells(nbformat.read(EXECUTED / f"{name(source)}.ipynb", as_version=4))
    assert cells
    assert all(cell.source.strip() for cell in cells), "a code cell is empty"
    assert [cell.source for cell in ran] == [cell.source for cell in cells]
    assert [cell.execution_count for cell in ran] == [*range(1, len(cells) + 1)]
    outputs = [output for cell in ran for output in cell.outputs]
    assert [output for output in outputs if output.output_type == "error"] == []
    streams = [output.name for output in outputs if output.output_type == "stream"]
    assert "stderr" not in streams


@pytest.mark.parametrize("source", SOURCES, ids=name)
def test_code_cells_are_short(source):
    """A code cell reads like the sentence before it: twelve lines or fewer, blank ones aside."""
    cells = code_cells(jupytext.read(source, fmt="md:myst"))
    lines = {
        cell.source: sum(map(bool, map(str.strip, cell.source.splitlines()))) for cell in cells
    }
    assert [source for source, count in lines.items() if count > 12] == []
