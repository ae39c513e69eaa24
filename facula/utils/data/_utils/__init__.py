"""How a loader works inside. The public names are those of ``facula.utils.data``."""

import atexit
import importlib.util

from facula.utils.data._utils import collate, fetch, pin_memory, signal_handling, worker

__all__ = ["collate", "fetch", "pin_memory", "signal_handling", "worker"]

# What loaders of other packages, which are made of the parts here, read.
HAS_NUMPY = importlib.util.find_spec("numpy") is not None
IS_WINDOWS = False
MP_STATUS_CHECK_INTERVAL = 5.0  # seconds
python_exit_status = False  # whether the interpreter is about to end


def _set_python_exit_flag() -> None:
    global python_exit_status
    python_exit_status = True


atexit.register(_set_python_exit_flag)
