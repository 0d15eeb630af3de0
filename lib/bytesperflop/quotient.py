"""A ratio that keeps its factors apart, so that what cancels can be seen to cancel."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp


def _expression(factor) -> sp.Expr:
    if not isinstance(factor, (int, sp.Expr)):
        raise ValueError(f"{factor!r} is not a SymPy expression")
    return sp.sympify(factor)


def factors(product: "sp.Expr | Sequence[sp.Expr]") -> tuple[sp.Expr, ...]:
    """The factors of a product in display order, whole powers written out."""
    listed = isinstance(product, (list, tuple))
    given = map(_expression, product) if listed else _expression(product).as_ordered_factors()
    flat: list[sp.Expr] = []
    for factor in given:
        base, exponent = factor.as_base_exp()
        repeat = int(exponent) if exponent.is_Integer and exponent > 1 and not base.is_number else 0
        flat += [base] * repeat if repeat else [factor]
    return tuple(flat)


@dataclass(frozen=True, init=False)
class Quotient:
    """``numerator / denominator`` as two lists of factors; SymPy would cancel them at once.

    Example:
        >>> from bytesperflop.symbols import B, F, N, T, b
        >>> ratio = Quotient(2 * N * b / B, 6 * N * T / F)
        >>> ratio.expr, ratio.shared
        (b*F/(3*B*T), (N,))
        >>> print(ratio.latex())
        \\frac{2 \\cancel{N} b / B}{6 \\cancel{N} T / F}
    """

    numerator: tuple[sp.Expr, ...]
    denominator: tuple[sp.Expr, ...]

    def __init__(self, numerator, denominator):
        object.__setattr__(self, "numerator", factors(numerator))
        object.__setattr__(self, "denominator", factors(denominator))

    @property
    def expr(self) -> sp.Expr:
        """The value as one SymPy expression, cancelled."""
        return sp.Mul(*self.numerator) / sp.Mul(*self.denominator)

    @property
    def shared(self) -> tuple[sp.Expr, ...]:
        """The factors, numbers apart, that stand both above and below."""
        common = Counter(self.numerator) & Counter(self.denominator)
        return tuple(f for f in dict.fromkeys(self.numerator) if f in common and not f.is_number)

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """The symbols as written, cancelled ones included."""
        return set().union(*(f.free_symbols for f in self.numerator + self.denominator))

    def replace(self, position: int, factor: sp.Expr) -> "Quotient":
        """The same ratio with the factor at ``position`` (numerator first) exchanged."""
        every = list(self.numerator + self.denominator)
        every[position] = factor
        cut = len(self.numerator)
        return Quotient(tuple(every[:cut]), tuple(every[cut:]))

    def latex(self) -> str:
        """TeX of the fraction, each shared factor struck out once above and once below."""
        common = Counter(self.numerator) & Counter(self.denominator)
        above, below = (
            _product(side, Counter(common)) for side in (self.numerator, self.denominator)
        )
        return rf"\frac{{{above}}}{{{below}}}"

    def __str__(self) -> str:
        return f"[{_plain(self.numerator)}] / [{_plain(self.denominator)}]"


def _product(side: tuple[sp.Expr, ...], strike: Counter) -> str:
    up: list[str] = []
    down: list[str] = []
    for factor in side:
        base, exponent = factor.as_base_exp()
        inverse = exponent == -1 and not base.is_number
        shown = base if inverse else factor
        text = sp.latex(shown)
        if shown.is_Add and len(side) > 1:
            text = rf"\left({text}\right)"
        if strike[factor] and not factor.is_number:
            strike[factor] -= 1
            text = rf"\cancel{{{text}}}"
        if inverse:
            down.append(text)
        else:
            up.append(rf"\cdot {text}" if shown.is_number and up else text)
    head = " ".join(up) or "1"
    return (
        f"{head} / {' '.join(down)}"
        if len(down) == 1
        else head
        if not down
        else (rf"{head} / \left({' '.join(down)}\right)")
    )


def _plain(side: tuple[sp.Expr, ...]) -> str:
    return " * ".join(f"({f})" if f.is_Add and len(side) > 1 else str(f) for f in side)
