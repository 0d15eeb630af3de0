"""What importing brings in, and what the kernel does where Z3 cannot be imported."""

import json
import pkgutil
import subprocess
import sys

import pytest

import bytesperflop

HEAVY = {"numpy", "matplotlib", "z3", "jax", "networkx", "pandas", "scipy", "IPython", "ipywidgets"}


def fresh(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


# Array programs and figures; every other module must run in a browser kernel as it is.
ARRAYS = {
    "data_split",
    "memory_simulation",
    "memory_tape",
    "tensor_split",
    "transformer_blocks",
    "plotting",
}
EVERY = {x.name for x in pkgutil.iter_modules(bytesperflop.__path__)}
MODULES = sorted(EVERY - ARRAYS)


def test_there_are_modules_to_look_at():
    assert EVERY >= ARRAYS
    assert {"proof", "symbols", "ratios", "optimum", "z3_engine", "propositions"} <= set(MODULES)


def test_the_package_and_every_module_without_arrays_bring_in_nothing_heavy():
    code = (
        "import json, sys\n"
        "import bytesperflop\n"
        "before = sorted(sys.modules)\n"
        f"for name in {MODULES!r}:\n"
        "    __import__('bytesperflop.' + name)\n"
        "print(json.dumps([before, sorted(sys.modules)]))"
    )
    before, after = (set(names) for names in json.loads(fresh(code)))
    assert "bytesperflop.proof" in after
    assert "sympy" in after
    assert not HEAVY & before
    assert not HEAVY & after


def test_the_test_above_would_see_a_heavy_module():
    loaded = json.loads(fresh("import json, sys, z3; print(json.dumps(sorted(sys.modules)))"))
    assert HEAVY & set(loaded) == {"z3"}


HIDE = "import sys; sys.modules['z3'] = None\n"
FINDER = (
    "import sys\n"
    "class Hidden:\n"
    "    def find_spec(self, name, path=None, target=None):\n"
    "        if name.split('.')[0] == 'z3':\n"
    "            raise ModuleNotFoundError('No module named z3', name='z3')\n"
    "sys.meta_path.insert(0, Hidden())\n"
)
PROVE = """
from bytesperflop.induction import induct
from bytesperflop.proof import Derivation, FalseStep, Quotient, UndecidedStep
from bytesperflop.propositions import PROPOSITIONS
from bytesperflop.symbols import *
import sympy as sp
i = sp.Symbol("i", integer=True, nonnegative=True)
proofs = [x.proof() for x in PROPOSITIONS.values()]
proofs.append(Derivation("share", (p_d - 1) / p_d).tends_to(sp.Integer(1), "many", p_d, bound=1))
proofs.append(induct("sum", i * (i + 1) / 2, lambda C, n: C(n - 1) + n if n != 0 else 0, [i]))
for proof in proofs:
    for step in proof.steps:
        names = [(v.engine, v.holds, v.ran) for v in step.verdicts]
        assert names == [("SymPy", True, True), ("Z3", None, False)], names
    assert "Z3 did not run" in str(proof)
    assert "Z3 did not run" in proof.to_latex()
    html = proof.to_html()
    assert "SymPy ✓" in html and "Z3 — did not run" in html and "Z3 ✓" not in html
def refused(error, act):
    try:
        act()
    except error:
        return
    raise AssertionError("not refused")
page = Derivation("page", Quotient(2 * N * b / B, 6 * N * T / F))
refused(FalseStep, lambda: page.equals(b * F / (2 * B * T), "slip"))
zero = Derivation("q", Quotient([m - 1], [m - 1]))
refused(UndecidedStep, lambda: zero.equals(sp.Integer(1), "s"))
refused(UndecidedStep, lambda: Derivation("q", 1 / (m - 1)).at_least(sp.Integer(0), "s"))
refused(FalseStep, lambda: Derivation("q", 1 / m).tends_to(sp.Integer(1), "s", m, bound=1))
assert sys.modules.get("z3") is None
print("done")
"""


@pytest.mark.parametrize("hide", [HIDE, FINDER], ids=["halted", "not found"])
def test_without_z3_the_proof_runs_refuses_and_says_so(hide):
    assert fresh(hide + PROVE) == "done\n"


def test_with_z3_the_same_proofs_are_shown_decided_by_both():
    code = PROVE.split("proofs = ")[0] + (
        "from bytesperflop.propositions import DATA\n"
        "proof = DATA.proof()\n"
        "assert 'Z3 ✓' in proof.to_html()\n"
        "assert 'did not run' not in proof.to_html() + proof.to_latex() + str(proof)"
    )
    fresh(code)
