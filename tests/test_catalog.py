"""The catalog against arithmetic, against itself, and against what its readers rely on."""

import subprocess
import sys
from dataclasses import fields

import pytest

from bytesperflop import catalog, counting

RECORDS = (
    *catalog.all_hardware(), *catalog.all_links(), *catalog.all_models(), *catalog.all_runs(),
)  # fmt: skip
BY_NAME = {"ids": lambda record: record.name}


@pytest.mark.parametrize("record", RECORDS, **BY_NAME)
def test_every_value_has_its_unit_source_and_date(record):
    valued = {f.name for f in fields(record)} - {"name", "sources"}
    valued = {name for name in valued if getattr(record, name) is not None}
    assert set(record.sources) == valued
    for source in record.sources.values():
        assert source.unit in catalog.UNITS
        assert source.document
        assert source.where
        assert source.url.startswith("https://")
        assert any(year in source.date for year in map(str, range(2020, 2027)))


@pytest.mark.parametrize("model", catalog.all_models(), **BY_NAME)
def test_exact_parameters_agree_with_the_published_count_to_a_percent(model):
    exact = sum(counting.model_parameters(model).values())
    assert exact == pytest.approx(model.published_parameters, rel=0.01)


def test_where_the_count_was_published_to_the_last_digit_it_is_met():
    bloom = catalog.model("BLOOM-176B")
    assert sum(counting.model_parameters(bloom).values()) == bloom.published_parameters


def test_megatron_items_are_equation_2_of_its_paper_and_the_last_norm():
    """N = 12Ld²(1 + 13/(12d) + (V + s)/(12Ld)): it leaves the last norm's 2d out."""
    m = catalog.model("Megatron 1T")
    L, d = m.layers, m.width
    equation = 12 * L * d**2 + 13 * L * d + (m.vocabulary + m.sequence) * d
    assert sum(counting.model_parameters(m).values()) == equation + 2 * d


@pytest.mark.parametrize("run", catalog.published_runs("narayanan21_table1"), **BY_NAME)
def test_table_1_counts_follow_from_its_shapes(run):
    layers = run.layers * (sum(counting.layer_parameters(run.width).values()) + 13 * run.width)
    N = layers + (run.vocabulary + run.sequence) * run.width
    assert pytest.approx(run.published_parameters, abs=0.06e9) == N


@pytest.mark.parametrize("run", catalog.all_runs(), **BY_NAME)
def test_runs_fit_together(run):
    assert run.width % run.heads == 0 or run.model == "PaLM 540B"
    if None not in (run.data, run.tensor, run.pipeline):
        assert run.data * run.tensor * run.pipeline * (run.context or 1) == run.devices
    if None not in (run.batch, run.data, run.microbatch):
        assert run.batch % (run.data * run.microbatch) == 0
    if None not in (run.chunks, run.pipeline):
        stages = run.chunks * run.pipeline
        assert run.layers % stages == 0 or run.model == "BLOOM 176B"  # its 72nd is embeddings
    if run.flops_per_device and run.hfu:
        peak = catalog.hardware(run.hardware).peak_flops
        assert run.flops_per_device / peak == pytest.approx(run.hfu, abs=0.006)
    assert run.convention in ("hardware", "model", None)


@pytest.mark.parametrize("run", catalog.published_runs("korthikanti22_table5"), **BY_NAME)
def test_published_times_give_the_published_utilisation(run):
    layer = counting.layer_parameters(run.width)
    per_token = counting.training_flops(run.layers * sum(layer.values()))
    per_token += run.layers * counting.score_flops(run.sequence, run.width)
    per_token += counting.head_flops(run.width, run.vocabulary)
    rate = per_token * run.batch * run.sequence / run.step_time / run.devices
    if run.mfu:
        peak = catalog.hardware(run.hardware).peak_flops
        assert rate / peak == pytest.approx(run.mfu, abs=0.004)
    if run.name == "kor22_t5_1T_seqsel":
        assert rate == pytest.approx(catalog.hardware("A100 80GB").achievable_flops, rel=1e-3)


def test_case_20_no_peak_is_the_sparse_one():
    peaks = {device.name: device.peak_flops for device in catalog.all_hardware()}
    assert peaks["H100 SXM"] == peaks["H200"] == 989 * 10**12
    assert peaks["A100 40GB"] == peaks["A100 80GB"] == 312 * 10**12
    assert max(peaks.values()) == peaks["B200"] == 2250 * 10**12


@pytest.mark.parametrize("device", catalog.all_hardware(), **BY_NAME)
def test_training_stays_below_a_bare_product_and_that_below_the_peak(device):
    rates = [device.achievable_flops, device.matmul_flops, device.peak_flops]
    known = [rate for rate in rates if rate]
    assert len(known) >= 2
    assert known == sorted(known)
    assert catalog.link(device.link).line_rate > 0


@pytest.mark.parametrize("link", catalog.all_links(), **BY_NAME)
def test_a_link_delivers_less_than_its_line_rate_and_more_than_two_thirds(link):
    if link.achievable:
        assert 2 / 3 < link.achievable / link.line_rate < 1


def test_links_are_one_way():
    """NVLink 4 is sold as 900 GB/s, which counts both ways: 450 one way, some 370 delivered."""
    link = catalog.link("NVLink 4")
    assert link.line_rate == 450 * 10**9
    assert 360e9 < link.achievable < 380e9


def test_the_openings_of_the_chapters_can_be_had():
    F = catalog.hardware("H100 SXM").achievable_flops
    network = catalog.link("InfiniBand NDR").line_rate
    nvlink = catalog.link("NVLink 4").line_rate
    d = catalog.model("GPT-3 175B").width
    assert 2 * F / (3 * network * 8192) == pytest.approx(0.65, abs=0.005)
    assert 2 * F / (9 * d * nvlink) == pytest.approx(0.016, abs=0.0005)
    assert 2 * F / (9 * d * network) == pytest.approx(0.145, abs=0.0005)


@pytest.mark.parametrize(
    ("find", "name", "listed"),
    [
        (catalog.hardware, "H1000", "'H100 SXM'"),
        (catalog.link, "nvlink", "'NVLink 4'"),
        (catalog.model, "GPT-4", "'GPT-3 175B'"),
        (catalog.published_runs, "table9", "'narayanan21_table1'"),
    ],
)
def test_an_unknown_name_is_refused_with_those_there_are(find, name, listed):
    with pytest.raises(ValueError, match=f"{name}.*must be one of.*{listed}"):
        find(name)


def test_groups():
    sizes = {g: len(catalog.published_runs(g)) for g in ("narayanan21_table1", "bloom", "opt")}
    assert sizes == {"narayanan21_table1": 10, "bloom": 1, "opt": 1}
    assert [r.flops_per_device for r in catalog.published_runs("llama3_405b_table4")] == [
        430 * 10**12, 400 * 10**12, 380 * 10**12,
    ]  # fmt: skip


def test_a_misspelt_field_in_a_data_file_is_refused():
    entry = {"name": "x", "source": "doc", "where": "here", "values": {"line_rates": 1}}
    with pytest.raises(ValueError, match="'line_rates' is no field of Link"):
        catalog._record(catalog.Link, entry, {}, {})


def test_importing_loads_neither_data_nor_numpy():
    code = (
        "import sys, bytesperflop.catalog as c, bytesperflop.counting, "
        "bytesperflop.counting_simulation\n"
        "assert not {'numpy', 'matplotlib', 'z3', 'jax', 'pandas'} & set(sys.modules)\n"
        "assert c._load.cache_info().currsize == 0"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
