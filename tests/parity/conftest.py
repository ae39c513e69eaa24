"""The suite needs PyTorch beside Facula; without it there is nothing to collect."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PyTorch gives many of its warnings once in a process: who gets them depends on the order."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(
                pytest.mark.filterwarnings(r"ignore:[\s\S]*Triggered internally at"), append=False
            )


@pytest.fixture(autouse=True)
def _checks_of_distributions() -> Iterator[None]:
    """PyTorch's compiler, on which its flex_attention calls, turns them off for the process."""
    from torch.distributions import Distribution

    yield
    Distribution.set_default_validate_args(True)
