"""The suite needs PyTorch beside Facula; without it there is nothing to collect."""

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["*.py"]


@pytest.fixture(autouse=True)
def _checks_of_distributions() -> Iterator[None]:
    """PyTorch's compiler, on which its flex_attention calls, turns them off for the process."""
    from torch.distributions import Distribution

    yield
    Distribution.set_default_validate_args(True)
