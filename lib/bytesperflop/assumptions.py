"""Assumptions as objects: while one holds, a symbol of the full premise is frozen.

A premise is written once, in full. An :class:`Assumption` names one symbol of it, the value
that the symbol has while the assumption holds, and what it is otherwise. Dropping the
assumption reruns the same chain, and what the ideal value had hidden comes back.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import sympy as sp

from . import rendering
from .proof import Derivation, Malformed
from .symbols import alpha as latency
from .symbols import c as boundary_delay
from .symbols import d, k, p_d, s, t
from .symbols import delta as imbalance
from .sympy_engine import value

Given = Callable[[sp.Expr], sp.Expr]


@dataclass(frozen=True)
class Assumption:
    """``symbol`` is ``ideal`` while the assumption holds, and ``actual`` when it is dropped."""

    name: str
    says: str
    otherwise: str
    symbol: sp.Symbol
    ideal: sp.Expr
    actual: sp.Expr

    def __str__(self) -> str:
        return self.name


def _hidden(name: str) -> sp.Symbol:
    """A symbol of the full premises that every chain replaces before it is shown."""
    return sp.Symbol(name, nonnegative=True)


ring_share_d = _hidden("ring_share_d")
ring_share_t = _hidden("ring_share_t")
overlap = _hidden("overlap")
synchronisations = _hidden("synchronisations")
scores = _hidden("scores")
recompute = _hidden("recompute")
split_compute = _hidden("split_compute")
unfused = _hidden("unfused")

BANDWIDTH_BOUND = Assumption(
    "bandwidth-bound",
    "messages are long, so that the latency of each, $\\alpha$, does not count",
    "every message costs $\\alpha$ on top",
    latency,
    sp.Integer(0),
    latency,
)
MANY_REPLICAS = Assumption(
    "many replicas",
    "there are many replicas, so that the ring sends $2N$ elements",
    "it sends $2N(p_d-1)/p_d$",
    ring_share_d,
    sp.Integer(1),
    (p_d - 1) / p_d,
)
NO_OVERLAP = Assumption(
    "no overlap",
    "communication waits for the backward pass to end",
    "the backward pass hides what fits behind it",
    overlap,
    sp.Integer(0),
    sp.Integer(1),
)
ONE_SYNCHRONISATION = Assumption(
    "one synchronisation",
    "gradients are summed once a step, however many microbatches it has",
    "they are summed after each of the $k$ microbatches",
    synchronisations,
    sp.Integer(1),
    k,
)
WEIGHTS_ONLY = Assumption(
    "weights only",
    "only products with weights count as work: attention's scores are left out",
    "scores and values add $s/(6d)$ of the work",
    scores,
    sp.Integer(0),
    s / (6 * d),
)
NO_RECOMPUTE = Assumption(
    "no recomputation",
    "activations are kept for the backward pass, not computed a second time",
    "the forward pass runs twice, its all-reduces too",
    recompute,
    sp.Integer(0),
    sp.Integer(1),
)
WHOLE_LAYER = Assumption(
    "whole layer",
    "the compute is the whole layer's, at the rate of one device",
    "each of the $t$ devices does $1/t$ of it",
    split_compute,
    sp.Integer(1),
    t,
)
MANY_SHARDS = Assumption(
    "asymptotic ring",
    "an all-reduce of $n$ elements sends $2n$",
    "it sends $2n(t-1)/t$",
    ring_share_t,
    sp.Integer(1),
    (t - 1) / t,
)
FUSED_QKV = Assumption(
    "fused QKV",
    "queries, keys and values are one product, so that one all-reduce sums its input gradient",
    "each of the three reduces its own: two more",
    unfused,
    sp.Integer(0),
    sp.Integer(1),
)
EQUAL_STAGES = Assumption(
    "equal stages",
    "every stage takes the same time, $\\tau$ a microbatch",
    "one stage takes $(1+\\delta)\\tau$",
    imbalance,
    sp.Integer(0),
    imbalance,
)
FREE_BOUNDARIES = Assumption(
    "free boundaries",
    "handing activations to the next stage takes no time",
    "each hand-over takes $c$",
    boundary_delay,
    sp.Integer(0),
    boundary_delay,
)


@dataclass(frozen=True)
class Proposition:
    """A chain that can be run with any of its assumptions dropped.

    ``chain(given)`` builds the derivation; ``given(expression)`` puts in the ideal or the
    actual value of each assumption's symbol. ``formula`` is where the chain ends, those
    symbols still in it. ``written`` is the format of its numbers.
    """

    id: str
    title: str
    chapter: str
    assumptions: tuple[Assumption, ...]
    chain: Callable[[Given], Derivation]
    formula: sp.Expr
    free_of: tuple[sp.Symbol, ...]
    written: str = "{:.1%}"

    def proof(self, without: Iterable[Assumption] = ()) -> Derivation:
        """The derivation, run now; ``without`` lists the assumptions that are dropped.

        Raises:
            Malformed: an assumption that the proposition does not use.
        """
        without = tuple(without)
        for assumption in without:
            if assumption not in self.assumptions:
                used = ", ".join(map(str, self.assumptions))
                raise Malformed(f"{self.id}: does not assume '{assumption}'; it assumes {used}")
        values = {a.symbol: a.actual if a in without else a.ideal for a in self.assumptions}
        derivation = self.chain(lambda e: sp.sympify(e).subs(values, simultaneous=True))
        return derivation if without else derivation.concludes(free_of=self.free_of)

    def result(self, without: Iterable[Assumption] = ()) -> sp.Expr:
        """Where the derivation ends, as one SymPy expression."""
        return value(self.proof(without).last)

    def table(self) -> rendering.Table:
        """The assumptions, numbered: what each says, and what holds where it is dropped."""
        rows = [(f"{i}. {x.name}", x.says, x.otherwise) for i, x in enumerate(self.assumptions, 1)]
        heads = ("assumption", "it says", "otherwise")
        return rendering.Table(heads, rows, f"Assumptions: {self.title}")

    def breakdown(self, values: dict[sp.Symbol, float]) -> rendering.Table:
        """Each assumption dropped by itself: the ratio, what comes back, a machine's number."""
        rows = []
        for assumption in self.assumptions:
            broken = self.without(assumption)
            back = ", ".join(f"${sp.latex(x)}$" for x in broken.returns) or "nothing"
            _, number = broken.at(values)
            formula = f"${sp.latex(broken.result)}$"
            rows.append((assumption.name, formula, back, self._write(number)))
        held = self.result()
        first = ("none", f"${sp.latex(held)}$", "", self._write(float(held.subs(values))))
        heads = ("assumption dropped", "ratio", "comes back", "here")
        return rendering.Table(heads, [first, *rows], f"What breaks: {self.title}")

    def _write(self, number: float) -> str:
        return self.written.format(number).replace("%", " %")

    def without(self, *dropped: Assumption) -> "Broken":
        """What becomes of the proposition when assumptions are dropped."""
        if not dropped:
            raise Malformed(f"{self.id}: name at least one assumption to drop")
        name = f"{self.title}, without: {', '.join(map(str, dropped))}"
        return Broken(name, self, dropped, self.result(), self.proof(dropped))


@dataclass(frozen=True)
class Broken(rendering.Shown):
    """A proposition without some of its assumptions, beside the proposition itself."""

    name: str
    proposition: Proposition
    dropped: tuple[Assumption, ...]
    held: sp.Expr
    proof: Derivation

    @property
    def result(self) -> sp.Expr:
        """The ratio without the assumption."""
        return value(self.proof.last)

    @property
    def returns(self) -> tuple[sp.Symbol, ...]:
        """The symbols that the proposition is free of and that now come back."""
        return tuple(sorted(self.result.free_symbols - self.held.free_symbols, key=str))

    def _rows(self):
        steps = self.proof.steps
        return [
            ("", self.held, "all assumptions held", ()),
            ("", self.proof.start, f"dropped: {', '.join(map(str, self.dropped))}", ()),
            *((x.relation, x.right, x.reason, x.verdicts) for x in steps),
        ]

    def _footer(self) -> str:
        back = ", ".join(f"${sp.latex(x)}$" for x in self.returns)
        return f"Back: {back}." if back else "No symbol comes back; the number changes."

    def at(self, values: dict[sp.Symbol, float]) -> tuple[float, float]:
        """The ratio in numbers: (with all assumptions, without the dropped ones).

        Raises:
            Malformed: a symbol of either form has no value.
        """
        missing = (self.held.free_symbols | self.result.free_symbols) - set(values)
        if missing:
            raise Malformed(f"{self.proposition.id}: no value for {sorted(map(str, missing))}")
        return float(self.held.subs(values)), float(self.result.subs(values))
