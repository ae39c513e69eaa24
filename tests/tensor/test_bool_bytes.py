"""Bools whose bytes are more than 0 and 1: every byte but 0 is true."""

import numpy as np
import pytest

import facula

pytestmark = pytest.mark.promise("T7")

BYTES = [0, 1, 2, 255, 0, 3] * 11  # longer than a vector
PLAIN = [b != 0 for b in BYTES]
OTHER = [True, True, True, False, False, True] * 11

OPERATIONS = {
    "to(int64)": lambda x, y: x.to(facula.int64),
    "to(uint8)": lambda x, y: x.to(facula.uint8),
    "float": lambda x, y: x.float(),
    "complex": lambda x, y: x.to(facula.complex64),
    "~": lambda x, y: ~x,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "+": lambda x, y: x + y,
    "+ 1": lambda x, y: x + 1,
    "*": lambda x, y: x * y,
    "strided": lambda x, y: x[::2] & y[::2],
    "one of them": lambda x, y: x[2] & y,
    "logical_not": lambda x, y: x.logical_not(),
    "logical_xor": lambda x, y: x.logical_xor(y),
    "where": lambda x, y: facula.where(x, 1.0, 2.0),
    "masked_fill": lambda x, y: facula.zeros(len(x)).masked_fill(x, 1.0),
    "nonzero": lambda x, y: x.nonzero(),
    "index": lambda x, y: facula.arange(len(x))[x],
    "sum": lambda x, y: x.sum(),
    "sum of columns": lambda x, y: x.view(2, -1).sum(0),
    "any": lambda x, y: x.any(),
    "all": lambda x, y: x[1:4].all(),
    "any of columns": lambda x, y: x.view(2, -1).any(0),
    "all of columns": lambda x, y: x.view(-1, 6).all(0),
    "max": lambda x, y: x.max(),
    "cumsum": lambda x, y: x.cumsum(0),
    "cummax": lambda x, y: x.cummax(0).values,
    "sort": lambda x, y: x.sort(stable=True).indices,
    "unique": lambda x, y: x.unique(),
    "mode": lambda x, y: x.mode().values,
    "clone": lambda x, y: x.clone(),
    "flip": lambda x, y: x.flip(0),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_byte_but_zero_is_true(name):
    operation = OPERATIONS[name]
    other = facula.tensor(OTHER)
    result = operation(facula.tensor(BYTES, dtype=facula.uint8).view(facula.bool), other)
    expected = operation(facula.tensor(PLAIN), other)
    assert facula.equal(result, expected)
    if result.dtype == facula.bool:
        assert result.to(facula.uint8).max() <= 1


def test_arrays_of_numpy_are_read_likewise():
    x = facula.from_numpy(np.array(BYTES, dtype=np.uint8).view(bool))
    assert x.sum().item() == sum(PLAIN)
    assert x.tolist() == PLAIN
    assert facula.equal(x, facula.tensor(PLAIN))


def test_a_copy_has_bytes_of_zero_and_one():
    x = facula.tensor(BYTES, dtype=facula.uint8).view(facula.bool)
    assert x.clone().view(facula.uint8).tolist() == [int(b) for b in PLAIN]
