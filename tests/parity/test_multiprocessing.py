"""facula.multiprocessing against torch.multiprocessing."""

import inspect
import signal

import process_cases
import pytest
import torch
import torch.multiprocessing

import facula
import facula.multiprocessing

pytestmark = pytest.mark.promise("G3")


def test_every_public_name_is_there():
    assert set(torch.multiprocessing.__all__) <= set(facula.multiprocessing.__all__)


@pytest.mark.parametrize(
    "name",
    [
        "ProcessContext",
        "ProcessContext.join",
        "ProcessExitedException",
        "ProcessRaisedException",
        "set_sharing_strategy",
        "spawn",
        "start_processes",
    ],
)
def test_arguments_are_the_same(name):
    def arguments(framework):
        value = framework.multiprocessing
        for part in name.split("."):
            value = getattr(value, part)
        return [(p.name, p.default) for p in inspect.signature(value).parameters.values()]

    assert arguments(facula) == arguments(torch)


@pytest.mark.parametrize(
    "fn, arg", [("exit_in", 3), ("kill_in", signal.SIGKILL), ("kill_in", signal.SIGTERM)]
)
def test_failures_are_raised_alike(fn, arg):
    def failure(framework):
        with pytest.raises(framework.multiprocessing.ProcessExitedException) as caught:
            framework.multiprocessing.start_processes(
                getattr(process_cases, fn), (arg,), start_method="fork"
            )
        error = caught.value
        return str(error), error.exit_code, error.signal_name, error.error_index, error.args

    assert failure(facula) == failure(torch)


def test_exceptions_are_raised_alike():
    def failure(framework):
        with pytest.raises(framework.multiprocessing.ProcessRaisedException) as caught:
            framework.multiprocessing.start_processes(
                process_cases.raise_in, (0,), start_method="fork"
            )
        lines = str(caught.value).splitlines()
        return type(caught.value).__name__, lines[:4], lines[-1]

    assert failure(facula) == failure(torch)


def test_sharing_is_the_same():
    def outcome(framework):
        x = framework.arange(4.0)
        view = x[1:]
        before = x.is_shared()
        view.share_memory_()
        model = framework.nn.Linear(2, 2).share_memory()
        empty = framework.empty(0).share_memory_()
        kinds = [framework.multiprocessing.get_sharing_strategy(), empty.is_shared()]
        kinds += sorted(framework.multiprocessing.get_all_sharing_strategies())
        return before, x.is_shared(), model.weight.is_shared(), kinds

    assert outcome(facula) == outcome(torch)


def test_refusals_are_of_the_same_type():
    from multiprocessing.reduction import ForkingPickler

    def refused(framework):
        types = []
        for call in (
            lambda: framework.multiprocessing.set_sharing_strategy("x"),
            lambda: ForkingPickler.dumps(framework.ones(2, requires_grad=True) * 2),
            lambda: framework.multiprocessing.start_processes(print, start_method="x"),
        ):
            with pytest.raises(BaseException) as caught:
                call()
            types.append(caught.type)
        return types

    assert refused(facula) == refused(torch)
