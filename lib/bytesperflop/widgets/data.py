"""What a gradient all-reduce costs: a size of model that does nothing until latency counts."""

import sympy as sp

from .. import catalog, ratios
from ..assumptions import BANDWIDTH_BOUND
from ..propositions import DATA
from ..symbols import B, F, N, T, alpha, b, d, k, p_d, s
from .pictures import Curve, Line, Mark
from .presets import chips, known, links, models
from .spec import Control, Question, Sentence, Slip, Spec


def machine() -> dict[sp.Symbol, float]:
    """The chapter's machine: an H100's sustained rate, NDR InfiniBand as it was measured."""
    chip, network = catalog.hardware("H100 SXM"), catalog.link("InfiniBand NDR")
    return {
        F: known(chip.achievable_flops),
        B: known(network.achievable),
        alpha: known(network.latency),
    }


def data_ratio() -> Spec:
    """Data parallelism's ratio with the assumptions of its proposition as switches."""
    here, now = machine(), DATA.formula
    stated = now.subs({x.symbol: x.ideal for x in DATA.assumptions})
    one_way = stated / 2
    controls = (
        Control(N, 1e6, 1e13, 1e9, "billion", 1e9, whole=True),
        Control(T, 256, 2**20, 8192, "tokens", whole=True, meaning="tokens a replica and step"),
        Control(F, 1e13, 1e16, here[F], "TFLOP/s", 1e12, meaning="sustained rate of a device"),
        Control(B, 1e9, 1e12, here[B], "GB/s", 1e9, meaning="sustained one-way bandwidth"),
        Control(b, 1, 4, 2, "bytes", scale="linear", whole=True, meaning="bytes an element"),
        Control(p_d, 1, 16384, 1024, scale="doubling", whole=True),
        Control(alpha, 1e-7, 1e-3, here[alpha], "µs", 1e-6),
        Control(k, 1, 64, 8, scale="doubling", whole=True, folded=True),
        Control(d, 256, 65536, 4096, whole=True, folded=True),
        Control(s, 256, 2**20, 8192, "tokens", whole=True, meaning="sequence length", folded=True),
    )
    return Spec(
        id="data-ratio",
        title="What a gradient all-reduce costs",
        controls=controls,
        assumptions=DATA.assumptions,
        formulas={
            "now": now,
            "stated": stated,
            "star": ratios.latency_balance(p_d, alpha, B, b),
            "eightfold": stated * 8,
            "whole_window": stated * sp.Rational(3, 2),
            "forward": stated * 3,
            "one_pass": one_way,
            "fraction": stated / (1 + stated),
        },
        main="now",
        pictures=(
            Curve(
                (Line("stated", "as stated"), Line("now", "under your assumptions", dashed=True)),
                over=N,
                ylabel="communication / compute",
                alt="Communication over compute against the number of parameters.",
                marks=(Mark("star", "N*", N, BANDWIDTH_BOUND),),
            ),
        ),
        readout=(
            Sentence("The network is busy <b>{now:percent}</b> as long as the chip."),
            Sentence(
                "With {N} parameters or any other number of them: $N$ has cancelled.",
                held=(BANDWIDTH_BOUND,),
            ),
            Sentence(
                "Latency counts as much as bytes at $N$* = {star:count} parameters.",
                dropped=BANDWIDTH_BOUND,
            ),
        ),
        alt="A level line: the ratio is the same for every size of model.",
        presets=(
            chips(),
            links(),
            models(lambda x: {N.name: x.published_parameters, d.name: x.width, s.name: x.sequence}),
        ),
        question=Question(
            f"{here[F] / 1e12:.0f} TFLOP/s a device, {here[B] / 1e9:.0f} GB/s of network, "
            "gradients of 2 bytes, 8,192 tokens a replica and step. With a billion parameters the "
            "all-reduce takes {stated:percent} of the time that the step computes. What does it "
            "take with <b>eight billion</b>?",
            answer="stated",
            unit="%",
            style="percent",
            per_unit=0.01,
            because="Eight times the parameters are eight times the bytes <i>and</i> eight times "
            "the FLOPs. Move $N$ and see; then drop an assumption.",
            slips=(
                Slip("eightfold", "That counts the bytes of the larger model, not its work."),
                Slip("fraction", "That is the share of the whole time: the ratio is to compute."),
                Slip("one_pass", "An all-reduce sends $2N$ elements, not $N$."),
                Slip("whole_window", "That compares with the backward pass alone, $4N$ of $6N$."),
                Slip("forward", "That compares with the forward pass alone, $2N$ of $6N$."),
            ),
        ),
    )
