"""The API reference names every module of the library."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_module_is_in_the_reference():
    page = (ROOT / "book" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\.\. automodule:: bytesperflop\.(\w+)$", page, re.MULTILINE)
    library = ROOT / "lib" / "bytesperflop"
    modules = {path.stem for path in library.glob("*.py")} - {"__init__"}
    packages = {path.parent.name for path in library.glob("*/__init__.py")}
    assert sorted(listed) == sorted(modules | packages)
