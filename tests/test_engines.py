"""The two engines against numbers, against random identities, and against each other's failure."""

from fractions import Fraction

import pytest
import sympy as sp
import z3
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bytesperflop import decision, sympy_engine, z3_engine
from bytesperflop.decision import decide
from bytesperflop.induction import induct
from bytesperflop.proof import Derivation, ProofError, Quotient
from bytesperflop.symbols import B, F, N, T, alpha, b, m, p, p_d, tau

x, y, z = sp.symbols("x y z", positive=True)
r, w = sp.symbols("r w", real=True)
ZERO = sp.Integer(0)
few = settings(max_examples=40, deadline=None)

# Random identities. A polynomial is a dict {exponents: coefficient}, its arithmetic our own: what
# is equal and what is not is known before SymPy or Z3 is asked.

LETTERS = (b, F, N)
EXPONENTS = st.tuples(*[st.integers(0, 2)] * len(LETTERS))
COEFFICIENTS = st.fractions(-4, 4, max_denominator=3).filter(bool)
POLYNOMIALS = st.dictionaries(EXPONENTS, COEFFICIENTS, min_size=1, max_size=3)
SUMS = st.dictionaries(EXPONENTS, COEFFICIENTS.map(abs), min_size=1, max_size=2)


def term(exponents, coefficient):
    powers = [letter**e for letter, e in zip(LETTERS, exponents, strict=True)]
    return sp.Mul(sp.Rational(coefficient), *powers)


def written(polynomial):
    return sp.Add(*(term(*item) for item in polynomial.items()))


def times(one, two):
    result = {}
    for e, c in one.items():
        for f, g in two.items():
            key = tuple(i + j for i, j in zip(e, f, strict=True))
            result[key] = result.get(key, 0) + c * g
    return {e: c for e, c in result.items() if c}


def rewritings(top, bottom, factor):
    """The quotient of two polynomials, written in other ways."""
    above, below, both = written(top), written(bottom), written(factor)
    yield Quotient([both, above], [both, below])
    yield Quotient(written(times(top, factor)), written(times(bottom, factor)))
    yield sp.Add(*(term(e, c) / below for e, c in top.items()))
    yield sp.Add(*(Quotient(term(e, c), below).expr for e, c in top.items())) + both - both
    yield 1 / (below / (above + both)) - both / below
    yield sp.horner(sp.expand(above), wrt=N) / below


@given(POLYNOMIALS, SUMS, SUMS, st.integers(0, 5))
@few
def test_random_rewritings_are_accepted_by_both_engines(top, bottom, factor, which):
    left = Quotient(written(top), written(bottom))
    right = list(rewritings(top, bottom, factor))[which]
    assert [(v.engine, v.holds) for v in decide("=", left, right)] == [
        ("SymPy", True),
        ("Z3", True),
    ]


PERTURBATIONS = ("coefficient", "exponent", "sign", "symbol")


def perturbed(polynomial, kind, place):
    exponents = sorted(polynomial)[place % len(polynomial)]
    coefficient = polynomial[exponents]
    rest = {e: c for e, c in polynomial.items() if e != exponents}
    if kind == "coefficient":
        changed = (exponents, coefficient + Fraction(1, 7))
    elif kind == "sign":
        changed = (exponents, -coefficient)
    elif kind == "exponent":
        changed = ((exponents[0] + 1, *exponents[1:]), coefficient)
    else:
        changed = ((exponents[1], exponents[0], *exponents[2:]), coefficient)
    rest[changed[0]] = rest.get(changed[0], 0) + changed[1]
    return {e: c for e, c in rest.items() if c}


@given(POLYNOMIALS, SUMS, SUMS, st.integers(0, 5), st.sampled_from(PERTURBATIONS), st.integers(0))
@few
def test_random_slips_are_refused_by_both_engines(top, bottom, factor, which, kind, place):
    slipped = perturbed(top, kind, place)
    assume(slipped and slipped != top)
    left = Quotient(written(top), written(bottom))
    right = list(rewritings(slipped, bottom, factor))[which]
    verdicts = decide("=", left, right)
    assert [v.engine for v in verdicts] == ["SymPy", "Z3"]
    assert verdicts[0].holds is False
    assert verdicts[1].holds in (False, None)
    for verdict in verdicts:
        if verdict.holds is False:
            point = [Fraction(str(verdict.counterexample.get(s, 1))) for s in LETTERS]
            assert evaluate(top, point) != evaluate(slipped, point)
    raw = z3_engine.prove("=", left, right)
    assert raw[0] is False
    with pytest.raises(ProofError):
        Derivation("random", left).equals(right, "a slip")


def evaluate(polynomial, point):
    total = Fraction(0)
    for exponents, coefficient in polynomial.items():
        product = Fraction(coefficient)
        for base, exponent in zip(point, exponents, strict=True):
            product *= base**exponent
        total += product
    return total


@given(POLYNOMIALS, SUMS, st.integers(0, 2), st.fractions(0, 3, max_denominator=4))
@few
def test_random_bounds(top, bottom, which, slack):
    """f + slack ≥ f, and never f − slack ≥ f: as one fraction, shifted, or as a quotient."""
    above, below = written(top), written(bottom)
    left = [above / below, Quotient(above, below), above / below + T - T][which]
    extra = sp.Rational(slack)
    proven = decide("≤", left, above / below + extra)
    assert [v.holds for v in proven] == [True, True]
    if slack:
        assert [v.holds for v in decide("≤", left, above / below - extra)] == [False, False]


# The translation to Z3, by numbers

NUMBERS = st.fractions(Fraction(1, 8), 8, max_denominator=8)


@st.composite
def expressions(draw, depth=2):
    if depth == 0:
        leaf = draw(st.sampled_from([x, y, z, r, None]))
        return sp.Rational(draw(st.fractions(-3, 3, max_denominator=4))) if leaf is None else leaf
    one, two = draw(expressions(depth=depth - 1)), draw(expressions(depth=depth - 1))
    kinds = ["+", "-", "*", "max", "min", "square", "inverse"]
    if not any(power.exp.q > 1 for power in one.atoms(sp.Pow)):  # Z3 crawls on nested roots
        kinds += ["root", "over"]
    kind = draw(st.sampled_from(kinds))
    positive = 1 + one**2
    return {
        "+": one + two,
        "-": one - two,
        "*": one * two,
        "max": sp.Max(one, two),
        "min": sp.Min(one, two, r),
        "square": one**2,
        "inverse": positive**-2,
        "root": sp.root(positive, draw(st.sampled_from([2, 3]))),
        "over": two / sp.sqrt(positive) ** 3,
    }[kind]


def z3_value(side, point):
    """What Z3 makes of the translated side once the symbols are numbers."""
    translate = z3_engine.Translator()
    term = translate(side)
    solver = z3.Solver()
    solver.set("rlimit", z3_engine.RESOURCES)
    solver.add(*translate.conditions)
    for symbol, number in point.items():
        solver.add(translate.symbol(symbol) == translate.number(number))
    out = z3.Real("out")
    solver.add(out == term)
    assert solver.check() == z3.sat
    found = solver.model()[out]
    if isinstance(found, z3.AlgebraicNumRef):
        found = found.approx(25)
    solver.add(z3.Or(out < found - sp_small(), out > found + sp_small()))
    assert solver.check() == z3.unsat  # the translation has one value
    return Fraction(found.as_fraction())


def sp_small():
    return z3.RealVal("1/1000000000000000")


@given(expressions(), NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.booleans())
@few
def test_the_translation_has_sympy_s_value(side, one, two, three, four, below_zero):
    numbers = (one, two, three, -four if below_zero else four)
    point = {s: sp.Rational(v) for s, v in zip((x, y, z, r), numbers, strict=True)}
    expected = sp.N(side.subs(point), 40)
    got = z3_value(side, point)
    assert abs(sp.Rational(got) - expected) < sp.Float("1e-12") * (1 + abs(expected))


@given(st.lists(NUMBERS, min_size=3, max_size=3), st.permutations([x, y, z, x + y, 1 / z, x**3]))
@few
def test_a_quotient_is_translated_as_it_is_written(numbers, parts):
    point = {s: sp.Rational(v) for s, v in zip((x, y, z), numbers, strict=True)}
    above, below = parts[:3], parts[3:]
    exact = [sp.prod(f.subs(point) for f in side) for side in (above, below)]
    assert sp.Rational(z3_value(Quotient(above, below), point)) == exact[0] / exact[1]


@pytest.mark.parametrize(
    ("side", "point", "value"),
    [
        (sp.Max(x, y, 3), {x: 1, y: 2}, 3),
        (sp.Max(x, y, 3), {x: 5, y: 2}, 5),
        (sp.Min(x, y, 3), {x: 1, y: 2}, 1),
        (sp.Min(x, y, 3), {x: 4, y: 5}, 3),
        (x**-3, {x: 2}, Fraction(1, 8)),
        (x ** sp.Rational(-3, 2), {x: 4}, Fraction(1, 8)),
        (x ** sp.Rational(2, 3), {x: 8}, 4),
        (sp.sqrt(sp.sqrt(x)), {x: 16}, 2),
        (sp.sqrt(1 + sp.sqrt(x)), {x: 9}, 2),
        (1 / (1 + 1 / (1 + 1 / x)), {x: 1}, Fraction(2, 3)),
        (r - r**2, {r: -3}, -12),
        (sp.Rational(-22, 7) * x, {x: 7}, -22),
        (Quotient([2, x, sp.Max(x, y)], [4, y, 1 / x]), {x: 2, y: 1}, 4),
    ],
    ids=str,
)
def test_translated_values_worked_by_hand(side, point, value):
    assert z3_value(side, {s: sp.Integer(n) for s, n in point.items()}) == value


def test_symbols_keep_their_signs_in_translation():
    for symbol, allowed, forbidden in [
        (N, 1, Fraction(1, 2)),
        (x, Fraction(1, 9), 0),
        (alpha, 0, Fraction(-1, 9)),
    ]:
        translate = z3_engine.Translator()
        term = translate(symbol)
        for number, expected in [(allowed, z3.sat), (forbidden, z3.unsat)]:
            solver = z3.Solver()
            solver.add(*translate.conditions, term == z3.RealVal(str(number)))
            assert solver.check() == expected


@pytest.mark.parametrize("base", [r, r - 3, x - y, 1 - x, sp.Max(r, -1)], ids=str)
def test_the_root_of_what_may_be_negative_is_not_translated(base):
    """Else Z3 would take the base to be positive, and so prove that it is."""
    for degree in (2, 3):
        holds, how, _ = z3_engine.prove("≥", base + sp.root(base, degree), base)
        assert holds is None
        assert "may be negative" in how


def test_z3_is_handed_both_sides_as_written(monkeypatch):
    seen = []
    real = z3_engine.prove
    monkeypatch.setattr(z3_engine, "prove", lambda *args: seen.append(args) or real(*args))
    start, end = Quotient(2 * N * b / B, 6 * N * T / F), b * F / (3 * B * T)
    Derivation("data", start).equals(end, "N cancels")
    assert seen[0][1] is start
    assert seen[0][2] is end
    translate = z3_engine.Translator()
    translate(start)
    assert N in translate.variables  # though SymPy's value of the quotient has no N
    assert N not in start.expr.free_symbols
    seen.clear()
    share = Quotient([p_d - 1], [p_d])
    Derivation("limit", share).tends_to(sp.Integer(1), "many", p_d, bound=1)
    assert [(relation, left) for relation, left, *_ in seen] == [("≤", share), ("≥", share)]


# One engine broken: the other still refuses

SLIPS = [
    lambda: page().equals(b * F / (2 * B * T), "slip"),
    lambda: page().equals(b * F / (3 * B * T**2), "slip"),
    lambda: page().equals(-b * F / (3 * B * T), "slip"),
    lambda: page().equals(b * F / (3 * B * N), "slip"),
    lambda: chain(sp.Max(x, y)).equals(x, "slip"),
    lambda: chain(sp.sqrt(x + 1)).equals(sp.sqrt(x), "slip"),
    lambda: chain(Quotient([m - 1], [m - 1])).equals(sp.Integer(1), "slip"),
    lambda: chain(x).at_most(y, "slip"),
    lambda: chain(x).at_least(x * m, "slip"),
    lambda: chain(x + y).at_least(3 * sp.sqrt(x * y), "slip"),
    lambda: chain(1 / m).tends_to(sp.Integer(1), "slip", m, bound=5),
    lambda: chain(1 / m).tends_to(ZERO, "slip", m, bound=sp.Rational(1, 2)),
    lambda: induct("sum", i * (i - 1) / 2, lambda C, n: C(n - 1) + n if n != 0 else ZERO, [i]),
]
i = sp.Symbol("i", integer=True, nonnegative=True)


def page():
    return Derivation("page", Quotient(2 * N * b / B, 6 * N * T / F))


def chain(start):
    return Derivation("chain", start, also=(x, y, z, r, w))


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("broken", [sympy_engine, z3_engine])
def test_one_engine_is_enough_to_refuse(monkeypatch, broken, slip):
    with pytest.raises(ProofError):
        slip()
    monkeypatch.setattr(broken, "prove", lambda *_, **__: (True, "anything goes", None))
    with pytest.raises(ProofError):
        slip()


def test_two_broken_engines_refuse_nothing(monkeypatch):
    """So that the tests above see the engines refuse, and nothing else."""
    for engine in (sympy_engine, z3_engine):
        monkeypatch.setattr(engine, "prove", lambda *_, **__: (True, "anything goes", None))
    for slip in SLIPS:
        slip()


# Max and Min in SymPy's normal form

EXTREMES = [
    sp.Max(x, y) + z,
    sp.Max(x, y) * z,
    sp.Max(x, y) / (1 + z) - r,
    2 * sp.Min(x, y) + sp.Rational(1, 3),
    r * sp.Max(x, y),
    -sp.Max(x, y),
    sp.Max(x, y) + sp.Max(y, z),
    sp.Max(x, y) - sp.Min(x, y),
    sp.Max(x, y) * sp.Max(y, z),
    sp.Max(x, y) ** 2 * sp.Max(r, w),
    sp.Max(r, w) ** 2,
    1 / sp.Max(x, y),
    sp.Max(x * sp.Max(y, z) + r, w),
    sp.Max(r - 1, sp.Min(w, 2) * x) * y - z,
    sp.sqrt(sp.Max(x, y)),
    (sp.Max(x, y) + 1) * (sp.Min(r, w) - 1),
    sp.Max(x, (y**2 - z**2) / (y + z)) * (x + y),
]


@pytest.mark.parametrize("side", EXTREMES, ids=str)
@given(st.lists(NUMBERS, min_size=3, max_size=3), st.lists(st.integers(-5, 5), min_size=2))
@settings(max_examples=25, deadline=None)
def test_the_normal_form_has_the_same_value(side, positive, any_sign):
    point = dict(zip((x, y, z), map(sp.Rational, positive), strict=True))
    point |= {r: sp.Integer(any_sign[0]), w: sp.Integer(any_sign[1])}
    normal = sympy_engine._gather_extremes(side)
    assert sp.cancel(normal.subs(point) - side.subs(point)) == 0


def test_max_is_proven_where_it_is_needed():
    chain(sp.Max(0, x * z - y * z) / z).equals(sp.Max(0, x - y), "divide inside")
    chain(sp.Max(x, y) + z).equals(sp.Max(x + z, y + z), "add inside")
    chain(sp.Max(x, y)).at_least(y, "the greater")
    with pytest.raises(ProofError):
        chain(sp.Max(0, x * z - y * z) / z).equals(sp.Max(1, x - y), "divide inside")
    with pytest.raises(ProofError):
        chain(sp.Max(x, y) * (x - 1)).equals(sp.Max(x * (x - 1), y * (x - 1)), "a sign unknown")


# Bounds by SymPy: coefficients


@pytest.mark.parametrize(
    ("gap", "holds"),
    [
        (p * m - 1, True),
        (p * m - 2, False),
        (p + m - 2, True),
        (p + m - 3, False),
        ((p - 1) / m, True),
        ((1 - p) / -m, True),
        ((p - 1) / (1 - 2 * m), False),
        (x - 1, False),
        (alpha * (p - 1), True),
        (alpha - alpha**2, False),
        (-alpha, False),
        (r**2, True),
        (r, False),
        (x + r, False),
        (sp.Max(r, x), True),
        (sp.Max(r, p * m + p - 2), True),
        (sp.Max(r, p * m + p - 3), False),
        (sp.Min(r, x), False),
        (sp.Min(x, p - 1), True),
    ],
    ids=str,
)
def test_never_negative_says_so_only_of_what_never_is(gap, holds):
    assert sympy_engine._never_negative(gap, ()) is holds


@given(
    st.lists(
        st.tuples(st.integers(-2, 2), st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 3),
)
@few
def test_never_negative_agrees_with_z3(terms, hypothesis):
    gap = sp.Add(*(c * p**j * m**k * x**n for c, j, k, n in terms))
    given_ = [[], [sp.Ge(p, m)], [sp.Ge(p, m + x), sp.Ge(m, 2)], [sp.Eq(p, m), sp.Gt(x, m)]]
    held = given_[hypothesis]
    if sympy_engine._never_negative(gap, held):
        assert z3_engine.prove("≥", gap, ZERO, held)[0] is True
        for point in sympy_engine.sample(gap.free_symbols, held):
            assert gap.subs(point) >= 0


# Samples

HYPOTHESES = [
    [],
    [sp.Ge(p, 4), sp.Le(p, 6)],
    [sp.Ge(x, y), sp.Ge(y, z), sp.Gt(z, 2)],
    [sp.Eq(x, 2 * y), sp.Eq(y, z + 1)],
    [sp.Ge(x, y), sp.Ge(y, x)],
    [sp.Ge(x, y), sp.Ge(x, 2 * z), sp.Le(x, 50)],
    [sp.Eq(p, 2 * m)],
    [sp.Ge(alpha, tau)],
    [sp.Lt(r, w)],
]


@pytest.mark.parametrize("held", HYPOTHESES, ids=str)
def test_samples_keep_what_is_assumed(held):
    symbols = {x, y, z, r, w, p, m, alpha, tau}
    points = list(sympy_engine.sample(symbols, held))
    assert points == list(sympy_engine.sample(symbols, held))
    assert points
    for point in points:
        assert set(point) == symbols
        assert all(h.subs(point) is sp.true for h in held)
        assert all(point[s] > 0 for s in (x, y, z, p, m, tau))
        assert point[alpha] >= 0
        assert all(point[s].is_Integer for s in (p, m))


def test_samples_reach_zero_negatives_and_far():
    points = list(sympy_engine.sample({alpha, r, N}))
    assert any(point[alpha] == 0 for point in points)
    assert any(point[r] < 0 for point in points)
    assert any(point[N] > 10_000 for point in points)


@pytest.mark.parametrize(
    ("symbol", "number"),
    [(N, sp.Rational(3, 2)), (N, 0), (x, 0), (x, -1), (alpha, -1), (r, sp.I), (r, sp.oo)],
)
def test_numbers_that_a_symbol_cannot_have_refute_nothing(symbol, number):
    assert not sympy_engine.refutes({symbol: sp.sympify(number)}, "=", symbol, symbol + 1)
    assert sympy_engine.refutes({symbol: sp.Integer(1)}, "=", symbol, symbol + 1)


def test_refutes_knows_each_relation():
    at = {x: sp.Integer(2)}
    cases = {"=": (False, True, True), "≤": (False, True, False), "≥": (False, False, True)}
    for relation, expected in cases.items():
        got = [sympy_engine.refutes(at, relation, x, sp.Integer(n)) for n in (2, 1, 3)]
        assert tuple(got) == expected
    assert not sympy_engine.refutes(at, "=", x, sp.Integer(1), [sp.Ge(x, 3)])


def test_z3_reports_unknown_as_undecided(monkeypatch):
    monkeypatch.setattr(z3_engine, "RESOURCES", 1)
    holds, how, _ = z3_engine.prove("≥", (x**3 + y**3 + z**3) / 3, x * y * z)
    assert holds is None
    assert "undecided" in how or "could not be shown" in how


def test_z3_finds_a_counterexample_that_is_no_fraction():
    verdicts = {
        v.engine: v
        for v in decision.decide("≥", x**2 + 2, 2 * sp.sqrt(2) * x + sp.Rational(1, 10**9))
    }
    assert verdicts["Z3"].holds in (False, None)
    assert verdicts["SymPy"].holds is None
