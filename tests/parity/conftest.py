"""These tests compare with PyTorch; ``make parity`` runs them where it is installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["*"]
