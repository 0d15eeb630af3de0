"""What is shown: well-formed, balanced, and struck out exactly where both lists have a factor."""

import re
import sys
import types
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bytesperflop.assumptions import BANDWIDTH_BOUND, WHOLE_LAYER
from bytesperflop.decision import Step, Verdict
from bytesperflop.induction import induct
from bytesperflop.proof import Derivation, Quotient
from bytesperflop.propositions import BUBBLE, DATA, OVERHEAD, PROPOSITIONS, TENSOR
from bytesperflop.rendering import Shown, Table, prose
from bytesperflop.symbols import B, F, L, N, T, b, d, m, p, p_d, tau

i = sp.Symbol("i", integer=True, nonnegative=True)


def shown():
    yield from (x.proof() for x in PROPOSITIONS.values())
    yield DATA.without(BANDWIDTH_BOUND)
    yield TENSOR.without(WHOLE_LAYER)
    yield induct("sum", i * (i + 1) / 2, lambda C, n: C(n - 1) + n if n != 0 else 0, [i])
    yield Derivation("share < 1 & more", (p_d - 1) / p_d, opening="a < b & $p_d < P$").tends_to(
        sp.Integer(1), "many", p_d, bound=1
    )
    yield Derivation("given", m / p, given=[sp.Le(m, p)]).at_most(sp.Integer(1), "given")


SHOWN = list(shown())


def label(thing):
    return thing.name


def tree(markup):
    return ElementTree.fromstring(markup)


def text(element):
    return "".join(element.itertext())


def balanced(tex):
    depth = 0
    for mark in re.sub(r"\\[{}]", "", tex):
        depth += {"{": 1, "}": -1}.get(mark, 0)
        assert depth >= 0, tex
    assert depth == 0, tex
    assert tex.count(r"\left(") == tex.count(r"\right)"), tex
    assert len(re.findall(r"\\left\b", tex)) == len(re.findall(r"\\right\b", tex)), tex
    assert re.findall(r"\\begin\{(\w+)\}", tex) == re.findall(r"\\end\{(\w+)\}", tex)[::-1], tex


def struck(tex):
    return re.findall(r"\\cancel\{(.*?)\}(?= |\}|$)", tex)


# What cancels is seen to cancel


@pytest.mark.parametrize(
    ("proposition", "letters"),
    [(DATA, ["N"]), (TENSOR, ["L", "T"]), (OVERHEAD, [r"\tau"]), (BUBBLE, [])],
    ids=["data", "tensor", "overhead", "bubble"],
)
def test_the_page_s_symbols_are_struck_out(proposition, letters):
    proof = proposition.proof()
    quotients = [side for _, side, *_ in proof._rows() if isinstance(side, Quotient)]
    found = {x for side in quotients for x in struck(side.latex())}
    assert set(letters) <= found
    for letter in letters:
        assert rf"\cancel{{{letter}}}" in proof.to_html()
        assert rf"\cancel{{{letter}}}" in proof.to_latex()


def test_each_shared_factor_is_struck_once_above_and_once_below():
    tex = Quotient([4, L, 2, T, d, b, 1 / B], [6, 12, L, d**2, T, 1 / F]).latex()
    above, below = re.fullmatch(r"\\frac\{(.*)\}\{(.*)\}", tex).groups()
    assert struck(above) == ["L", "T", "d"]
    assert struck(below) == ["L", "d", "T"]
    assert below == r"6 \cdot 12 \cancel{L} \cancel{d} d \cancel{T} / F"  # of d·d, one is left


def test_strikes_are_read_off_the_lists():
    before = Quotient(2 * N * b / B, 6 * N * T / F)
    assert before.shared == (N,)
    after = before.replace(1, L)  # no N above any more
    assert after.shared == ()
    assert "cancel" not in after.latex()
    assert "cancel" not in Quotient([2, b], [2, T]).latex()  # numbers are not struck
    assert Quotient([N, N], [N]).latex() == r"\frac{\cancel{N} N}{\cancel{N}}"
    assert Quotient([1 / B], [1 / B, T]).latex() == r"\frac{1 / \cancel{B}}{T / \cancel{B}}"
    assert Quotient([p - 1, T], [p - 1]).latex() == (
        r"\frac{\cancel{\left(p - 1\right)} T}{\cancel{p - 1}}"
    )


LETTERS = st.lists(st.sampled_from([b, F, B, N, T, tau, 1 / B, 1 / F, p - 1]), max_size=5)


@given(LETTERS, LETTERS, st.integers(2, 9), st.integers(2, 9))
@settings(deadline=None)
def test_as_many_strikes_above_as_below_for_any_lists(above, below, one, two):
    quotient = Quotient([one, *above], [two, *below])
    common = sum(min(above.count(x), below.count(x)) for x in set(above))
    tex = quotient.latex()
    assert tex.count(r"\cancel") == 2 * common
    balanced(tex)
    assert set(quotient.shared) == {x for x in above if x in below}


def test_quotients_show_every_factor_in_plain_text():
    quotient = Quotient([2, N, p - 1], [6, T])
    assert str(quotient) == "[2 * N * (p - 1)] / [6 * T]"
    assert Quotient([1], [T, B]).latex() == r"\frac{1}{T B}"
    assert Quotient([2, 3, N], [T]).latex() == r"\frac{2 \cdot 3 N}{T}"


# Well-formed in every medium


@pytest.mark.parametrize("thing", SHOWN, ids=label)
def test_html_is_well_formed_and_has_a_row_for_each_line(thing):
    page = tree(thing.to_html())
    rows = page.findall(".//tr")
    assert len(rows) == len(thing._rows())
    for row, (relation, _, reason, verdicts) in zip(rows, thing._rows(), strict=True):
        cells = row.findall("td")
        assert [c.get("class") for c in cells] == [
            "bpf-rel",
            "bpf-formula",
            "bpf-reason",
            "bpf-engines",
        ]
        assert bool(text(cells[0])) == bool(relation)
        assert re.fullmatch(r"\\\(\\displaystyle .*\\\)", text(cells[1]))
        balanced(text(cells[1]))
        assert "$" not in text(cells[2])
        assert all(words in text(cells[2]) for words in re.split(r"\$.*?\$", reason))
        assert [text(x).split()[0] for x in cells[3]] == [v.engine for v in verdicts]
        assert all("✓" in text(x) for x in cells[3])
    assert page.find("table").get("aria-label") == f"Proof: {thing.name}"
    assert "mathjax_process" in page.get("class")


@pytest.mark.parametrize("thing", SHOWN, ids=label)
def test_latex_is_balanced_and_aligned(thing):
    tex = thing.to_latex()
    balanced(tex)
    assert tex.startswith("$\\begin{aligned}")
    assert tex.endswith("\\end{aligned}$")
    lines = tex.split(r"\\[4pt]")
    assert len(lines) == len(thing._rows())
    for line in lines:
        assert len(re.findall(r"(?<!\\)&", re.sub(r"\\text\{.*\}", "", line))) == 3


@pytest.mark.parametrize("thing", SHOWN, ids=label)
def test_plain_text_has_every_step_its_reason_and_its_engines(thing):
    plain = str(thing)
    lines = plain.splitlines()
    assert lines[0] == f"{thing.name}:"
    for line, (relation, side, reason, verdicts) in zip(lines[1:], thing._rows(), strict=False):
        assert line.startswith(f"  {relation or ' '} {side}")
        assert reason in line
        assert ("(SymPy, Z3)" in line) == bool(verdicts)
        assert "[ " not in line
    for code in ("\\cancel", "<td", "\\("):
        assert code not in plain


@pytest.mark.parametrize("thing", SHOWN, ids=label)
def test_jupyter_gets_all_three_and_colab_no_html(thing, monkeypatch):
    bundle = thing._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/latex", "text/html"}
    assert bundle["text/plain"] == str(thing)
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    assert set(thing._repr_mimebundle_()) == {"text/plain", "text/latex"}


def test_markup_in_words_is_escaped():
    wild = '<script>alert("x & y")</script>'
    proof = Derivation(wild, N, opening=wild).equals(N * T / T, wild)
    page = proof.to_html()
    tree(page)
    assert "<script" not in page
    parser = HTMLParser()
    parser.feed(page)
    assert "x &amp; y" in page
    assert prose("$a < b$ & c") == r"\(a &lt; b\) &amp; c"


def test_hypotheses_and_limits_are_shown():
    bounded, limit = SHOWN[-1], SHOWN[-2]
    for medium in (str(bounded), bounded.to_html(), bounded.to_latex()):
        assert r"m \leq p" in medium
    for medium in (str(limit), limit.to_html(), limit.to_latex()):
        assert r"p_{d} \to \infty" in medium


def test_the_last_line_says_what_has_gone():
    assert "∎ N has cancelled." in str(DATA.proof())
    assert r"∎ \(L\) and \(T\) have cancelled." in TENSOR.proof().to_html()
    open_chain = Derivation("open", N).equals(N, "the same")
    assert "∎" not in str(open_chain)
    assert "bpf-footer" not in open_chain.to_html()
    limit = Derivation("l", N / p_d).tends_to(sp.Integer(0), "many", p_d, bound=N)
    assert "p_{d} has dropped out" in str(limit.concludes(free_of=[p_d]))


def test_an_engine_that_did_not_run_is_named_everywhere():
    class One(Shown):
        name = "one"

        def _rows(self):
            verdicts = (Verdict("SymPy", True, "yes"), Verdict("Z3", None, "not here", None, False))
            step = Step("=", N, N, "the same", lambda *_: [], verdicts)
            return [(step.relation, step.right, step.reason, step.verdicts)]

    one = One()
    assert "the same (SymPy, Z3 did not run)" in str(one)
    assert "Z3 did not run" in one.to_latex()
    page = tree(one.to_html())
    badges = page.findall(".//td[@class='bpf-engines']/span")
    assert [x.get("class") for x in badges] == ["bpf-engine bpf-yes", "bpf-engine bpf-absent"]
    assert [text(x) for x in badges] == ["SymPy ✓", "Z3 — did not run"]
    assert badges[1].get("title") == "not here"


# Tables


def test_tables_in_every_medium():
    table = Table(("what", "how < much"), [("$N$", "1 & 2"), ("b", "3")], "a table")
    page = tree(table.to_html())
    assert [text(x) for x in page.findall(".//thead//th")] == ["what", "how < much"]
    assert [text(x) for x in page.findall(".//tbody//th")] == [r"\(N\)", "b"]
    assert [text(x) for x in page.findall(".//td")] == ["1 & 2", "3"]
    assert table.to_markdown().splitlines()[1:3] == ["| --- | --- |", "| $N$ | 1 & 2 |"]
    assert str(table).splitlines()[0].split("  ")[0] == "what"
    assert set(table._repr_mimebundle_()) == {"text/plain", "text/markdown", "text/html"}


@pytest.mark.parametrize("proposition", PROPOSITIONS.values(), ids=lambda x: x.id)
def test_assumptions_are_tabled_with_their_numbers(proposition):
    table = proposition.table()
    assert len(table.rows) == len(proposition.assumptions)
    for number, (row, assumption) in enumerate(
        zip(table.rows, proposition.assumptions, strict=True), 1
    ):
        assert row == (f"{number}. {assumption.name}", assumption.says, assumption.otherwise)
    tree(table.to_html())
