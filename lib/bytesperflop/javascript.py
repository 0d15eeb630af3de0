"""A SymPy expression as a JavaScript function: the page computes what was proven."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp
from sympy.printing.jscode import JavascriptCodePrinter
from sympy.printing.pycode import PythonCodePrinter

# What both JavaScript and Python's ``math`` compute from numbers, and nothing else.
_PRINTABLE = (
    sp.Add,
    sp.Mul,
    sp.Pow,
    sp.Max,
    sp.Min,
    sp.Symbol,
    sp.Rational,
    sp.Float,
    sp.exp,
    sp.log,
    sp.floor,
    sp.ceiling,
)


class _Renamed:
    """Prints the symbols by the names that they are given: a0, a1, …"""

    names: dict[sp.Symbol, str]

    def _print_Symbol(self, expr: sp.Symbol) -> str:
        return self.names[expr]


class _JavaScript(_Renamed, JavascriptCodePrinter):
    pass


class _Python(_Renamed, PythonCodePrinter):
    pass


def javascript(expression: Any, arguments: Sequence[sp.Symbol]) -> str:
    """The source of a JavaScript function of ``arguments``, in that order.

    They are renamed a0, a1, …, so that no symbol's name can clash with the language.

    Raises:
        ValueError: an unbound symbol, an argument named twice, or a function that JavaScript
            does not have, by name.

    Example:
        >>> from bytesperflop.symbols import B, F, T, b
        >>> javascript(b * F / (3 * B * T), [b, F, B, T])
        '(a0,a1,a2,a3)=>(1/3)*a0*a1/(a2*a3)'
    """
    names, body = _printed(_JavaScript, expression, arguments)
    return f"({','.join(names)})=>{body}"


def python(expression: Any, arguments: Sequence[sp.Symbol]) -> Callable[..., float]:
    """The same function for Python's numbers, printed from the same expression.

    Raises:
        ValueError: as :func:`javascript`: what has no JavaScript has no widget.

    Example:
        >>> from bytesperflop.symbols import B, F, T, b
        >>> round(python(b * F / (3 * B * T), [b, F, B, T])(2, 4e14, 5e10, 8192), 3)
        0.651
    """
    names, body = _printed(_Python, expression, arguments)
    return eval(f"lambda {','.join(names)}: {body}", {"math": math})


def _printed(kind: type, expression: Any, arguments: Sequence[sp.Symbol]) -> tuple[list[str], str]:
    expression = sp.sympify(expression)
    if len(set(arguments)) < len(arguments):
        raise ValueError(f"arguments = {tuple(arguments)}: must differ")
    if unbound := expression.free_symbols - set(arguments):
        raise ValueError(f"{expression}: unbound symbols {', '.join(sorted(map(str, unbound)))}")
    for part in sp.preorder_traversal(expression):
        if not isinstance(part, _PRINTABLE):
            raise ValueError(f"{type(part).__name__}: has no JavaScript ({part})")
    names = [f"a{place}" for place in range(len(arguments))]
    printer = kind({"strict": True})
    printer.names = dict(zip(arguments, names, strict=True))
    return names, printer.doprint(expression)
