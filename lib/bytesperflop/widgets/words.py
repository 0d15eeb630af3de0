"""A book sentence with simple mathematics as HTML that needs no typesetter.

Widgets run where MathJax is not: their words use this small part of TeX and no more.
"""

import re
from html import escape

GREEK = {"alpha": "α", "tau": "τ", "delta": "δ", "lambda": "λ"}
_PART = re.compile(
    r"\\(?P<command>[a-z]+)|(?P<script>[_^])(?:\{(?P<group>\w+)\}|(?P<one>\w))"
    r"|(?P<letter>[A-Za-z])|(?P<sign>[-+*/()=<>.,\d ≥≤−·])"
)


def formula(tex: str) -> str:
    r"""Inline TeX as HTML: letters, Greek, one level of indices and powers, signs.

    Raises:
        ValueError: a command or sign that is not among these, by name.

    Example:
        >>> formula(r"2N(p_d-1)/p_d")
        '2<i>N</i>(<i>p</i><sub>d</sub>−1)/<i>p</i><sub>d</sub>'
    """
    made, place = [], 0
    while place < len(tex):
        part = _PART.match(tex, place)
        if not part:
            raise ValueError(f"{tex!r}: {tex[place]!r} has no plain form")
        made.append(_html(part, tex))
        place = part.end()
    return "".join(made)


def _html(part: re.Match, tex: str) -> str:
    if name := part["command"]:
        if name not in GREEK:
            raise ValueError(f"{tex!r}: \\{name} has no plain form")
        return f"<i>{GREEK[name]}</i>"
    if part["script"]:
        tag = "sub" if part["script"] == "_" else "sup"
        return f"<{tag}>{part['group'] or part['one']}</{tag}>"
    if part["letter"]:
        return f"<i>{part['letter']}</i>"
    return escape(part["sign"].replace("-", "−"))


def html(text: str) -> str:
    """A sentence, its ``$…$`` turned into HTML; tags outside the mathematics stay.

    Raises:
        ValueError: mathematics that has no plain form, or a ``$`` without its partner.

    Example:
        >>> html("every message costs $\\\\alpha$ on top")
        'every message costs <i>α</i> on top'
    """
    parts = text.split("$")
    if len(parts) % 2 == 0:
        raise ValueError(f"{text!r}: a $ without its partner")
    return "".join(formula(part) if i % 2 else part for i, part in enumerate(parts))


def symbol(name: str) -> str:
    """A symbol's name as HTML.

    Example:
        >>> symbol("p_d"), symbol("alpha")
        ('<i>p</i><sub>d</sub>', '<i>α</i>')
    """
    head, _, index = name.partition("_")
    return f"<i>{GREEK.get(head, head)}</i>" + (f"<sub>{index}</sub>" if index else "")
