"""Steps to a target against step time: the shortest run is not the fastest step."""

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from bytesperflop import symbols
from bytesperflop.batch_size import (
    fastest_batch,
    fixed_tokens,
    step_time,
    steps_to_target,
    tokens_to_target,
)
from bytesperflop.optimum import data_coefficient, overhead_product, tensor_coefficient

tokens = st.floats(1e3, 1e8)
S_min, B_crit = sp.symbols("S_min B_crit", positive=True)


def test_steps_and_tokens_lie_on_the_published_hyperbola():
    T_g = symbols.T_g
    S = steps_to_target(S_min, B_crit, T_g)
    E = tokens_to_target(S_min, B_crit, T_g)
    assert sp.cancel(E - S * T_g) == 0
    assert sp.cancel((S / S_min - 1) * (E / (S_min * B_crit) - 1)) == 1
    assert sp.limit(S, T_g, sp.oo) == S_min
    assert S.subs(T_g, B_crit) == 2 * S_min
    wrong = S_min * (1 + T_g / B_crit)  # the batch and the critical batch exchanged
    assert sp.cancel((wrong / S_min - 1) * (wrong * T_g / (S_min * B_crit) - 1)) != 1


def test_step_time_is_the_product_form_with_the_microbatch_held():
    s = symbols
    k_t = tensor_coefficient(s.b, s.F, s.d, s.B)
    A = k_t * (s.t - 1)
    m = s.T_g / (s.p_d * s.u)
    k = (data_coefficient(s.b, s.F, s.B, s.T_g), k_t, 1 / m)
    P = s.p_d * s.t * s.p
    ideal = 6 * s.N * s.T_g / (P * s.F)
    D = fixed_tokens(s.b, s.F, s.B, s.p_d, s.p, s.u, A)
    direct = ideal * (1 + overhead_product(k, (s.p_d, s.t, s.p)))
    assert sp.cancel(sp.together(direct - step_time(s.N, s.F, P, s.T_g, D, A))) == 0
    planted = fixed_tokens(s.b, s.F, s.B, s.p_d, s.p + 1, s.u, A)
    assert sp.cancel(sp.together(direct - step_time(s.N, s.F, P, s.T_g, planted, A))) != 0
    assert s.dimension(D - (s.p - 1) * s.u * s.p_d) == s.PURE
    assert s.dimension(step_time(s.N, s.F, s.P, s.T_g, s.u, 0)) == s.SECONDS


def run_time(fixed, critical, T_g):
    return steps_to_target(1, critical, T_g) * (T_g + fixed)


@given(tokens, tokens, st.floats(0.01, 100))
def test_no_batch_makes_a_shorter_run(fixed, critical, factor):
    best = fastest_batch(fixed, critical)
    least = run_time(fixed, critical, best)
    assert least == pytest.approx((fixed**0.5 + critical**0.5) ** 2)
    assert least <= run_time(fixed, critical, best * factor) * (1 + 1e-12)
    assert run_time(fixed, critical, best * factor) == pytest.approx(
        run_time(fixed, critical, best / factor)  # as far above as below costs the same
    )


@pytest.mark.parametrize("planted", [lambda D, c: c, lambda D, c: D, lambda D, c: (D + c) / 2])
def test_other_rules_for_the_batch_lose(planted):
    D, critical = 3e5, 4e6
    best = run_time(D, critical, fastest_batch(D, critical))
    assert run_time(D, critical, planted(D, critical)) > best * 1.02


def gpt3(T_g, critical=4e6):
    """(seconds a step, tokens a second, days a run) at 16 × 8 × 8, S_min = 40,000."""
    A = 7 * tensor_coefficient(b=2, F=4e14, d=12288, B=450e9)
    D = fixed_tokens(b=2, F=4e14, B=50e9, p_d=16, p=8, u=2048, tensor_overhead=A)
    step = step_time(N=175e9, F=4e14, P=1024, T_g=T_g, fixed=D, tensor_overhead=A)
    return step, T_g / step, steps_to_target(40_000, critical, T_g) * step / 86_400


def test_the_faster_step_is_the_slower_run_and_so_is_the_better_throughput():
    short, middle, large = gpt3(2**18), gpt3(2**20), gpt3(2**22)
    assert short[0] < middle[0] < large[0]  # seconds a step
    assert short[1] < middle[1] < large[1]  # tokens a second
    assert middle[2] < min(short[2], large[2])  # days a run
    assert short[2] / middle[2] == pytest.approx(1.40, abs=0.01)
    assert large[2] / middle[2] == pytest.approx(1.35, abs=0.02)


def test_refusals_name_the_argument():
    with pytest.raises(ValueError, match="T_g = 0"):
        steps_to_target(S_min=1, B_crit=1, T_g=0)
    with pytest.raises(ValueError, match="tensor_overhead = -1"):
        step_time(N=1, F=1, P=1, T_g=1, fixed=0, tensor_overhead=-1)
