import threading

import pytest

from facula.futures import Future, collect_all, wait_all


def test_a_result_is_waited_for():
    future = Future()
    threading.Thread(target=lambda: future.set_result(3)).start()
    assert future.wait() == 3
    assert future.done() and future.value() == 3


def test_callbacks_run_once_the_result_is_there():
    future, seen = Future(), []
    future.add_done_callback(lambda f: seen.append(f.value()))
    after = future.then(lambda f: f.value() + 1)
    assert not after.done()
    future.set_result(1)
    future.add_done_callback(lambda f: seen.append("late"))
    assert seen == [1, "late"]
    assert after.wait() == 2


def test_an_exception_is_raised_where_it_is_waited_for():
    future = Future()
    child = future.then(lambda f: f.value())
    future.set_exception(ValueError("broken"))
    with pytest.raises(ValueError, match=r"^broken"):
        future.wait()
    with pytest.raises(RuntimeError, match="running the callback: ValueError: broken") as caught:
        child.wait()
    assert isinstance(caught.value.__cause__, ValueError)


def test_an_error_of_a_callback_does_not_reach_who_sets_the_result(caplog):
    future, seen = Future(), []
    future.add_done_callback(lambda f: 1 / 0)
    future.add_done_callback(lambda f: seen.append(f.value()))
    future.set_result(1)
    future.add_done_callback(lambda f: 1 / 0)
    assert seen == [1] and future.wait() == 1
    logged = [record.message for record in caplog.records]
    assert (
        logged
        == [
            "Got the following error when running the callback: ZeroDivisionError: division by zero"
        ]
        * 2
    )


def test_what_a_future_refuses():
    future = Future()
    with pytest.raises(RuntimeError, match="not there yet"):
        future.value()
    with pytest.raises(AssertionError, match="expected an exception, got int"):
        future.set_exception(3)
    future.set_result(None)
    with pytest.raises(RuntimeError, match="once only"):
        future.set_result(None)
    with pytest.raises(ValueError, match="with an index"):
        Future(devices=["cpu"])


def test_many_futures_are_one():
    futures = [Future() for _ in range(3)]
    together = collect_all(futures)
    for i, future in enumerate(reversed(futures)):
        assert not together.done()
        future.set_result(i)
    assert together.wait() == futures
    assert wait_all(futures) == [2, 1, 0]
    assert collect_all([]).done()


def test_the_error_of_one_is_that_of_all():
    futures = [Future(), Future()]
    together = collect_all(futures)
    futures[0].set_exception(KeyError("a"))
    assert not together.done()
    futures[1].set_result(1)
    with pytest.raises(KeyError):
        together.wait()
