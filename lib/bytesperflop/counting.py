"""Parameters and FLOPs of a decoder-only transformer: the page's rule, and what it leaves out.

A count is a pure number. A multiplication of an (m, k) by a (k, n) array is 2mkn FLOPs;
only multiplications by arrays are counted. Everything here is a closed form, numbers or
symbols in and the same out; `bytesperflop.counting_simulation` counts again without them.
"""

from typing import Any

import sympy as sp

from bytesperflop.checks import positive, whole


def _divided(numerator: str, denominator: str, **values: Any) -> Any:
    """The quotient of two named counts; for whole numbers it must be whole."""
    n, d = values[numerator], values[denominator]
    if isinstance(n, sp.Basic) or isinstance(d, sp.Basic):
        return sp.sympify(n) / d
    if n % d:
        raise ValueError(f"{denominator} = {d}: must divide {numerator} = {n}")
    return n // d


def attention_parameters(d, a=1, g=None, head_size=None) -> dict[str, Any]:
    """Parameters of one layer's attention matrices: 2d² for Q and O, 2d²·g/a for K and V.

    ``d`` width, ``a`` query heads, ``g`` key-value heads (default ``a``: then 4d²),
    ``head_size`` (default d/a). Grouping shrinks K and V; Q and O keep their size.

    Raises:
        ValueError: a count is not whole and positive, ``a`` does not divide ``d``, or
            ``g`` does not divide ``a``.

    Source: Ainslie et al. 2023, arXiv:2305.13245, for grouped queries.

    Example:
        >>> from bytesperflop.symbols import a, d, g
        >>> sum(attention_parameters(d).values())
        4*d**2
        >>> sp.expand(sum(attention_parameters(d, a, g).values()))
        2*d**2 + 2*g*d**2/a
    """
    g = a if g is None else g
    whole(d=d, a=a, g=g)
    _divided("a", "g", a=a, g=g)
    if head_size is None:
        head_size = _divided("d", "a", d=d, a=a)
    whole(head_size=head_size)
    query, key = d * a * head_size, d * g * head_size
    return {"query": query, "key": key, "value": key, "output": query}


def mlp_parameters(d, d_ff=None, gated=False) -> dict[str, Any]:
    """Parameters of one layer's MLP matrices: 2·d·d_ff, or 3·d·d_ff where it is gated.

    ``d_ff`` is the MLP width (default 4d: then 8d², or 12d² gated).

    Raises:
        ValueError: a count is not whole and positive.

    Source: Shazeer 2020, arXiv:2002.05202, for the gated form.

    Example:
        >>> from bytesperflop.symbols import d
        >>> sum(mlp_parameters(d).values())
        8*d**2
        >>> sum(mlp_parameters(d, sp.Rational(8, 3) * d, gated=True).values())
        8*d**2
    """
    d_ff = 4 * d if d_ff is None else d_ff
    whole(d=d, d_ff=d_ff)
    matrices = ("up", "gate", "down") if gated else ("up", "down")
    return {name: d * d_ff for name in matrices}


def layer_parameters(d, a=1, g=None, d_ff=None, gated=False, head_size=None) -> dict[str, Any]:
    """Parameters of every matrix of one layer, by name; by default they add up to 12d².

    Raises:
        ValueError: as :func:`attention_parameters` and :func:`mlp_parameters`.

    Example:
        >>> from bytesperflop.symbols import d
        >>> sum(layer_parameters(d).values())
        12*d**2
    """
    return attention_parameters(d, a, g, head_size) | mlp_parameters(d, d_ff, gated)


def parameters_rule(L, d):
    """The page's rule for the parameters of a model: N = 12·L·d².

    Raises:
        ValueError: ``L`` or ``d`` is not whole and positive.

    Example:
        >>> parameters_rule(96, 12288)
        173946175488
    """
    whole(L=L, d=d)
    return 12 * L * d**2


def model_parameters(model) -> dict[str, Any]:
    """Parameters of a whole model, itemised; their sum is its exact count.

    ``model`` has the fields of :class:`bytesperflop.catalog.Model`. The head is 0 where it
    is the embedding again (tied).

    Example:
        >>> from bytesperflop.catalog import model
        >>> items = model_parameters(model("BLOOM-176B"))
        >>> sum(items.values())
        176247271424
        >>> items["embedding"]
        3596615680
    """
    d, L = model.width, model.layers
    attention = attention_parameters(d, model.heads, model.kv_heads, model.head_size)
    mlp = mlp_parameters(d, model.mlp_width, model.gated)
    outputs = sum(attention.values()) // d + model.mlp_width * (len(mlp) - 1) + d
    norms = L * model.norms_per_layer + model.norms_outside
    return {
        "attention": L * sum(attention.values()),
        "mlp": L * sum(mlp.values()),
        "biases": L * outputs if model.biases else 0,
        "norms": norms * model.vectors_per_norm * d,
        "embedding": model.vocabulary * d,
        "positions": model.positions * d,
        "head": 0 if model.tied else model.vocabulary * d,
    }


def rule_error(model):
    """Relative error of 12Ld² for a model: (12Ld² − N)/N, N its exact count.

    Example:
        >>> from bytesperflop.catalog import model
        >>> round(float(rule_error(model("GPT-3 175B"))), 4)
        -0.0038
    """
    exact = sum(model_parameters(model).values())
    return sp.Rational(parameters_rule(model.layers, model.width) - exact, exact)


def forward_flops(N):
    """FLOPs of the forward pass per token: 2N, a multiplication and an addition a parameter.

    Raises:
        ValueError: ``N`` is not a finite number above 0.

    Example:
        >>> forward_flops(10**9)
        2000000000
    """
    positive(N=N)
    return 2 * N


def backward_flops(N):
    """FLOPs of the backward pass per token: 4N, 2N for each matrix's two gradients.

    Raises:
        ValueError: ``N`` is not a finite number above 0.

    Example:
        >>> backward_flops(10**9)
        4000000000
    """
    positive(N=N)
    return 4 * N


def training_flops(N, recompute=False):
    """FLOPs of training per token: 6N; 8N hardware FLOPs where the forward pass runs twice.

    Raises:
        ValueError: ``N`` is not a finite number above 0.

    Example:
        >>> from bytesperflop.symbols import N
        >>> training_flops(N), training_flops(N, recompute=True)
        (6*N, 8*N)
    """
    return forward_flops(N) * (2 if recompute else 1) + backward_flops(N)


def score_flops(s, d, causal=False):
    """Training FLOPs of attention scores and values per token and layer: 12·s·d.

    Two products of 2·s·d forward, four backward; ``causal`` halves them, for a kernel that
    skips the masked half (exactly (s + 1)/(2s) of them; the rule drops the 1).

    Raises:
        ValueError: ``s`` or ``d`` is not whole and positive.

    Source: Narayanan et al. 2021, arXiv:2104.04473, appendix.

    Example:
        >>> from bytesperflop.symbols import d, s
        >>> score_flops(s, d), score_flops(s, d, causal=True)
        (12*d*s, 6*d*s)
    """
    whole(s=s, d=d)
    return (6 if causal else 12) * s * d


def score_factor(s, d, causal=False):
    """What scores multiply a layer's 72d² by: 1 + s/(6d); 1 + s/(12d) where causal work is skipped.

    Raises:
        ValueError: ``s`` or ``d`` is not whole and positive.

    Example:
        >>> from bytesperflop.symbols import d, s
        >>> score_factor(s, d), score_factor(s, d, causal=True)
        (1 + s/(6*d), 1 + s/(12*d))
    """
    return 1 + sp.sympify(score_flops(s, d, causal)) / training_flops(parameters_rule(1, d))


def head_flops(d, V):
    """Training FLOPs of the output head per token: 6·d·V.

    Raises:
        ValueError: ``d`` or ``V`` is not whole and positive.

    Example:
        >>> head_flops(12288, 50257)
        3705348096
    """
    whole(d=d, V=V)
    return training_flops(d * V)


def embedding_rule(N, d, V, tied, positions=0):
    """Training FLOPs per token from the whole parameter count N, scores apart.

    A look-up is no multiplication: 6(N − V·d) where head and embedding are two arrays,
    6N where they are one (it multiplies as the head); learned positions never count.
    Biases and norms, 10⁻⁴ of a large N, pass as if they multiplied.

    Raises:
        ValueError: a count is not whole, or nothing is left to multiply.

    Example:
        >>> from bytesperflop.symbols import N, V, d
        >>> embedding_rule(N, d, V, tied=True), embedding_rule(N, d, V, tied=False)
        (6*N, 6*N - 6*d*V)
    """
    whole(N=N, d=d, V=V)
    whole(at_least=0, positions=positions)
    looked_up = positions * d + (0 if tied else V * d)
    positive(**{"N less what is looked up": N - looked_up})
    return training_flops(N) - 6 * looked_up


def model_flops(model, s=None, causal=False, recompute=False) -> dict[str, Any]:
    """Training FLOPs of a model per token, itemised: matrices, scores, head, look-up (none).

    ``s`` is the sequence length (default: the model's). With ``recompute`` each layer's
    forward pass runs twice (hardware FLOPs); the head's does not.

    Example:
        >>> from bytesperflop.catalog import model
        >>> flops = model_flops(model("Llama 3 8B"))
        >>> flops["embedding"], flops["head"] == 6 * 4096 * 128256
        (0, True)
    """
    s = model.sequence if s is None else s
    L, parameters = model.layers, model_parameters(model)
    scores = L * score_flops(s, model.heads * model.head_size, causal)
    return {
        "matrices": training_flops(parameters["attention"] + parameters["mlp"], recompute),
        "scores": scores * 4 // 3 if recompute else scores,
        "head": head_flops(model.width, model.vocabulary),
        "embedding": 0,
    }


def utilisation(flops_per_token, tokens_per_second, peak_flops):
    """Share of the peak rate: FLOPs per token × tokens per second and device / peak (FLOP/s).

    With useful FLOPs this is MFU, with hardware FLOPs (recomputation counted) HFU. The peak
    is the dense one: against the sparse peak, twice as high, MFU looks halved.

    Raises:
        ValueError: an argument is not a finite number above 0.

    Source: Chowdhery et al. 2022, arXiv:2204.02311, appendix B.

    Example:
        >>> round(utilisation(6 * 10**9, 50_000, 989 * 10**12), 4)
        0.3033
    """
    positive(
        flops_per_token=flops_per_token, tokens_per_second=tokens_per_second, peak_flops=peak_flops
    )
    return flops_per_token * tokens_per_second / peak_flops
