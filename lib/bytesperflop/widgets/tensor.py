"""What a tensor group's all-reduces cost: the page's form and the clock's, side by side."""

import sympy as sp

from .. import assumptions as assume
from .. import catalog, ratios
from ..assumptions import Assumption
from ..propositions import TENSOR
from ..symbols import B, F, L, T, alpha, b, d, s, t
from .pictures import Curve, Line, Mark
from .presets import chips, known, links, models
from .spec import Choice, Control, Question, Sentence, Slip, Spec

regather = sp.Symbol("regather", nonnegative=True)

INPUTS_KEPT = Assumption(
    "gathered inputs kept",
    "where sequence parallelism gathers an input, it is kept for the backward pass: same volume",
    "each is gathered once more, 10 units of volume in place of 8",
    regather,
    sp.Integer(0),
    sp.Integer(1),
)


def tensor_ratio() -> Spec:
    """Tensor parallelism's ratio with the assumptions of its proposition as switches."""
    chip, wire = catalog.hardware("H100 SXM"), catalog.link("NVLink 4")
    network, model = catalog.link("InfiniBand NDR"), catalog.model("GPT-3 175B")
    rate, slow = known(chip.achievable_flops), known(network.achievable)
    across = ratios.tensor_parallel(2, rate, slow, model.width)
    all_reduces = 4 + 2 * assume.unfused + 2 * assume.recompute
    now = TENSOR.formula * (all_reduces + regather) / all_reduces
    held = {x.symbol: x.ideal for x in TENSOR.assumptions}
    stated = TENSOR.formula.subs(held)
    clock = now.subs({assume.split_compute: t, assume.ring_share_t: (t - 1) / t})
    controls = (
        Control(d, 256, 65536, model.width, whole=True),
        Control(t, 1, 64, 8, scale="doubling", whole=True, meaning="devices that share a layer"),
        Control(L, 1, 200, model.layers, scale="linear", whole=True),
        Control(T, 1, 2**20, 8192, "tokens", whole=True, meaning="tokens in flight"),
        Control(s, 256, 2**20, model.sequence, "tokens", whole=True, meaning="sequence length"),
        Control(F, 1e13, 1e16, rate, "TFLOP/s", 1e12, meaning="sustained rate"),
        Control(B, 1e9, 1e12, known(wire.achievable), "GB/s", 1e9, meaning="sustained bandwidth"),
        Control(b, 1, 4, 2, "bytes", scale="linear", whole=True, meaning="bytes an element"),
        Control(alpha, 1e-7, 1e-3, known(wire.latency), "µs", 1e-6),
    )
    return Spec(
        id="tensor-ratio",
        title="What a tensor group's all-reduces cost",
        controls=controls,
        assumptions=(*TENSOR.assumptions, INPUTS_KEPT),
        formulas={
            "now": now,
            "clock": clock,
            "stated": stated,
            "balance": ratios.tensor_latency_balance(t, alpha, B, b, d),
            "seven": ratios.tensor_parallel_exact(b, F, B, d, t),
            "times_t": stated * t,
            "half": stated * (t - 1) / 2,
            "forward": stated * (t - 1) * sp.Rational(3, 2),
        },
        main="now",
        also=("clock",),
        choices=(Choice("over", "Plot over", ("t", "d", "T", "L", "s")),),
        pictures=(
            Curve(
                (
                    Line("stated", "the page's form"),
                    Line("clock", "by the clock"),
                    Line("now", "under your assumptions", dashed=True),
                ),
                over=t,
                choice="over",
                ylabel="communication / compute",
                alt="Communication over compute of a tensor group.",
                marks=(Mark("balance", "latency = bytes", T, assume.BANDWIDTH_BOUND),),
            ),
        ),
        readout=(
            Sentence(
                "Against a whole layer's work the exchange is {stated:percent}; by the clock of "
                "{t} devices that share it, <b>{clock:percent}</b>."
            ),
            Sentence("Under the assumptions that you left, {now:percent}."),
            Sentence("$L$ and $T$ have cancelled.", held=(assume.BANDWIDTH_BOUND,)),
            Sentence(
                "Latency costs as much as bytes at {balance:count} tokens in flight.",
                dropped=assume.BANDWIDTH_BOUND,
            ),
        ),
        alt="A level line for the page's form, a rising one for the clock's.",
        presets=(
            chips(),
            links("Link"),
            models(lambda x: {d.name: x.width, L.name: x.layers, s.name: x.sequence}),
        ),
        question=Question(
            "GPT-3's width on NVLink, H100s: the ratio $bF/(9dB)$ is {stated:percent}. Eight "
            "devices share each layer. How long is a device busy exchanging, in per cent of the "
            "time that <i>it</i> computes?",
            answer="seven",
            unit="%",
            style="percent",
            per_unit=0.01,
            because="Each device has an eighth of the work, and a ring of eight sends 7/8 of its "
            "asymptotic volume: $(t-1)bF/(9dB)$. Across the network, at "
            f"{slow / 1e9:.0f} GB/s, each further device costs {100 * across:.1f} %.",
            slips=(
                Slip(
                    "stated", "That divides by the whole layer's work; a device does $1/t$ of it."
                ),
                Slip("times_t", "That forgets that a ring sends $(t-1)/t$ of its limit."),
                Slip("half", "An all-reduce sends twice what a reduce-scatter does."),
                Slip("forward", "That compares with the forward pass alone."),
            ),
        ),
    )
