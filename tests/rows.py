"""The rows of the core's tables, which tests are parametrised with: a new row is tested at once."""

import facula
from facula import nn, special


def names(*tables):
    """The public names of the rows of these tables."""
    return [name for table, name in facula._core._rows() if table in tables and find(name)]


def find(name):
    """The function of this name: in facula, in facula.special, or in nn.functional; else None."""
    if name.startswith("special_"):
        return getattr(special, name.removeprefix("special_"), None)
    return getattr(facula, name, None) or getattr(nn.functional, name, None)
