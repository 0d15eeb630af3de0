"""A pipeline's timeline, run in the page by its dependencies, beside the closed form."""

import sympy as sp

from .. import ratios
from ..propositions import BUBBLE
from ..symbols import L, c, delta, m, p, tau
from .orders import Orders, every_schedule
from .pictures import Gantt
from .presets import models
from .spec import Choice, Control, Limit, Question, Sentence, Slip, Spec

KINDS = {"F": "forward", "B": "backward", "I": "input-gradient", "W": "weight-gradient"}
START = {"F": 1, "B": 2}


def pipeline_timeline(orders: Orders | None = None) -> Spec:
    """Every schedule that the book has; each kind of work gets a control of its own."""
    orders = orders or every_schedule()
    kinds = {kind: KINDS.get(kind, kind) for kind in orders.kinds}
    times = {kind: sp.Symbol(f"t_{kind}", positive=True) for kind in kinds}
    closed = BUBBLE.formula.subs(tau, times["F"] + times["B"])
    stated = ratios.bubble_fraction(p, m)
    durations = tuple(
        Control(
            times[kind],
            0.25,
            8,
            START.get(kind, 1),
            "units",
            scale="log",
            meaning=f"time of {kinds[kind]}",
            folded=kind not in START,
        )
        for kind in kinds
    )
    return Spec(
        id="pipeline",
        title="A pipeline's timeline",
        controls=(
            Control(p, 1, orders.most_stages, 4, scale="linear", whole=True, meaning="stages"),
            Control(m, 1, orders.most_microbatches, 8, scale="linear", whole=True),
            *durations,
            Control(c, 0, 4, 0.5, "units", scale="linear", meaning="delay of a boundary"),
            Control(delta, 0, 2, 0.5, scale="linear", meaning="extra time of the last stage, of τ"),
            Control(L, 1, 200, 96, scale="linear", whole=True),
        ),
        assumptions=BUBBLE.assumptions,
        formulas={
            "closed": closed,
            "stated": stated,
            "overhead": ratios.bubble_overhead(p, m),
            "delay": c,
            "slowest": 1 + delta,
            "deep_enough": L - p,
            "layers": L / p,
            "one_missing": p / (m + p),
            "one_batch": (p - 1) / p,
            "twice": ratios.bubble_fraction(2 * p - 1, m),
            **{f"time_{kind}": times[kind] for kind in kinds},
        },
        main="closed",
        also=("layers", *(f"time_{kind}" for kind in kinds)),
        choices=(Choice("schedule", "Schedule", tuple(orders.schedules)),),
        pictures=(
            Gantt(
                orders,
                {kind: f"time_{kind}" for kind in kinds},
                kinds,
                "delay",
                "slowest",
                "Timeline: a row a stage, and below it the microbatches that the stage holds.",
            ),
        ),
        readout=(
            Sentence("The closed form for GPipe: <b>{closed:percent}</b> of the time idle."),
            Sentence("A held microbatch is the activations of {layers:number} layers."),
        ),
        alt="Stages start one after the other and end one after the other; the corners are idle.",
        presets=(models(lambda x: {L.name: x.layers}),),
        limits=(Limit("deep_enough", "more stages than layers: p must be at most L"),),
        question=Question(
            "Four stages, eight microbatches, a backward pass twice as long as a forward one, "
            "and handing over costs nothing. What share of the time do the devices idle?",
            answer="stated",
            unit="%",
            style="percent",
            per_unit=0.01,
            because="It is $(p-1)/(m+p-1)$, for any $F$ and $B$: $p-1$ slots of $m+p-1$ are empty.",
            slips=(
                Slip("overhead", "That is the overhead, $(p-1)/m$: idle over useful time."),
                Slip("one_missing", "A stage's own first slot is work: $p-1$ are idle, not $p$."),
                Slip("one_batch", "That is what one microbatch alone would waste."),
                Slip("twice", "Filling and draining cost $p-1$ slots together, not each."),
            ),
        ),
    )
