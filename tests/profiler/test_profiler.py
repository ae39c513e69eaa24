import gzip
import json
import threading

import pytest

import facula
from facula import _core, nn, profiler
from facula.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule

pytestmark = pytest.mark.promise("U9")


def names(recorded):
    return [event.name for event in recorded.events()]


# ---- what is recorded


def test_operations_are_recorded_however_they_are_called():
    x = facula.ones(2, 2)
    with profile() as recorded:
        facula.exp(x)
        x.exp()
        x + x
        x @ x
        x[0]
        nn.functional.relu(x)
    assert names(recorded) == [
        *["aten::exp"] * 2,
        "aten::add",
        "aten::matmul",
        "aten::__getitem__",
        "aten::relu",
    ]


def test_questions_about_tensors_are_not_recorded_but_reading_values_is():
    x = facula.ones(2)
    with profile() as recorded:
        x.dim(), x.shape, x.size(0), len(x), x.is_contiguous()
        x[0].item()
    assert names(recorded) == ["aten::__getitem__", "aten::item"]


def test_operations_inside_of_others_are_their_children():
    with profile() as recorded:
        facula.vstack([facula.ones(2), facula.ones(2)])
    outer = next(event for event in recorded.events() if event.name == "aten::vstack")
    assert "aten::cat" in [child.name for child in outer.cpu_children]
    assert all(child.cpu_parent is outer for child in outer.cpu_children)
    assert 0 <= outer.self_cpu_time_total <= outer.cpu_time_total


def test_derivatives_are_recorded():
    w = facula.ones(2, requires_grad=True)
    y = (w * 3).sum()
    with profile() as recorded:
        y.backward()
    assert names(recorded)[:2] == [
        "autograd::engine::evaluate_function: SumBackward0",
        "SumBackward0",
    ]
    assert "MulBackward0" in names(recorded)
    assert recorded.events()[0].sequence_nr == y.grad_fn._sequence_nr()


def test_a_derivative_that_raises_is_recorded():
    class Bad(facula.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("no")

    y = Bad.apply(facula.ones(1, requires_grad=True))
    with profile() as recorded, pytest.raises(ValueError, match="no"):
        y.backward()
    assert names(recorded)[-1] == "BadBackward"


def test_an_operation_that_raises_is_recorded_and_the_next_one_too():
    x = facula.ones(2)
    with profile() as recorded:
        with pytest.raises(RuntimeError):
            x @ facula.ones(3)
        x.exp()
    assert names(recorded) == ["aten::ones", "aten::matmul", "aten::exp"]
    assert recorded.events()[2].cpu_parent is None


def test_blocks_are_recorded_as_context_and_as_decorator():
    @record_function("function")
    def twice(n):
        return twice(n - 1) if n else facula.ones(1)

    with profile() as recorded, record_function("block", "with a note"):
        twice(1)
    assert names(recorded) == ["block", "function", "aten::ones"]
    assert recorded.events()[0].is_user_annotation
    assert recorded.events()[0].kwinputs == {"args": "with a note"}


def test_a_block_that_is_left_open_ends_with_what_it_is_in():
    with profile() as recorded:
        inner = record_function("inner")
        with record_function("outer"):
            inner.__enter__()
        facula.ones(1)
        inner.__exit__(None, None, None)
    outer, inner_event, ones = recorded.events()
    assert inner_event.cpu_parent is outer
    assert ones.cpu_parent is None
    assert inner_event.end_us <= outer.end_us


def test_modules_are_blocks_on_request():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    with profile(with_modules=True) as recorded:
        model(facula.ones(1, 2))
    modules = [name for name in names(recorded) if name.startswith("nn.Module")]
    assert modules == ["nn.Module: Sequential_0", "nn.Module: Linear_0", "nn.Module: Linear_1"]


def test_steps_of_optimisers_are_blocks():
    w = facula.ones(2, requires_grad=True)
    w.grad = facula.ones(2)
    optimizer = facula.optim.SGD([w], lr=0.1)
    with profile() as recorded:
        optimizer.step()
    assert names(recorded)[0] == "Optimizer.step#SGD.step"
    assert all(event.cpu_parent is not None for event in recorded.events()[1:])


def test_only_the_thread_that_started_is_recorded():
    with profile() as recorded:
        thread = threading.Thread(target=lambda: facula.ones(1).exp())
        thread.start()
        thread.join()
    assert names(recorded) == []


def test_a_recording_is_stopped_by_its_own_thread():
    recorded = profile()
    recorded.start()
    errors = []

    def stop():
        try:
            recorded.stop()
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=stop)
    thread.start()
    thread.join()
    recorded.profiler._stop()
    assert "in the thread that started it" in errors[0]


def test_a_recording_may_end_inside_of_what_it_records():
    w = facula.ones(2, requires_grad=True)
    recorded = profile()
    recorded.start()
    w.register_hook(lambda grad: recorded.stop())
    (w * 2).sum().backward()
    assert "MulBackward0" in names(recorded)
    recorded, other = profile(), profile()
    recorded.start()

    class Stop(facula.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            recorded.stop()
            other.start()
            return grad

    Stop.apply(w).sum().backward()
    other.stop()
    assert "StopBackward" in names(recorded)


def test_lists_that_hold_themselves_are_no_trouble():
    loop = []
    loop.append(loop)
    with pytest.raises((TypeError, RecursionError)):
        facula.cat(loop)
    with profile(record_shapes=True), pytest.raises((TypeError, RecursionError)):
        facula.cat(loop)
    with facula.autocast("cpu"), pytest.raises((TypeError, RecursionError)):
        facula.cat(loop)


def test_casts_happen_inside_of_recorded_operations():
    x = facula.ones(2, 2)
    with facula.autocast("cpu"), profile(record_shapes=True) as recorded:
        y = x @ x
    assert y.dtype == facula.bfloat16
    assert names(recorded) == ["aten::matmul"]


def test_nothing_is_left_when_it_ends():
    before = _core._seam_users()
    with pytest.raises(ZeroDivisionError), profile():
        raise ZeroDivisionError
    assert _core._seam_users() == before
    assert not _core._is_recording()
    with record_function("nobody listens"):
        facula.ones(1)


def test_a_second_profiler_inside_of_the_first_is_refused():
    with profile(), pytest.raises(RuntimeError, match="already enabled on this thread"):
        profile().start()
    with profile() as recorded:
        facula.ones(1)
    assert names(recorded) == ["aten::ones"]


# ---- what is known of an event


def test_shapes_are_recorded_on_request():
    with profile(record_shapes=True) as recorded:
        facula.cat([facula.ones(2, 3), facula.ones(1, 3)], dim=0)
    event = recorded.events()[-1]
    assert event.input_shapes == [[[2, 3], [1, 3]]]
    assert event.kwinputs == {"dim": 0}
    groups = recorded.key_averages(group_by_input_shape=True)
    assert sorted(e.key for e in groups) == ["aten::cat", "aten::ones"]


def test_memory_is_recorded_on_request():
    with profile(profile_memory=True) as recorded, record_function("block"):
        x = facula.ones(1024, 1024)
        del x
    block, ones = recorded.events()
    assert ones.cpu_memory_usage >= 4 * 1024 * 1024
    assert block.cpu_memory_usage == 0
    assert block.self_cpu_memory_usage == -ones.cpu_memory_usage
    assert "4.00 MB" in recorded.key_averages().table()


def test_lines_of_the_program_are_recorded_on_request(tmp_path):
    with profile(with_stack=True) as recorded:
        facula.ones(2)
    event = recorded.events()[0]
    assert event.stack[0].startswith(__file__)
    assert event.stack[0].endswith("test_lines_of_the_program_are_recorded_on_request")
    recorded.export_stacks(str(tmp_path / "stacks.txt"))
    line = (tmp_path / "stacks.txt").read_text().splitlines()[0]
    frames, _, value = line.rpartition(" ")
    assert frames.split(";")[-1].startswith(__file__)
    assert int(value) > 0
    with pytest.raises(ValueError, match="expected metric as one of"):
        recorded.export_stacks(str(tmp_path / "x"), "time")
    with profile() as recorded:
        pass
    with pytest.raises(AssertionError, match="with_stack=True"):
        recorded.export_stacks(str(tmp_path / "x"))


def test_operations_are_counted_on_request():
    x = facula.ones(4, 8)
    with profile(with_flops=True) as recorded:
        x @ x.T
        x + x
    flops = {event.key: event.flops for event in recorded.key_averages()}
    assert flops["aten::matmul"] == 2 * 4 * 8 * 4
    assert flops["aten::add"] == 32
    assert "Total FLOPs" in recorded.key_averages().table()


# ---- tables and files


def test_averages_add_up():
    with profile() as recorded:
        for _ in range(3):
            facula.ones(8).exp()
    averages = {event.key: event for event in recorded.key_averages()}
    assert averages["aten::exp"].count == 3
    total = sum(e.cpu_time_total for e in recorded.events() if e.name == "aten::exp")
    assert averages["aten::exp"].cpu_time_total == pytest.approx(total)
    assert averages["aten::exp"].cpu_time == pytest.approx(total / 3)
    assert recorded.events().total_average().count == 6
    assert recorded.key_averages().self_cpu_time_total == pytest.approx(
        recorded.events().self_cpu_time_total
    )


def test_a_table_is_sorted_cut_and_headed():
    with profile(record_shapes=True) as recorded:
        for n in (1, 2, 3):
            for _ in range(n):
                (facula.ones, facula.zeros, facula.rand)[n - 1](4)
    table = recorded.key_averages().table(sort_by="count", row_limit=2, header="What ran")
    lines = table.splitlines()
    assert lines[1] == "What ran"
    assert lines[3].split()[0] == "Name"
    assert [lines[5].split()[0], lines[6].split()[0]] == ["aten::rand", "aten::zeros"]
    assert "aten::ones" not in table
    assert "Self CPU time total" in lines[-1]
    in_ms = recorded.key_averages().table(time_unit="ms", top_level_events_only=True)
    assert "us" not in in_ms.split("Self CPU time total")[1]
    with pytest.raises(AttributeError, match="nothing"):
        recorded.key_averages().table(sort_by="nothing")
    assert "aten::rand" in str(recorded.events())


@pytest.mark.parametrize("suffix, opener", [("", open), (".gz", gzip.open)])
def test_traces_are_json_of_chrome(tmp_path, suffix, opener):
    with profile(record_shapes=True, with_stack=True) as recorded, record_function("block"):
        facula.ones(2).exp()
    recorded.add_metadata("run", "first")
    recorded.add_metadata_json("numbers", "[1, 2]")
    recorded.add_metadata_json("tool", "no JSON")
    path = str(tmp_path / f"trace.json{suffix}")
    recorded.export_chrome_trace(path)
    with opener(path, "rt") as file:
        trace = json.load(file)
    assert (trace["run"], trace["numbers"], trace["tool"]) == ("first", [1, 2], "no JSON")
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert [span["name"] for span in spans] == ["block", "aten::ones", "aten::exp"]
    assert spans[2]["args"]["Input Dims"] == [[2]]
    block = spans[0]
    for span in spans:
        assert span["ts"] >= block["ts"]
        assert span["ts"] + span["dur"] <= block["ts"] + block["dur"]


# ---- schedules


def test_a_schedule_is_followed():
    ready = []

    def on_trace_ready(recorded):
        ready.append((recorded.step_num, names(recorded)))

    plan = schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=on_trace_ready) as recorded:
        for _ in range(10):
            facula.ones(1)
            recorded.step()
    step = ["ProfilerStep*", "aten::ones"]
    assert ready == [(4, step * 2), (8, step * 2)]
    assert recorded.current_action is ProfilerAction.NONE


def test_what_is_being_recorded_at_the_end_is_ready():
    ready = []
    with profile(on_trace_ready=lambda recorded: ready.append(names(recorded))) as recorded:
        facula.ones(1)
        recorded.step()
        facula.zeros(1)
    assert ready == [["aten::ones", "aten::zeros"]]


def test_events_of_all_cycles_are_kept_on_request():
    plan = schedule(wait=0, warmup=1, active=1)
    with profile(schedule=plan, acc_events=True) as recorded:
        for _ in range(4):
            facula.ones(1)
            recorded.step()
    assert names(recorded).count("aten::ones") == 2


def test_traces_go_to_a_folder_for_tensorboard(tmp_path):
    folder = tmp_path / "logs"
    handler = profiler.tensorboard_trace_handler(str(folder), use_gzip=True)
    with profile(on_trace_ready=handler):
        facula.ones(1)
    (path,) = folder.iterdir()
    assert path.name.endswith(".pt.trace.json.gz")
    with gzip.open(path) as file:
        assert json.load(file)["traceEvents"]


def test_bad_arguments_are_refused():
    with pytest.raises(AssertionError, match="expected active of at least 1"):
        schedule(wait=0, warmup=1, active=0)
    with pytest.warns(UserWarning, match="won't be using warmup"):
        plan = schedule(wait=0, warmup=0, active=1)
    with pytest.raises(AssertionError, match="Step must be non-negative"):
        plan(-1)
    with pytest.raises(AssertionError, match="No valid profiler activities"):
        profile(activities=[])
    with pytest.raises(AssertionError, match="must be initialized"):
        profile().key_averages()


@pytest.mark.skipif(facula.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_there_is_nothing_of_it():
    assert profiler.supported_activities() == {ProfilerActivity.CPU}
    with pytest.warns(UserWarning, match="CUDA is not available"):
        recorded = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    assert recorded.activities == {ProfilerActivity.CPU}


# ---- facula.autograd.profiler


def test_the_older_profiler_records_too(tmp_path):
    from facula.autograd import profiler as older

    with older.profile(record_shapes=True) as recorded:
        facula.ones(2).exp()
    assert [event.name for event in recorded.function_events] == ["aten::ones", "aten::exp"]
    assert "aten::exp" in recorded.table(sort_by="cpu_time_total")
    assert recorded.total_average().count == 2
    recorded.export_chrome_trace(str(tmp_path / "trace.json"))
    with older.profile(enabled=False) as recorded:
        facula.ones(2)
    assert len(recorded.function_events) == 0
    with pytest.raises(RuntimeError, match="marks for NVTX are not supported"), older.emit_nvtx():
        pass
    with older.emit_nvtx(enabled=False), older.emit_itt(enabled=False):
        facula.ones(2)


def test_records_of_memory_are_found_by_their_time():
    class Record:
        def __init__(self, start):
            self.start_ns = lambda: start

    records = [(Record(start), start) for start in (40, 10, 30, 10, 20)]
    found = facula.autograd.profiler.MemRecordsAcc(records)
    assert [start for _, start in found.in_interval(10, 30)] == [10, 10, 20, 30]
    assert [start for _, start in found.in_interval(11, 29)] == [20]
    assert list(found.in_interval(41, 50)) == []
    assert list(facula.autograd.profiler.MemRecordsAcc([]).in_interval(0, 9)) == []


def test_execution_traces_are_refused():
    with pytest.raises(RuntimeError, match="ExecutionTraceObserver is not part of Facula"):
        profiler.ExecutionTraceObserver()
