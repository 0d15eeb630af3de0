"""Every symbol of the book, once: its meaning, its sign and its dimension.

A *count* (elements, tokens, FLOPs, devices) is a pure number; only bytes and
seconds have dimensions, kept as a pair of exponents ``(bytes, seconds)``.
"""

from dataclasses import dataclass

import sympy as sp

Dimension = tuple[sp.Rational, sp.Rational]

PURE: Dimension = (sp.Integer(0), sp.Integer(0))
BYTES: Dimension = (sp.Integer(1), sp.Integer(0))
SECONDS: Dimension = (sp.Integer(0), sp.Integer(1))
BYTES_PER_SECOND: Dimension = (sp.Integer(1), sp.Integer(-1))
PER_SECOND: Dimension = (sp.Integer(0), sp.Integer(-1))


@dataclass(frozen=True)
class Entry:
    """What the book knows of one symbol."""

    symbol: sp.Symbol
    meaning: str
    dimension: Dimension


TABLE: dict[sp.Symbol, Entry] = {}


class Letter(sp.Symbol):
    """A symbol that is printed in the order of this file: $bF/(3BT)$, not $Fb/(3BT)$."""

    def sort_key(self, order=None):
        """SymPy's key for printing, with the place in the table for the name."""
        place = list(TABLE).index(self) if self in TABLE else len(TABLE)
        return self.class_key(), (1, (f"{place:03d}{self.name}",)), sp.S.One.sort_key(), sp.S.One


def _define(name: str, meaning: str, dimension: Dimension = PURE, **sign: bool) -> sp.Symbol:
    symbol = Letter(name, **(sign or {"positive": True}))
    TABLE[symbol] = Entry(symbol, meaning, dimension)
    return symbol


def _count(name: str, meaning: str) -> sp.Symbol:
    return _define(name, meaning, positive=True, integer=True)


# The model
N = _count("N", "parameters")
L = _count("L", "layers")
d = _count("d", "width (hidden size)")
s = _count("s", "sequence length, tokens")
a = _count("a", "query heads")
g = _count("g", "key-value heads")
V = _count("V", "vocabulary")
d_ff = _count("d_ff", "MLP width")

# The hardware, and what is sent
b = _define("b", "bytes per communicated element", BYTES)
alpha = _define("alpha", "latency of one message", SECONDS, nonnegative=True)
F = _define("F", "achievable FLOP rate of one device", PER_SECOND)
B = _define("B", "achievable one-way send bandwidth of one device", BYTES_PER_SECOND)
B_t = _define("B_t", "the same, on the link of the tensor group", BYTES_PER_SECOND)
B_m = _define("B_m", "bandwidth of a device's own memory", BYTES_PER_SECOND)

# The job
T = _count("T", "tokens: per replica and step (data), in flight (tensor)")
T_g = _count("T_g", "tokens per step over all replicas")
u = _count("u", "tokens per microbatch")
n = _count("n", "elements of an array")
k = _count("k", "microbatches accumulated before one synchronisation")

# The split
P = _count("P", "devices")
p_d = _count("p_d", "data-parallel degree")
t = _count("t", "tensor-parallel degree")
p = _count("p", "pipeline-parallel degree (stages)")
m = _count("m", "microbatches per step")
v = _count("v", "model chunks per stage")
tau = _define("tau", "time of one microbatch on one stage, forward and backward", SECONDS)
delta = _define("delta", "extra time of the slowest stage, as a share of tau", nonnegative=True)
c = _define("c", "delay of one stage boundary", SECONDS, nonnegative=True)

# The optimum
k_d = _define("k_d", "overhead of one more replica")
k_t = _define("k_t", "overhead of one more device on a layer")
k_p = _define("k_p", "overhead of one more stage")
k_u = _define("k_u", "overhead of one more stage, microbatch size held")
lam = _define("lambda", "water level: what each axis in use costs")
q = _define("q", "devices that hold one replica, t p")
S_min = _define("S_min", "fewest steps to a target")
B_crit = _define("B_crit", "critical batch, tokens")


def dimension(expression: sp.Expr) -> Dimension:
    """Exponents of (byte, second) of an expression, read off its symbols.

    ``dimension(x*y) = dimension(x) + dimension(y)``; the terms of a sum must agree (0 does
    with any).

    Raises:
        ValueError: a symbol outside ``TABLE``, a sum of unlike terms, or a
            dimension in an exponent or a function's argument.

    Example:
        >>> dimension(b * F / (3 * B * T))
        (0, 0)
        >>> dimension(2 * N * b / B)
        (0, 1)
    """
    expression = sp.sympify(expression)
    if expression.is_number:
        return PURE
    if isinstance(expression, sp.Symbol):
        if expression not in TABLE:
            raise ValueError(f"symbol {expression}: not in the book's table of symbols")
        return TABLE[expression].dimension
    if isinstance(expression, sp.Pow):
        base, exponent = expression.args
        if dimension(exponent) != PURE:
            raise ValueError(f"exponent {exponent}: must be a pure number")
        inner = dimension(base)
        if inner == PURE:
            return PURE
        return (inner[0] * exponent, inner[1] * exponent)
    parts = [dimension(argument) for argument in expression.args if argument != 0]
    if isinstance(expression, sp.Mul):
        return (sum(part[0] for part in parts), sum(part[1] for part in parts))
    if any(part != parts[0] for part in parts):
        raise ValueError(f"{expression}: its terms have unlike dimensions {parts}")
    if isinstance(expression, (sp.Add, sp.Max, sp.Min)):
        return parts[0]
    if parts[0] != PURE:
        raise ValueError(f"{expression}: a function's argument must be a pure number")
    return PURE


def unit(expression: sp.Expr) -> str:
    """The unit of an expression, as :func:`dimension` finds it; a pure number's is 1.

    Raises:
        ValueError: as :func:`dimension`.

    Example:
        >>> unit(B), unit(F), unit(2 * N * b / B), unit(b * F / (3 * B * T))
        ('byte/s', '1/s', 's', '1')
    """
    powers = dict(zip(("byte", "s"), dimension(expression), strict=True))
    above, below = (
        " ".join(
            name if abs(power) == 1 else f"{name}^{abs(power)}"
            for name, power in powers.items()
            if power * sign > 0
        )
        for sign in (1, -1)
    )
    return (above or "1") + (f"/{below}" if below else "")
