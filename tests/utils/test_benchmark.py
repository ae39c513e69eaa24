import itertools

import pytest

import facula
from facula.utils import benchmark
from facula.utils.benchmark import Compare, Measurement, TaskSpec, Timer


class Clock:
    """A second passes at every look."""

    def __init__(self, *seconds):
        self.now = 0.0
        self.seconds = itertools.cycle(seconds or (1.0,))

    def __call__(self):
        self.now += next(self.seconds)
        return self.now


def measured(times, **task):
    return Measurement(1, times, TaskSpec("x + y", "pass", **task))


def test_a_statement_is_run_as_often_as_asked():
    runs = []
    timer = Timer("run(n)", setup="n = 3", globals={"run": runs.append}, timer=Clock())
    result = timer.timeit(50)
    assert runs == [3] * 52  # two of them to warm up
    assert result.times == [1.0 / 50]


def test_a_statement_may_be_indented_and_knows_the_package():
    timer = Timer(
        """
        x = torch.ones(n)
        x.add_(1)
        """,
        setup="""
        n = 2
        """,
    )
    assert timer.timeit(2).median > 0


def test_blocks_run_until_the_time_has_passed(monkeypatch):
    calls = []
    timer = Timer(timer=Clock())
    monkeypatch.setattr(timer, "_block_size", lambda min_run_time: 7)
    result = timer.blocked_autorange(lambda n, t: calls.append((n, t)), min_run_time=10.0)
    assert result.raw_times == [1.0] * 10
    assert calls == [(7, 1.0)] * 10


def test_a_block_is_long_beside_the_clock():
    assert Timer("x = 1 + 1").blocked_autorange(min_run_time=0.001).number_per_run >= 100


def test_blocks_run_until_the_times_agree():
    steady = Timer(timer=Clock()).adaptive_autorange(max_run_time=100.0)
    assert len(steady.raw_times) == 4
    jumping = Timer(timer=Clock(1.0, 1.0, 1.0, 9.0)).adaptive_autorange(max_run_time=50.0)
    assert sum(jumping.raw_times) >= 50


def test_threads_are_set_while_it_measures():
    before, seen = facula.get_num_threads(), []
    names = {"look": lambda: seen.append(facula.get_num_threads())}
    Timer("look()", globals=names, num_threads=1).timeit(2)
    assert set(seen) == {1}
    assert facula.get_num_threads() == before


def test_statistics():
    m = measured([4.0, 1.0, 3.0, 2.0])
    assert (m.median, m.mean, m.iqr) == (2.5, 2.5, 1.5)
    assert m.has_warnings
    assert not m.meets_confidence()
    assert measured([1.0, 1.0, 1.0, 1.001]).significant_figures == 4
    assert m.significant_figures == 1
    merged = Measurement.merge([m, measured([5.0]), measured([1.0], label="other")])
    assert [len(x.times) for x in merged] == [5, 1]
    with pytest.raises(ValueError, match="no times"):
        repr(measured([]))


def test_titles_say_what_was_measured():
    assert measured([1.0]).title == "x + y"
    assert measured([1.0], label="add", sub_label="small").title == "add: small"
    assert measured([1.0], sub_label="small").as_row_name == "small"
    assert measured([1.0]).env == "Unspecified env"
    text = repr(measured([0.25e-3], label="add", description="fast"))
    assert text.splitlines()[1:] == [
        "add",
        "fast",
        "  250.00 us",
        "  1 measurement, 1 runs , 1 thread",
    ]


def test_environments_are_told_apart():
    results = [measured([1.0], label="add", env=env, sub_label="small") for env in ("old", "new")]
    lines = str(Compare(results)).splitlines()
    assert lines[3].startswith("      (old)  small")
    assert lines[4].startswith("      (new)  small")


def test_tables_are_printed(capsys):
    compared = Compare([measured([1.0], label="add", description="mine")])
    compared.extend_results([measured([2.0], label="add", description="theirs")])
    compared.print()
    assert "1.0  |     2.0" in capsys.readouterr().out


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="only a `str` stmt"):
        Timer(lambda: 0)
    with pytest.raises(ValueError, match="language"):
        Timer("1", language="c++")
    with pytest.raises(ValueError, match=r"C\+\+ only"):
        Timer("1", global_setup="#include")
    with pytest.raises(ValueError, match="expected an instance of `Measurement`"):
        Compare([3])
    with pytest.raises(NotImplementedError):
        Timer("1").autorange()
    with pytest.raises(NotImplementedError, match="collect_callgrind"):
        Timer("1").collect_callgrind()
    with pytest.raises(AssertionError):
        benchmark.trim_sigfig(1.0, 1.5)


def test_draws_satisfy_their_constraints():
    from facula.utils.benchmark import (
        FuzzedParameter,
        FuzzedSparseTensor,
        FuzzedTensor,
        Fuzzer,
        ParameterAlias,
    )

    choices = {ParameterAlias("n"): 0.5, 1: 0.5}
    parameters = [
        FuzzedParameter("n", 2, 64, "loguniform"),
        [FuzzedParameter("m", 2, 9, "uniform"), FuzzedParameter("k", distribution=choices)],
        FuzzedParameter("density", 0.1, 0.5, "uniform"),
        FuzzedParameter("step", 1, 3, "uniform"),
    ]
    tensors = [
        FuzzedTensor("x", ("n", "m"), steps=("step", 1), min_elements=8, max_elements=300),
        FuzzedTensor("y", ("k", "m"), probability_contiguous=0, dtype=facula.int64),
        FuzzedSparseTensor("s", ("n", "m"), density="density"),
    ]

    def make():
        return Fuzzer(parameters, tensors, constraints=[lambda n, m, **rest: n != m], seed=1)

    fuzzer = make()
    draws = list(fuzzer.take(10))
    for made, info, params in draws:
        assert made["x"].shape == (params["n"], params["m"]) and params["n"] != params["m"]
        assert 8 <= made["x"].numel() <= 300
        assert made["y"].dtype == facula.int64 and params["k"] in (1, params["n"])
        assert made["s"].is_sparse and info["s"]["density"] == params["density"]
        assert info["x"]["is_contiguous"] == made["x"].is_contiguous()
    again = [params for _, _, params in make().take(10)]
    assert again == [params for _, _, params in draws]
    assert 0 <= fuzzer.rejection_rate < 1
    with pytest.raises(ValueError, match="no draw"):
        next(Fuzzer(parameters, [], [lambda **rest: False]).take(1))
    with pytest.raises(AssertionError, match="sum to 1"):
        FuzzedParameter("p", distribution={1: 0.5})
    with pytest.raises(ValueError, match="used twice"):
        Fuzzer([parameters[0]] * 2, [])


def test_counts_of_functions_are_compared():
    from facula.utils import benchmark
    from facula.utils.benchmark import CopyIfCallgrind, FunctionCount, FunctionCounts

    a = FunctionCounts((FunctionCount(5, "f"), FunctionCount(2, "g")), inclusive=True)
    b = FunctionCounts((FunctionCount(5, "f"), FunctionCount(1, "h")), inclusive=True)
    assert [tuple(c) for c in a - b] == [(2, "g"), (-1, "h")] and (a + b).sum() == 13
    assert a.filter(lambda name: name == "f").sum() == 5 and len(a[:1]) == 1
    assert a.transform(lambda name: "all")[0] == (7, "all") and (a * 2).sum() == 14
    assert "5  f" in repr(a.denoise())
    assert CopyIfCallgrind.unwrap_all({"x": CopyIfCallgrind(3), "y": 4}) == {"x": 3, "y": 4}
    with pytest.raises(RuntimeError, match="instructions are not counted"):
        benchmark.CallgrindStats()
    assert benchmark.Colorize.ROWWISE.value == "rowwise"
