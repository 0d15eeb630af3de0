"""Where a model's parameters and FLOPs are, and how wrong 12Ld² and 6N are."""

from typing import Any

import sympy as sp

from .. import catalog, counting
from ..assumptions import NO_RECOMPUTE, WEIGHTS_ONLY, Assumption, recompute, scores
from ..counting_rules import (
    EVERY_GRADIENT,
    FOUR_D,
    FULL_HEADS,
    LAYERS_ONLY,
    PLAIN_MLP,
    constant_input,
    gates,
    vocabulary,
)
from ..symbols import L, V, a, d, d_ff, g, s
from .pictures import Bar, Bars
from .presets import models
from .spec import Control, Limit, Question, Sentence, Slip, Spec

tied = sp.Symbol("tied", nonnegative=True)

TWO_TABLES = Assumption(
    "two tables",
    "embedding and head are two arrays",
    "they are one",
    tied,
    sp.Integer(0),
    sp.Integer(1),
)


def items() -> tuple[dict[str, sp.Expr], dict[str, sp.Expr]]:
    """Parameters and training FLOPs a token, item by item, with the assumptions' symbols."""
    attention = counting.attention_parameters(d, a, g)
    matrices = {
        "query": L * (attention["query"] + attention["output"]),
        "key": L * (attention["key"] + attention["value"]),
        "mlp": L * (sum(counting.mlp_parameters(d, d_ff).values()) + gates * d * d_ff),
    }
    rows = vocabulary * d
    parameters = matrices | {"embedding": rows, "head": rows * (1 - tied)}
    passes = 6 + 2 * recompute
    flops = {name: passes * x for name, x in matrices.items()}
    flops["query"] -= 2 * attention["query"] * constant_input
    flops["key"] -= 2 * (attention["key"] + attention["value"]) * constant_input
    flops["scores"] = passes * 12 * L * d**2 * scores
    flops["head"] = counting.training_flops(rows)
    return parameters, flops


_LABELS = {
    "query": "queries and output",
    "key": "keys and values",
    "mlp": "MLP",
    "embedding": "embedding (looked up)",
    "head": "output head",
    "scores": "scores and values of attention",
}
_ASSUMPTIONS = (
    FULL_HEADS,
    FOUR_D,
    PLAIN_MLP,
    LAYERS_ONLY,
    TWO_TABLES,
    WEIGHTS_ONLY,
    NO_RECOMPUTE,
    EVERY_GRADIENT,
)


def shape(model: catalog.Model) -> dict[str, Any] | None:
    """A model's shape, and the assumptions that it breaks; none if its heads do not fill d."""
    if model.heads * model.head_size != model.width:
        return None
    values = {
        d.name: model.width,
        L.name: model.layers,
        a.name: model.heads,
        g.name: model.kv_heads,
        d_ff.name: model.mlp_width,
        V.name: model.vocabulary,
        s.name: model.sequence,
    }
    return values | {
        FULL_HEADS.name: model.kv_heads == model.heads,
        FOUR_D.name: model.mlp_width == 4 * model.width,
        PLAIN_MLP.name: not model.gated,
        LAYERS_ONLY.name: False,
        TWO_TABLES.name: not model.tied,
        WEIGHTS_ONLY.name: False,
    }


def counting_rule() -> Spec:
    """Parameters and FLOPs, itemised, beside the two rules of the chapter."""
    model = catalog.model("GPT-3 175B")
    start = shape(model) or {}
    parameters, flops = items()
    total, work = sum(parameters.values()), sum(flops.values())
    rule = counting.parameters_rule(L, d)
    attention = sum(counting.attention_parameters(d).values())
    mlp = sum(counting.mlp_parameters(d).values())
    sizes = {
        d: (64, 65536, "log", ""),
        L: (1, 200, "linear", ""),
        a: (1, 256, "log", ""),
        g: (1, 256, "log", ""),
        d_ff: (64, 262144, "log", ""),
        V: (256, 10**6, "log", ""),
        s: (16, 2**20, "log", "tokens"),
    }
    return Spec(
        id="counting",
        title="Where the parameters and the FLOPs are",
        controls=tuple(
            Control(symbol, low, high, start[symbol.name], unit, scale=scale, whole=True)
            for symbol, (low, high, scale, unit) in sizes.items()
        ),
        assumptions=_ASSUMPTIONS,
        formulas={
            "rule": rule,
            "parameters": total,
            "flops": work,
            "rule_error": rule / total - 1,
            "flop_error": 6 * total / work - 1,
            "factor": work / total,
            "groups": a - g,
            "attention_alone": L * attention,
            "mlp_alone": L * mlp,
            "one_layer": rule / L,
            "forward": counting.forward_flops(rule),
            **{f"p_{name}": x for name, x in parameters.items()},
            **{f"f_{name}": x for name, x in flops.items()},
        },
        main="rule_error",
        also=("flop_error", "parameters", "flops"),
        measures={x: "flop_error" for x in (WEIGHTS_ONLY, NO_RECOMPUTE, EVERY_GRADIENT)},
        style="signed",
        pictures=(
            Bars(
                tuple(
                    Bar(
                        label,
                        tuple(f"{k}_{n}" if n in x else "" for k, x in _series(parameters, flops)),
                    )
                    for n, label in _LABELS.items()
                ),
                ("parameters", "training FLOPs a token"),
                "Bars: each item's share of the parameters and of the FLOPs.",
            ),
        ),
        readout=(
            Sentence(
                "$12Ld^2$ gives {rule:count} parameters; itemised there are <b>{parameters:count}"
                "</b>, so the rule is off by {rule_error:signed}."
            ),
            Sentence(
                "A token costs {flops:count} FLOPs, <b>{factor:number}</b> a parameter; "
                "$6N$ is off by {flop_error:signed}."
            ),
        ),
        alt="With every assumption held, two thirds of both are in the MLP.",
        presets=(models(shape),),
        limits=(Limit("groups", "more key-value heads than query heads: g must be at most a"),),
        question=Question(
            f"GPT-3 has {model.layers} layers of width {model.width:,}. How many parameters does "
            "one product give?",
            answer="rule",
            unit="billion",
            style="count",
            per_unit=1e9,
            because="$4d^2$ for attention and $8d^2$ for the MLP, $L$ times. Choose a model below, "
            "and see what the rule leaves out.",
            slips=(
                Slip("attention_alone", "That is attention alone, $4d^2$ a layer."),
                Slip("mlp_alone", "That is the MLP alone, $8d^2$ a layer."),
                Slip("one_layer", "That is one layer."),
                Slip("forward", "That is the FLOPs of a forward pass: two for each parameter."),
            ),
        ),
    )


def _series(parameters: dict, flops: dict) -> tuple:
    return ("p", parameters), ("f", flops)
