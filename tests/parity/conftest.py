"""The suite needs PyTorch beside Facula; without it there is nothing to collect."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["*.py"]
