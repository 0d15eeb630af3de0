"""The ledger and the table of mutants, filled from the records that the chapters' runs wrote."""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from bytesperflop import ledger

logger = logging.getLogger(__name__)


class table_of_records(nodes.General, nodes.Element):
    """Stands where a table goes once every chapter has run."""


class TableOfRecords(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        self.env.metadata[self.env.docname]["records"] = True
        return [table_of_records(kind=self.name)]


def folder(app: Sphinx) -> Path:
    return Path(app.doctreedir) / "records"


def announce(app: Sphinx) -> None:
    """Tell the chapters' kernels where their records go."""
    folder(app).mkdir(parents=True, exist_ok=True)
    os.environ["BYTESPERFLOP_RECORDS"] = str(folder(app))


def outdated(app: Sphinx, env, added: set, changed: set, removed: set) -> Iterable[str]:
    """A page is run again when the library has changed; the tables, when any page has."""
    before = getattr(env, "fingerprints", {})
    env.fingerprints = {name: ledger.fingerprint(env.doc2path(name)) for name in env.found_docs}
    again = {name for name in env.found_docs if before.get(name) != env.fingerprints[name]}
    if again | added | changed | removed:
        again |= {name for name in env.found_docs if env.metadata[name].get("records")}
    return again & set(before)


def read(app: Sphinx) -> list[dict]:
    """The records, each after those it depends on; a missing or old one fails the build."""
    records = {}
    for name, chapter in ledger.EXPECTED.items():
        path = folder(app) / f"{name}.json"
        if not path.exists():
            logger.warning("no record of %r: %s did not write it", name, chapter)
            continue
        records[name] = json.loads(path.read_text())
        if records[name]["fingerprint"] != ledger.fingerprint(app.env.doc2path(chapter)):
            logger.warning("the record of %r is older than %s or the library", name, chapter)
    for path in folder(app).glob("*.json"):
        if path.stem not in ledger.EXPECTED:
            logger.warning("the record of %r is of no expected proposition", path.stem)
    ordered: dict[str, dict] = {}

    def place(name: str, above: tuple[str, ...] = ()) -> None:
        if name in above:
            logger.warning("propositions depend on each other: %s", " → ".join((*above, name)))
        elif name in records and name not in ordered:
            for other in records[name]["depends"]:
                if other not in ledger.EXPECTED:
                    logger.warning("%r depends on %r, which is no proposition", name, other)
                place(other, (*above, name))
            ordered[name] = records[name]

    for name in records:
        place(name)
    return list(ordered.values())


def prose(text: str) -> list[nodes.Node]:
    """Text with ``$...$`` in it as nodes."""
    kinds = (nodes.Text, lambda tex: nodes.math(tex, tex))
    return [kinds[place % 2](part) for place, part in enumerate(text.split("$")) if part]


def paragraph(*parts: nodes.Node) -> nodes.paragraph:
    return nodes.paragraph("", "", *parts)


def table(heads: list[str], rows: list[list[list[nodes.Node]]], kind: str) -> nodes.table:
    """A table whose cells are lists of blocks."""

    def row(cells: Iterable[list[nodes.Node]]) -> nodes.row:
        return nodes.row("", *[nodes.entry("", *cell) for cell in cells])

    group = nodes.tgroup("", *[nodes.colspec(colwidth=1) for _ in heads], cols=len(heads))
    group += nodes.thead("", row([paragraph(nodes.Text(head))] for head in heads))
    group += nodes.tbody("", *[row(cells) for cells in rows])
    return nodes.table("", group, classes=[f"bpf-{kind}", "colwidths-auto"])


def ledger_row(record: dict, link: Callable[[str], nodes.Node]) -> list[list[nodes.Node]]:
    statement = record["statement"].strip("$")
    engines = ", ".join(f"{steps} steps by {name}" for name, steps in record["engines"].items())
    decided = paragraph(nodes.strong("", "Decided: "), nodes.Text(engines))
    checked = [decided, *premises(record), *compared(record), *needed(record, link)]
    title = paragraph(link(record["id"]), nodes.Text(" "), *prose(record["title"]))
    formula = paragraph(nodes.math(statement, rf"\displaystyle {statement}"))
    return [[title, formula], checked]


def premises(record: dict) -> Iterable[nodes.Node]:
    """What was counted, gathered by the run that counted it."""
    by_run: dict[str, list[str]] = {}
    for premise in record["premises"]:
        by_run.setdefault(premise["checked_by"], []).append(
            f"{premise['name']} ({premise['points']})"
        )
    for run, names in by_run.items():
        yield paragraph(nodes.strong("", "Counted: "), *prose(f"{'; '.join(names)}; by {run}"))


def needed(record: dict, link: Callable[[str], nodes.Node]) -> list[nodes.Node]:
    """The propositions that this one rests on, linked."""
    if not record["depends"]:
        return []
    links = [part for name in record["depends"] for part in (nodes.Text(", "), link(name))]
    return [paragraph(nodes.strong("", "Rests on: "), *links[1:])]


def compared(record: dict) -> list[nodes.Node]:
    if not record["checks"]:
        return []
    return [paragraph(nodes.strong("", "Compared: "), *prose("; ".join(record["checks"])))]


def counts(record: dict) -> list[int]:
    """Mutants tried, and those that each engine or measurement caught."""
    mutants = record["mutants"]
    return [mutants["tried"], *(mutants["by"].get(name, 0) for name in ENGINES)]


def words(*texts: object) -> list[list[nodes.Node]]:
    """Cells of one word each."""
    return [[paragraph(nodes.Text(str(text)))] for text in texts]


def mutants_row(record: dict, link: Callable[[str], nodes.Node]) -> list[list[nodes.Node]]:
    survivors = [paragraph(*prose(name)) for name in record["mutants"]["survivors"]]
    title = paragraph(link(record["id"]), nodes.Text(" "), *prose(record["title"]))
    return [[title], *words(*counts(record)), survivors or words("none")[0]]


def total(records: list[dict]) -> list[list[nodes.Node]]:
    sums = [sum(column) for column in zip(*map(counts, records), strict=True)]
    survivors = sum(len(record["mutants"]["survivors"]) for record in records)
    return words("All", *sums, survivors)


ENGINES = ("SymPy", "Z3", "measurement")
KINDS: dict[str, tuple[list[str], Callable]] = {
    "ledger": (["Proposition", "What checked it"], ledger_row),
    "mutants": (["Proposition", "Mutants", *ENGINES, "Survivors"], mutants_row),
}


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    def link(name: str) -> nodes.Node:
        label = f"prop-{name}"
        entry = getattr(app.env, "proof_list", {}).get(label)
        if entry is None:
            logger.warning("no proposition is labelled %r", label)
            return nodes.literal(name, name)
        numbers = app.env.toc_fignumbers.get(entry["docname"], {}).get(entry["countertype"], {})
        number = ".".join(map(str, numbers.get(label, ())))
        text = nodes.Text(f"{entry['realtype'].title()} {number}")
        return make_refnode(app.builder, docname, entry["docname"], label, text)

    for place in list(doctree.findall(table_of_records)):
        heads, row = KINDS[place["kind"]]
        records = read(app)
        rows = [row(record, link) for record in records]
        if place["kind"] == "mutants":
            rows.append(total(records))
        place.replace_self(table(heads, rows, place["kind"]))


def setup(app: Sphinx) -> dict:
    app.add_node(table_of_records)
    for kind in KINDS:
        app.add_directive(kind, TableOfRecords)
    app.connect("builder-inited", announce)
    app.connect("env-get-outdated", outdated)
    app.connect("doctree-resolved", fill)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
