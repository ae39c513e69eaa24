"""Hashes: the exclusive or of the bits of all elements."""

import numpy as np
import pytest

import facula


@pytest.mark.parametrize(
    "dtype",
    ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64"],
)
@pytest.mark.parametrize("shape", [(1,), (7, 3), (33, 65), (3, 20000), (20000, 3)])
def test_hashes_agree_with_numpy(dtype, shape):
    x = facula.arange(int(np.prod(shape))).reshape(shape).to(getattr(facula, dtype))
    wide = x.double() if x.is_floating_point() else x.long()
    bits = wide.numpy().view(np.uint64)
    for given, a in ((x, bits), (x.t() if x.dim() > 1 else x, bits.T)):
        assert facula.hash_tensor(given).item() == np.bitwise_xor.reduce(a, axis=None)
        for dim in range(a.ndim):
            expected = np.bitwise_xor.reduce(a, axis=dim)
            np.testing.assert_array_equal(facula.hash_tensor(given, dim).numpy(), expected)


def test_hash_of_nan_keeps_its_bits_and_vmap_hashes_each_example():
    x = facula.tensor([[float("nan"), 1.0], [2.0, -0.0]], dtype=facula.float64)
    bits = x.numpy().view(np.uint64)
    np.testing.assert_array_equal(
        facula.hash_tensor(x, 1).numpy(), np.bitwise_xor.reduce(bits, axis=1)
    )
    hashed = facula.func.vmap(facula.hash_tensor)(x)
    np.testing.assert_array_equal(hashed.numpy(), np.bitwise_xor.reduce(bits, axis=1))


def test_out_of_a_hash_must_be_of_uint64():
    out = facula.empty(0, dtype=facula.uint64)
    assert facula.hash_tensor(facula.tensor([1, 2]), out=out) is out and out.item() == 3
    with pytest.raises(RuntimeError, match="Expected result to be of dtype uint64"):
        facula.hash_tensor(facula.tensor([1]), out=facula.empty(0, dtype=facula.int64))
