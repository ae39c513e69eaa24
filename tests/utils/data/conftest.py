import faulthandler

import pytest


@pytest.fixture(autouse=True)
def _no_test_hangs():
    faulthandler.dump_traceback_later(300, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
