"""Names that few programs use, against PyTorch's."""

import numpy as np
import pytest
import torch

import facula

DTYPES = ["float32", "float64", "float16", "int64", "int32", "uint8", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [None, 0, 1, (0, 2)])
def test_hashes_are_pytorchs(dtype, dim):
    data = (np.random.default_rng(0).standard_normal((3, 4, 5)) * 50).astype(np.float32)
    x = torch.from_numpy(data).to(getattr(torch, dtype))
    y = facula.from_numpy(data).to(getattr(facula, dtype))
    options = {} if dim is None else {"dim": dim, "keepdim": True}
    a, b = torch.hash_tensor(x, **options), facula.hash_tensor(y, **options)
    assert tuple(a.shape) == tuple(b.shape)
    assert a.view(torch.int64).tolist() == b.view(facula.int64).tolist()


@pytest.mark.parametrize(
    "pattern, shape, lengths",
    [
        ("b h w c -> b c h w", (2, 3, 4, 5), {}),
        ("b (h p) (w q) c -> (b h w) (p q c)", (2, 6, 4, 3), {"p": 2, "q": 2}),
        ("... c -> c ...", (2, 3, 4), {}),
        ("a 1 b -> (a b) 1", (2, 1, 3), {}),
    ],
)
def test_patterns_are_pytorchs(pattern, shape, lengths):
    data = np.arange(np.prod(shape)).reshape(shape)
    a = torch.func.rearrange(torch.from_numpy(data), pattern, **lengths)
    b = facula.func.rearrange(facula.from_numpy(data), pattern, **lengths)
    assert a.tolist() == b.tolist()


@pytest.mark.filterwarnings("ignore")  # PyTorch's own, of names of old
@pytest.mark.parametrize("name", ["frobenius_norm", "nuclear_norm"])
def test_norms_are_pytorchs(name):
    data = np.random.default_rng(0).standard_normal((2, 4, 3)).astype(np.float32)
    a = getattr(torch, name)(torch.from_numpy(data), (1, 2), True)
    b = getattr(facula, name)(facula.from_numpy(data), (1, 2), True)
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)


def test_symbols_are_pytorchs():
    for a, b in ((1, 2), (2.5, 1), (-3, 0.5)):
        assert torch.sym_max(a, b) == facula.sym_max(a, b)
        assert type(torch.sym_min(a, b)) is type(facula.sym_min(a, b))
    assert torch.sym_int(-2.5) == facula.sym_int(-2.5)
