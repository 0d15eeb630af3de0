"""The ledger is made of the chapters' records; one that is missing or old fails the build."""

import json
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import ledger_page
import pytest
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

CHAPTER = """# Chapter

:::{prf:proposition} Parameters cancel
:label: prop-one
As $N$ cancels.
:::

:::{prf:theorem} Two
:label: prop-two
By {prf:ref}`prop-one`.
:::
"""
RESULTS = """# Results

```{ledger}
```

```{mutants}
```

```{toctree}
chapter
```
"""
RECORD = {
    "title": "$N$ cancels",
    "chapter": "chapter",
    "statement": r"\frac{bF}{3BT}",
    "depends": [],
    "engines": {"SymPy": 7, "Z3": 6},
    "premises": [{"name": "four all-reduces", "checked_by": "a simulation", "points": 16}],
    "checks": ["equals the simulated ring"],
    "mutants": {
        "tried": 12,
        "caught": 11,
        "by": {"SymPy": 9, "Z3": 8, "measurement": 4},
        "survivors": ["$3 \\to 4$"],
    },
    "fingerprint": "now",
}


@pytest.fixture
def build(tmp_path, monkeypatch):
    """A function that builds a book of one chapter, and gives its pages and the warnings."""
    expected = {"two": "chapter", "one": "chapter"}
    state = SimpleNamespace(EXPECTED=expected, fingerprint=lambda path: "now")
    monkeypatch.setattr(ledger_page, "ledger", state)
    monkeypatch.setenv("BYTESPERFLOP_RECORDS", "")
    source = tmp_path / "source"
    source.mkdir()
    (source / "chapter.md").write_text(CHAPTER)
    (source / "index.md").write_text(RESULTS)

    def run(**records: dict) -> tuple[BeautifulSoup, str]:
        folder = tmp_path / "doctrees/records"
        folder.mkdir(parents=True, exist_ok=True)
        for name, record in records.items():
            (folder / f"{name}.json").write_text(json.dumps({"id": name} | RECORD | record))
        warnings = StringIO()
        with docutils_namespace():
            app = Sphinx(
                source,
                None,
                tmp_path / "html",
                tmp_path / "doctrees",
                "html",
                confoverrides={
                    "extensions": ["myst_parser", "sphinx_proof", "ledger_page"],
                    "myst_enable_extensions": ["colon_fence", "dollarmath"],
                    "numfig": True,
                },
                status=None,
                warning=warnings,
            )
            app.build()
        return BeautifulSoup(Path(tmp_path / "html/index.html").read_text(), "html.parser"), (
            warnings.getvalue()
        )

    run.state = state
    return run


def test_tables_hold_what_the_records_say(build):
    page, warnings = build(one={}, two={"depends": ["one"]})
    assert warnings == ""
    ledger, mutants = page.find_all("table")
    rows = ledger.tbody.find_all("tr")
    links = [row.find("a") for row in rows]
    assert [a["href"] for a in links] == ["chapter.html#prop-one", "chapter.html#prop-two"]
    assert [a.text.split()[0] for a in links] == ["Proposition", "Theorem"]
    assert "7 steps by SymPy, 6 steps by Z3" in rows[0].text
    assert "four all-reduces (16); by a simulation" in rows[0].text
    assert "equals the simulated ring" in rows[0].text
    assert rows[1].find_all("td")[-1].a["href"] == "chapter.html#prop-one"
    cells = [cell.text.strip() for cell in mutants.tbody.tr.find_all("td")]
    assert cells[1:5] == ["12", "9", "8", "4"]
    assert "3" in cells[5]
    last = [cell.text.strip() for cell in mutants.tbody.find_all("tr")[-1].find_all("td")]
    assert last == ["All", "24", "18", "16", "8", "2"]


@pytest.mark.parametrize(
    ("records", "complaint"),
    [
        ({"one": {}}, "no record of 'two'"),
        ({"one": {"fingerprint": "then"}, "two": {}}, "the record of 'one' is older than"),
        ({"one": {}, "two": {}, "three": {}}, "'three' is of no expected proposition"),
        ({"one": {"depends": ["two"]}, "two": {"depends": ["one"]}}, "depend on each other"),
        ({"one": {"depends": ["four"]}, "two": {}}, "'one' depends on 'four'"),
    ],
)
def test_what_is_missing_old_or_strange_is_a_warning(build, records, complaint):
    """With ``-W`` a warning fails the build."""
    assert complaint in build(**records)[1]


def test_a_proposition_without_a_label_is_a_warning(build):
    build.state.EXPECTED["three"] = "chapter"
    assert "no proposition is labelled 'prop-three'" in build(one={}, two={}, three={})[1]


def test_a_changed_library_runs_every_page_again(build):
    _, warnings = build(one={}, two={})
    build.state.fingerprint = lambda path: "later"
    again = {"fingerprint": "later"}
    _, warnings = build(one=again, two=again)
    assert warnings == ""
    before = SimpleNamespace(
        found_docs={"index", "chapter"},
        fingerprints={"index": "later", "chapter": "now"},
        metadata={"index": {"records": True}, "chapter": {}},
        doc2path=str,
    )
    assert ledger_page.outdated(None, before, set(), set(), set()) == {"index", "chapter"}
    before.fingerprints["chapter"] = "later"
    assert ledger_page.outdated(None, before, set(), set(), set()) == set()
    assert ledger_page.outdated(None, before, set(), {"chapter"}, set()) == {"index"}
