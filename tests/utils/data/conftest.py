import faulthandler

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _no_test_hangs():
    faulthandler.dump_traceback_later(300, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def another_generator():
    """NumPy's global stream comes from PCG64 and no longer from a Mersenne Twister."""
    before = np.random.get_bit_generator()
    np.random.set_bit_generator(np.random.PCG64())
    yield
    np.random.set_bit_generator(before)
