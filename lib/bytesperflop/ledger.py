"""The ledger: what checked each proposition, written down by the chapter's own run.

Where the environment variable ``BYTESPERFLOP_RECORDS`` names a folder (the build sets it),
:func:`enter` leaves a record there; the page *results* is filled from those records.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import sympy as sp

from .mutants import Attack, attack
from .premises import Premise
from .rendering import prose

EXPECTED = {
    "counting": "counting-rules",
    "data": "data-parallelism",
    "tensor": "tensor-parallelism",
    "pipeline": "pipeline-parallelism",
    "why-all-three": "why-all-three",
    "microbatch-held": "other-regimes",
    "memory-held": "other-regimes",
    "batch": "what-this-does-not-say",
    "collectives": "prerequisites/collectives",
    "memory": "prerequisites/training-memory",
    "roofline": "prerequisites/roofline",
    "zero": "beyond/zero",
    "interleaving": "beyond/schedules",
    "zero-bubble": "beyond/schedules",
}


def fingerprint(chapter: str | Path) -> str:
    """A digest of the chapter's source and of the library's, which a record must match."""
    digest = hashlib.sha256(Path(chapter).read_bytes())
    here = Path(__file__).parent
    for source in sorted([*here.glob("*.py"), *here.glob("data/*")]):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True, repr=False)
class Record:
    """One proposition and everything that checked it in this run."""

    id: str
    title: str
    chapter: str
    statement: str
    depends: list[str]
    engines: dict[str, int]
    premises: list[dict]
    checks: list[str]
    mutants: dict
    fingerprint: str = ""

    def __repr__(self) -> str:
        steps = ", ".join(f"{count} steps by {name}" for name, count in self.engines.items())
        lines = [f"{self.title}: {steps}"]
        lines += [f"  {p['name']}: {p['checked_by']} ({p['points']})" for p in self.premises]
        lines += [f"  {check}" for check in self.checks]
        by = ", ".join(f"{name} {count}" for name, count in self.mutants["by"].items())
        lines.append(f"  {self.mutants['tried']} mutants, caught: {by}")
        lines.append(f"  survivors: {'; '.join(self.mutants['survivors']) or 'none'}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        first, *rest = str(self).splitlines()
        items = "".join(f"<li>{prose(line.strip())}</li>" for line in rest)
        return f'<div class="bpf-ledger"><p>{prose(first)}</p><ul>{items}</ul></div>'


def enter(
    id: str,
    title: str,
    statement: sp.Expr | str,
    proofs: Sequence,
    premises: Sequence[Premise] = (),
    checks: Iterable[str] = (),
    depends: Iterable[str] = (),
) -> Record:
    """Verify the premises, attack the proofs, and write down what came of it.

    Args:
        id: a key of ``EXPECTED``.
        title, statement: of the proposition; the statement is an expression, or its TeX.
        proofs: derivations and inductions, all of whose steps count.
        premises: verified here and now.
        checks: in words, what else the chapter compared.
        depends: ids of the propositions this one rests on.

    Raises:
        ValueError: an unknown id, no proof, or an engine that did not decide every step.
        FalsePremise: a premise that its count contradicts.
    """
    for name in (id, *depends):
        if name not in EXPECTED:
            raise ValueError(f"id = {name!r}: must be one of {', '.join(EXPECTED)}")
    steps = [step for proof in proofs for step in proof.steps]
    if not steps:
        raise ValueError(f"proofs of {id!r}: must have at least one decided step")
    engines = Counter(v.engine for step in steps for v in step.verdicts if v.holds)
    told = [
        {"name": p.says, "checked_by": p.counted_by, "points": _sizes(p.verify())} for p in premises
    ]
    attacks = [attack(proof) for proof in proofs]
    for each in attacks:
        each.survivors = [f"{each.name}, {label}" for label in each.survivors]
    total = sum([*attacks, *(premise.attack() for premise in premises)], Attack(id))
    mutants = {"tried": total.tried, "by": dict(total.by), "survivors": total.survivors}
    chapter = EXPECTED[id]
    record = Record(
        id,
        title,
        chapter,
        statement if isinstance(statement, str) else sp.latex(statement),
        list(depends),
        dict(engines),
        told,
        list(checks),
        mutants,
    )
    if folder := os.environ.get("BYTESPERFLOP_RECORDS"):
        if len(set(engines.values())) != 1 or len(engines) != 2 or engines["Z3"] != len(steps):
            raise ValueError(f"{id}: the engines decided {dict(engines)} of {len(steps)} steps")
        written = asdict(record) | {"fingerprint": fingerprint(f"{Path(chapter).name}.md")}
        Path(folder, f"{id}.json").write_text(json.dumps(written, indent=1), encoding="utf-8")
    return record


def _sizes(count: int) -> str:
    return f"{count} size{'s' if count > 1 else ''}"
