"""Each chapter as a notebook for plain Jupyter and Colab, beside its source in ``_sources/``."""

import posixpath
import re
from itertools import count
from pathlib import Path

import jupytext
import nbformat
from docutils import nodes
from markdown_writer import Cell, MarkdownWriter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sphinx.application import Sphinx

INSTALL = """\
# The book's helper library, installed where it is missing.
from importlib.util import find_spec
if find_spec("bytesperflop") is None:
    %pip install --quiet {wheel}"""
# On the site, glue puts a cell's value into the text; elsewhere the text has the value already.
GLUE = re.compile(r"^from myst_nb import glue$", re.MULTILINE)
NO_GLUE = "glue = lambda name, value, display=False: None  # the text has the value already"
WORDS = {"hide-input", "remove-input", "remove-cell", "hide-cell"}
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


class Page:
    """One page of the site, seen from its notebook."""

    def __init__(self, app: Sphinx, docname: str) -> None:
        self.app, self.docname = app, docname

    def address(self, path: str) -> str:
        """A path on the site: absolute where the site has an address, else from the notebook."""
        if self.app.config.site_url:
            return self.app.config.site_url + path
        return posixpath.relpath(path, posixpath.dirname(f"_sources/{self.docname}"))

    def link(self, node: nodes.Element) -> str:
        """The address that a reference, or a labelled node itself, leads to."""
        uri = node.get("refuri", "")
        if re.match(r"[a-z]+:", uri):
            return uri
        page = self.app.builder.get_target_uri(self.docname)
        if not uri or uri.startswith("#"):
            anchor = uri or "#" + (node.get("refid") or node["ids"][0])
            return self.address(page) + anchor
        path, _, anchor = uri.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        return self.address(path) + (anchor and "#" + anchor)

    def number(self, node: nodes.Element) -> str:
        """The number that Sphinx gave to a proposition, equation, figure, table or exercise."""
        env = self.app.env
        kind = node.get("countertype") or env.get_domain("std").get_enumerable_node_type(node)
        if isinstance(node, nodes.math_block):
            kind = "displaymath"
        numbers = env.toc_fignumbers.get(self.docname, {}).get(kind, {})
        found = [numbers[name] for name in node.get("ids", []) if name in numbers]
        return ".".join(map(str, found[0])) if found else ""

    def notebook(self, doctree: nodes.document) -> nbformat.NotebookNode | None:
        """The page as a notebook, if it has code cells."""
        source = jupytext.read(self.app.env.doc2path(self.docname), fmt="md:myst")
        if not any(cell.cell_type == "code" for cell in source.cells):
            return None
        wheel = next((Path(self.app.outdir) / "wheels").glob("*.whl")).name
        wheel = self.address(f"wheels/{wheel}")
        remote = f'"bytesperflop[full] @ {wheel}"' if "://" in wheel else f'"{wheel}[full]"'
        title = next(doctree.findall(nodes.title)).astext()
        book = f"[{self.app.config.html_title}]({self.address('index.html')})"
        page = self.address(self.app.builder.get_target_uri(self.docname))
        cells = [
            new_markdown_cell(f"*The notebook of [{title}]({page}), a chapter of {book}.*"),
            new_code_cell(INSTALL.format(wheel=remote)),
        ]
        done = 0
        writer = MarkdownWriter(self.link, self.number, Path(self.app.srcdir))
        for block in [*writer.blocks(doctree), None]:
            # Cells that the page does not show come before the next one that it shows.
            if block is None or isinstance(block, Cell):
                until = len(source.cells) if block is None else block.index + 1
                cells += [code_cell(c) for c in source.cells[done:until] if c.cell_type == "code"]
                done = until
            elif cells[-1].cell_type == "markdown" and not block.startswith("#"):
                cells[-1].source += "\n\n" + block
            else:
                cells.append(new_markdown_cell(block))
        for number, cell in zip(count(), cells, strict=False):
            cell.id = f"cell-{number}"
        return new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def code_cell(cell: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A code cell of the source, folded where the page does not show its code."""
    tags = cell.metadata.get("tags", [])
    metadata = {"tags": tags} | ({"jupyter": {"source_hidden": True}} if WORDS & {*tags} else {})
    return new_code_cell(GLUE.sub(NO_GLUE, cell.source), metadata=metadata)


def write(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.format == "html" and (notebook := Page(app, docname).notebook(doctree)):
        target = Path(app.outdir) / "_sources" / f"{docname}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, target)


def offer(app: Sphinx, pagename: str, template: str, context: dict, doctree) -> None:
    """Put the notebook into the page's download menu."""
    if (Path(app.outdir) / "_sources" / f"{pagename}.ipynb").exists():
        context["ipynb_source"] = f"{pagename}.ipynb"


def setup(app: Sphinx) -> dict:
    app.connect("doctree-resolved", write, priority=900)
    app.connect("html-page-context", offer, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
