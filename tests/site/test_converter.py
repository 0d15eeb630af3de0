"""A small book with every construct once, built with the book's own configuration."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT

SANDBOX = Path(__file__).parent / "sandbox"
TOC = "format: jb-book\nroot: index\nparts:\n- numbered: true\n  chapters: [{file: sandbox}]\n"
ADDRESS = "https://book.test/here/"


@pytest.fixture(scope="module")
def markdown(tmp_path_factory) -> str:
    """The sandbox's notebook for a site with an address: its text cells, then its code cells."""
    place = tmp_path_factory.mktemp("book")
    shutil.copytree(SANDBOX, place / "book")
    (place / "book/two.md").rename(place / "book/index.md")
    for shared in ("_config.yml", "pyproject.toml", "lib", "book/_ext", "book/_assets"):
        (place / shared).symlink_to(ROOT / shared)
    shutil.copy(ROOT / "book/references.bib", place / "book")
    (place / "_toc.yml").write_text(TOC)
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", "book", "-W", "-n"]
    command += ["--config", "_config.yml", "--toc", str(place / "_toc.yml"), "--path-output", "."]
    environment = os.environ | {"SITE_URL": ADDRESS.rstrip("/")}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sources = place / "_build/html/_sources"
    assert [path.name for path in sources.glob("*.ipynb")] == ["sandbox.ipynb"]
    cells = nbformat.read(sources / "sandbox.ipynb", as_version=4).cells
    return "\n\n".join(cell.source for cell in cells)


@pytest.mark.parametrize(
    "expected",
    [
        # the library, from the site
        '%pip install --quiet "bytesperflop[full] @ https://book.test/here/wheels/bytesperflop-',
        # text, and what Markdown could take for markup
        r"Costs \$5, a \[bracket\], under_score and a\*b; a page that uses *every* construct",
        # values from glue
        "The ratio is 27.3 %",
        # citations and references
        r"\[[Huang *et al.*, 2019](https://book.test/here/sandbox.html#",
        "[Assumption 1.1](https://book.test/here/sandbox.html#as-sandbox)",
        "[Fig. 1.1](https://book.test/here/sandbox.html#fig-sandbox)",
        "another, see [Sandbox: every construct once](https://book.test/here/sandbox.html#sandbox)",
        # numbered boxes and equations; TeX stays on one line inside a quotation
        "> **[Proposition 1.1](https://book.test/here/sandbox.html#prop-sandbox)** (The parameter",
        r"> $$ \frac{2Nb/B}{6NT/F} = \frac{\cancel{N} b F}{3 \cancel{N} B T}. \tag{1.2} $$",
        "> **Before you start**",
        "> **Note**",
        "> **[Exercise 1.1](https://book.test/here/sandbox.html#ex-sandbox)**",
        "<details><summary>Solution to Exercise 1.1</summary>\n\nTwo, by [(1.2)]",
        "<details><summary>Proof</summary>\n\nBy [(1.2)]",
        # figures, tables, lists, footnotes
        "**Figure 1.1.** A line, in units of nothing, as in [Table 1.1]",
        "![The book's mark](data:image/svg+xml;base64,",
        "**Table 1.1.** A wide table",
        "| symbol | meaning | value, with a unit |\n| --- | --- | --- |\n| $N$ |",
        "1. first\n\n2. second\n   - nested",
        "**Term:** definition",
        "footnote<sup>1</sup>",
        # code that plain Jupyter runs
        "glue = lambda name, value, display=False: None",
    ],
)
def test_becomes_plain_markdown(markdown, expected):
    assert expected in markdown
