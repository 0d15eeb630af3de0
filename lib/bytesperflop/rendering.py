"""How a derivation is shown: HTML for the site and Jupyter, TeX, and plain text."""

import html
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from .quotient import Quotient

RELATION_TEX = {"=": "=", "≤": r"\le", "≥": r"\ge", "→": r"\to"}


def tex(side: "sp.Expr | Quotient") -> str:
    """TeX of a side, with what cancels struck out."""
    return side.latex() if isinstance(side, Quotient) else sp.latex(side)


def prose(text: str) -> str:
    """HTML of a reason or statement, ``$...$`` handed to MathJax."""
    return re.sub(r"\$(.+?)\$", r"\\(\1\\)", html.escape(text, quote=False))


class Shown:
    """Mixin: anything with ``_rows()`` and ``_footer()`` shows itself in every medium.

    A row is (relation, side, reason, verdicts); the first has no relation.
    """

    name: str

    def _rows(self) -> list[tuple[str, Any, str, tuple]]:
        raise TypeError(f"{type(self).__name__} has no rows to show")

    def _footer(self) -> str:
        return ""

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return _bundle(str(self), self.to_html(), latex=self.to_latex())

    def to_html(self) -> str:
        """A table: relation, formula, reason, and the engines that decided the row."""
        body = "".join(
            f'<tr><td class="bpf-rel">{_math(RELATION_TEX.get(relation, ""))}</td>'
            f'<td class="bpf-formula">{_math(chr(92) + "displaystyle " + tex(side))}</td>'
            f'<td class="bpf-reason">{prose(reason)}</td>'
            f'<td class="bpf-engines">{_badges(verdicts)}</td></tr>'
            for relation, side, reason, verdicts in self._rows()
        )
        foot = f'<p class="bpf-footer">{prose(self._footer())}</p>' if self._footer() else ""
        label = html.escape(self.name)
        return (
            '<div class="bpf-proof mathjax_process tex2jax_process">'
            f'<table aria-label="Proof: {label}"><tbody>{body}</tbody></table>{foot}</div>'
        )

    def to_latex(self) -> str:
        """One aligned TeX display, reasons at the right."""
        lines = [
            rf"{RELATION_TEX.get(mark, '')} & {tex(side)} && \text{{{_reason(reason, verdicts)}}}"
            for mark, side, reason, verdicts in self._rows()
        ]
        return "$\\begin{aligned}" + r"\\[4pt]".join(lines) + "\\end{aligned}$"

    def __str__(self) -> str:
        lines = [f"{self.name}:"]
        for relation, side, reason, verdicts in self._rows():
            note = _reason(reason, verdicts)
            lines.append(f"  {relation or ' '} {side}" + (f"    [{note}]" if note else ""))
        return "\n".join([*lines, *([self._footer().replace("$", "")] if self._footer() else [])])


@dataclass(frozen=True)
class Table:
    """Rows under heads, cells in prose with ``$...$``, numbers already written out."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    label: str

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return _bundle(str(self), self.to_html(), markdown=self.to_markdown())

    def to_html(self) -> str:
        """A table that scrolls in its own box; the first cell of a row is its head."""
        head = "".join(f'<th scope="col">{prose(x)}</th>' for x in self.heads)
        body = "".join(
            f'<tr><th scope="row">{prose(first)}</th>'
            + "".join(f"<td>{prose(cell)}</td>" for cell in rest)
            + "</tr>"
            for first, *rest in self.rows
        )
        return (
            '<div class="bpf-table mathjax_process tex2jax_process">'
            f'<table class="table" aria-label="{html.escape(self.label)}">'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    def to_markdown(self) -> str:
        """The same as a Markdown table."""
        lines = [self.heads, ["---"] * len(self.heads), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.heads, *self.rows, strict=True)]
        lines = [self.heads, ["-" * width for width in widths], *self.rows]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )


def _bundle(plain: str, page: str, **others: str) -> dict[str, str]:
    bundle = {"text/plain": plain} | {f"text/{name}": text for name, text in others.items()}
    if "google.colab" not in sys.modules:  # Colab leaves TeX inside HTML as it is
        bundle["text/html"] = page
    return bundle


def _math(body: str) -> str:
    return f"\\({html.escape(body, quote=False)}\\)" if body.strip() else ""


def _badges(verdicts) -> str:
    return " ".join(
        f'<span class="bpf-engine {"bpf-yes" if v.holds else "bpf-absent"}" '
        f'title="{html.escape(v.how)}">'
        f"{v.engine} {'✓' if v.holds else '— did not run'}</span>"
        for v in verdicts
    )


def _reason(reason: str, verdicts) -> str:
    engines = ", ".join(v.engine if v.holds else f"{v.engine} did not run" for v in verdicts)
    return f"{reason} ({engines})".lstrip() if engines else reason
