import multiprocessing
import signal

import pytest


@pytest.fixture(autouse=True)
def no_test_hangs():
    """A limit for each test, and no process left of it."""

    def stop(*_):
        raise TimeoutError("the test took more than two minutes")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    for process in multiprocessing.active_children():
        process.kill()
        process.join()
