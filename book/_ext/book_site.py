"""What the whole site needs: MathJax and the library's wheel on the spot, a description a page."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
DESCRIPTION_LENGTH = 200
# MathJax 3 as it is loaded: the combined component, what it loads on demand, its fonts.
MATHJAX_PARTS = ("tex-chtml.js", "input/tex/extensions", "output/chtml/fonts/woff-v2")
TEX = re.compile(r"\$([^$]+)\$")
# sphinx-proof and sphinx-exercise give these ids to each of their boxes.
REPEATED = (["proof-content"], ["proof"], ["exercise-content"], ["solution-content"])


def settle_address(app: Sphinx, config) -> None:
    """The environment's SITE_URL goes before the configured address, which ends with a slash."""
    url = os.environ.get("SITE_URL", config.site_url)
    config.site_url = config.html_baseurl = url.rstrip("/") + "/" if url else ""
    config.nitpick_ignore = [tuple(pair) for pair in config.nitpick_ignore]  # YAML has lists


def drop_repeated_ids(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """An id that a page has twice is none."""
    for node in doctree.findall(nodes.Element):
        if node.get("ids") in REPEATED:
            node["ids"] = []


def describe(app: Sphinx, pagename: str, template: str, context: dict, doctree) -> None:
    """A page without a description of its own is described by its first paragraph."""
    if doctree is None or 'name="description"' in context["metatags"]:
        return
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) > DESCRIPTION_LENGTH:
            text = text[:DESCRIPTION_LENGTH].rsplit(" ", 1)[0] + " …"
        if text:
            # The theme's own escaping, so that a quotation mark cannot end the attribute.
            content = nodes.unescape(text).replace("&", "&amp;").replace('"', "&quot;")
            content = content.replace("<", "&lt;")
            context["metatags"] += f'\n<meta name="description" content="{content}" />'
            return


def typeset(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list) -> None:
    """A docstring's ``$...$`` as mathematics, but in examples."""
    parts = "\n".join(lines).split("\n\n")
    parts = [part if ">>>" in part else TEX.sub(r":math:`\1`", part) for part in parts]
    lines[:] = "\n\n".join(parts).split("\n")


def copy_mathjax(outdir: Path) -> None:
    source = Path(str(distribution("sphinx-mathjax-offline").locate_file("")))
    source = source / "sphinx-mathjax-offline/static/mathjax"
    for part in MATHJAX_PARTS:
        target = outdir / "_static/mathjax" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (source / part).is_dir():
            shutil.copytree(source / part, target, dirs_exist_ok=True)
        else:
            shutil.copy(source / part, target)


def build_wheel(outdir: Path) -> None:
    """Build the library's wheel into the site, from a copy: setuptools' leavings stay out."""
    wheels = outdir / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(ROOT / "lib", f"{copy}/lib", ignore=shutil.ignore_patterns("*.egg-info"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
        subprocess.run([*command, "--no-build-isolation", "-w", wheels, copy], check=True)


def begin(app: Sphinx) -> None:
    """Cell outputs hold mathematics that Sphinx does not see: every page gets MathJax."""
    app.set_html_assets_policy("always")
    if app.builder.format == "html":
        build_wheel(Path(app.outdir))


def drop_search_index(outdir: Path) -> None:
    """The theme loads the search index on every page, for a search as you type that is off."""
    unused = re.compile(
        r'<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"></script>'
    )
    for page in outdir.rglob("*.html"):
        if page.name != "search.html":
            text = page.read_text(encoding="utf-8")
            page.write_text(unused.sub("", text), encoding="utf-8")


def finish(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        copy_mathjax(Path(app.outdir))
        drop_search_index(Path(app.outdir))


def setup(app: Sphinx) -> dict:
    app.add_config_value("site_url", "", "html")
    app.connect("config-inited", settle_address)
    app.connect("builder-inited", begin)
    app.connect("doctree-resolved", drop_repeated_ids)
    app.connect("html-page-context", describe)
    app.connect("autodoc-process-docstring", typeset)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
