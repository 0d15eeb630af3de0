"""Lets docstrings write TeX as ``$...$``, as the pages do."""

import re

from sphinx.application import Sphinx

INLINE = re.compile(r"\$(.+?)\$")


def typeset(app: Sphinx, what: str, name: str, obj, options, lines: list[str]) -> None:
    """Each formula as a math role, on one line."""
    text = re.sub(r"\$([^$]+)\$", lambda m: m[0].replace("\n", " "), "\n".join(lines))
    for number, line in enumerate(text.split("\n")):
        lines[number : number + 1] = [INLINE.sub(r":math:`\1`", line)]
    del lines[text.count("\n") + 1 :]


def setup(app: Sphinx) -> dict:
    app.connect("autodoc-process-docstring", typeset)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
