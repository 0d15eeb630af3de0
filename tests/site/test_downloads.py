"""Each downloaded notebook, in an environment that has Jupyter's kernel and nothing of the book."""

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import jupytext
import nbformat
import pytest
from conftest import ROOT, toc_pages
from nbclient import NotebookClient

# What MyST would read and Jupyter shows as it stands.
RAW = {
    "role": r"\{[a-z][a-z:_-]*\}`",
    "directive": r"^\s*(>\s*)*(:::|```+\s*\{|~~~+\s*\{)",
    "label": r"^\s*\(\S+\)=\s*$",
    "option": r"^\s*(>\s*)*:(label|class|name|alt|tags):",
    "reference": r"\]\(#|\[\]\(",
    "substitution": r"\{\{",
}
NOTEBOOKS = [
    name for name in toc_pages() if "```{code-cell}" in (ROOT / f"book/{name}.md").read_text()
]


@pytest.fixture(scope="module")
def fresh_kernel(tmp_path_factory) -> str:
    """A kernel in a new virtual environment, which Jupyter finds by its name."""
    place = tmp_path_factory.mktemp("fresh")
    venv.create(place / "venv", with_pip=True)
    python = str(place / "venv/bin/python")
    constraints = str(ROOT / "constraints.txt")
    pip = [python, "-m", "pip", "install", "--quiet", "-c", constraints, "ipykernel"]
    subprocess.run(pip, check=True)
    missing = subprocess.run([python, "-c", "import bytesperflop"], capture_output=True)
    assert b"ModuleNotFoundError" in missing.stderr
    spec = {
        "argv": [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "fresh",
        "language": "python",
        "env": {"PIP_CONSTRAINT": constraints},
    }
    folder = place / "jupyter/kernels/fresh"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps(spec))
    os.environ["JUPYTER_PATH"] = str(place / "jupyter")
    return "fresh"


def download(site: Path, name: str) -> nbformat.NotebookNode:
    return nbformat.read(site / f"_sources/{name}.ipynb", as_version=4)


def code(notebook: nbformat.NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def test_each_chapter_has_a_notebook(site):
    found = {str(path.relative_to(site / "_sources"))[:-6] for path in site.rglob("*.ipynb")}
    assert found == {*NOTEBOOKS}
    assert NOTEBOOKS


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_reads_as_plain_markdown(site, name):
    notebook = download(site, name)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            text = re.sub(r"^(> )*```.*?^(> )*```$|`[^`\n]+`", "", cell.source, flags=re.S | re.M)
            for kind, pattern in RAW.items():
                found = re.search(pattern, text, re.M)
                assert not found, f"a raw {kind}: {found and found.group()} in {cell.source}"
            assert text.replace(r"\$", "").count("$") % 2 == 0, cell.source


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_has_the_code_of_its_source(site, name):
    source = code(jupytext.read(ROOT / f"book/{name}.md", fmt="md:myst"))
    install, *rest = code(download(site, name))
    assert "%pip install" in install
    assert len(rest) == len(source)
    changed = [(a, b) for a, b in zip(source, rest, strict=True) if a != b]
    assert all("from myst_nb import glue" in a and "myst_nb" not in b for a, b in changed)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_links_hold(site, name):
    """Without an address of the site, links are relative to the notebook, and lead somewhere."""
    text = "\n".join(c.source for c in download(site, name).cells if c.cell_type == "markdown")
    targets = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"data:[^)]*", "data:", text))
    assert targets
    for target in targets:
        if not re.match(r"(https?|data|mailto):", target):
            path, _, anchor = target.partition("#")
            page = (site / f"_sources/{name}").parent.joinpath(path).resolve()
            assert page.exists(), target
            assert not anchor or f'id="{anchor}"' in page.read_text(), target


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_runs(site, name, fresh_kernel):
    """The first cell installs the library from the site's wheel; then everything runs."""
    notebook = download(site, name)
    folder = (site / f"_sources/{name}").parent
    NotebookClient(
        notebook,
        kernel_name=fresh_kernel,
        timeout=300,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    assert [o for o in outputs if o.output_type == "error"] == []
    assert sys.prefix not in str(outputs)
