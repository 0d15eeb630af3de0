"""P devices over three axes: the triangle of splits, the optimum, and its roots of P."""

from itertools import combinations

import sympy as sp

from .. import catalog, optimum
from ..assumptions import BANDWIDTH_BOUND
from ..combined import FAST_GROUP, FIRST_ORDER, MICROBATCHES_HELD, SPLIT, STEP_HELD
from ..symbols import B, B_t, F, N, P, T, T_g, alpha, b, d, k_d, k_p, k_t, lam, m, p, p_d, t, u
from .pictures import Curve, Line, Triangle
from .presets import bandwidths, chips, known, links, models
from .spec import Control, Limit, Question, Sentence, Slip, Spec
from .water_level import water_level

_RELAXED = (STEP_HELD, MICROBATCHES_HELD, FIRST_ORDER, FAST_GROUP, BANDWIDTH_BOUND)
_K = (k_d, k_t, k_p)
_CAPS = sp.symbols("cap_d cap_t cap_p", positive=True, integer=True)
_BEST = sp.symbols("best_d best_t best_p", positive=True)
_SORTED = sp.symbols("k_1 k_2 k_3", positive=True)
_TWO = sp.Symbol("two_axes", positive=True)


def defined() -> dict[sp.Symbol, sp.Expr]:
    """The coefficients, the water level, the optimal degrees, the coefficients in order."""
    level = water_level(_K, P, _CAPS)
    best = {x: sp.Min(cap, sp.Max(1, lam / k)) for x, k, cap in zip(_BEST, _K, _CAPS, strict=True)}
    middle = sp.Max(sp.Min(k_d, k_t), sp.Min(sp.Max(k_d, k_t), k_p))
    order = dict(zip(_SORTED, (sp.Min(*_K), middle, sp.Max(*_K)), strict=True))
    coefficients = {
        k_d: optimum.data_coefficient(b, F, B, T_g),
        k_t: optimum.tensor_coefficient(b, F, d, B_t),
        k_p: optimum.pipeline_coefficient(m),
    }
    pairs = [water_level(pair, P, (P, P)) for pair in combinations(_K, 2)]
    return coefficients | {lam: level, _TWO: sp.Min(*pairs, evaluate=False)} | best | order


def thresholds() -> tuple[sp.Expr, ...]:
    """Devices from which the second and third axis are used, of the coefficients in order."""
    k_1, k_2, k_3 = _SORTED
    above = sp.symbols("above_1 above_2", positive=True)  # so that their order can be decided
    rising = (k_1, k_1 + above[0], k_1 + above[0] + above[1])
    steps = {above[0]: k_2 - k_1, above[1]: k_3 - k_2}
    return tuple(x.subs(steps) for x in optimum.thresholds(rising))


def budget() -> Spec:
    """The overhead of every split of P devices, its least, and how that grows with P."""
    chip, model = catalog.hardware("H100 SXM"), catalog.model("GPT-3 175B")
    network, wire = catalog.link("InfiniBand NDR"), catalog.link("NVLink 4")
    two = [sp.Max(1, _TWO / k) for k in _SORTED[:2]]
    late, latest = thresholds()
    controls = (
        Control(P, 2, 65536, 1024, scale="doubling", whole=True),
        Control(T_g, 2**16, 2**27, 4_000_000, "tokens", whole=True, meaning="tokens a step"),
        Control(d, 1024, 65536, model.width, whole=True),
        Control(m, 1, 1024, 64, scale="doubling", whole=True),
        Control(B, 1e9, 1e12, known(network.achievable), "GB/s", 1e9, meaning="network, sustained"),
        Control(
            B_t, 1e9, 1e12, known(wire.achievable), "GB/s", 1e9, meaning="tensor link, sustained"
        ),
        Control(
            F, 1e13, 1e16, known(chip.achievable_flops), "TFLOP/s", 1e12, meaning="sustained rate"
        ),
        Control(_CAPS[0], 1, 65536, 65536, scale="doubling", whole=True, meaning="most replicas"),
        Control(_CAPS[1], 1, 65536, 65536, scale="doubling", whole=True, meaning="largest group"),
        Control(_CAPS[2], 1, 65536, 65536, scale="doubling", whole=True, meaning="most stages"),
        Control(b, 1, 4, 2, "bytes", scale="linear", whole=True, meaning="bytes", folded=True),
        Control(u, 128, 65536, model.sequence, "tokens", scale="doubling", whole=True, folded=True),
        Control(T, 128, 2**20, 4096, "tokens", scale="doubling", whole=True, folded=True),
        Control(alpha, 1e-7, 1e-3, known(network.latency), "µs", 1e-6, folded=True),
        Control(N, 1e8, 1e13, model.published_parameters, "billion", 1e9, whole=True, folded=True),
    )
    return Spec(
        id="budget",
        title="What the cheapest split of P devices costs",
        controls=controls,
        assumptions=SPLIT.assumptions,
        defined=defined(),
        varied=dict(zip((p_d, t, p), _BEST, strict=True)),
        formulas={
            "overhead": SPLIT.formula,
            "least": optimum.overhead_sum(_K, _BEST),
            "one": optimum.overhead_sum(_SORTED[:1], [P]),
            "two": optimum.overhead_sum(_SORTED[:2], two),
            "best_d": _BEST[0],
            "best_t": _BEST[1],
            "best_p": _BEST[2],
            "data_alone": optimum.overhead_sum(_K[:1], [P]),
            "even": optimum.overhead_sum(_K, [sp.cbrt(P)] * 3),
            "uncounted": 3 * lam,
            "late": late,
            "latest": latest,
            "room": sp.prod(_CAPS) - P,
        },
        main="overhead",
        also=("least",),
        pictures=(
            Triangle(
                "overhead",
                ("p_d", "t", "p"),
                "P",
                ("best_d", "best_t", "best_p"),
                tuple(x.name for x in _CAPS),
                _RELAXED,
                "The triangle of splits with contours of equal overhead.",
            ),
            Curve(
                (
                    Line("one", "cheapest axis alone"),
                    Line("two", "cheapest two", dashed=True),
                    Line("least", "all three, under the caps"),
                ),
                over=P,
                ylabel="least overhead",
                alt="Least overhead against the number of devices.",
            ),
        ),
        readout=(
            Sentence(
                "To first order the optimum is <b>{best_d:number} × {best_t:number} × "
                "{best_p:number}</b> (data × tensor × pipeline) and costs {least:percent}; data "
                "alone costs {data_alone:percent}.",
                held=_RELAXED,
            ),
            Sentence(
                "Without caps, the second axis comes into use at {late:number} devices, the third "
                "at {latest:number}."
            ),
        ),
        alt="With three axes the least overhead grows as the cube root of the devices.",
        presets=(
            chips(),
            links(),
            bandwidths(B_t, "Tensor link"),
            models(lambda x: {d.name: x.width, N.name: x.published_parameters}),
        ),
        limits=(Limit("room", "the caps leave no room for so many devices"),),
        question=Question(
            "1,024 H100s on NDR, NVLink inside; GPT-3's width, four million tokens a step, 64 "
            "microbatches. Data parallelism alone costs {data_alone:percent} over ideal. What "
            "does the best split of the three axes cost?",
            answer="least",
            unit="%",
            style="percent",
            per_unit=0.01,
            because="Costs add, devices multiply: each axis in use pays the same "
            "$k_ip_i$, and the sum grows only as the cube root of $P$.",
            slips=(
                Slip("even", "That gives each axis the same degree, however dear it is."),
                Slip("two", "That uses two axes. The third is worth using here too."),
                Slip("uncounted", "The first device on an axis is free: $p-1$, not $p$, is paid."),
                Slip("data_alone", "Nothing was gained, then."),
            ),
            tolerance=0.03,
        ),
    )
