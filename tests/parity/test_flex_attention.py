"""flex_attention and its masks against PyTorch's own, without its compiler."""

import warnings

import numpy as np
import pytest
import torch
import torch.nn.attention.flex_attention as theirs

import facula
import facula.nn.attention.flex_attention as ours

MASKS = {
    "causal": lambda b, h, q, k: q >= k,
    "window": lambda b, h, q, k: (q >= k) & (q - k < 5),
    "heads": lambda b, h, q, k: (q + h >= k) | (k < b),
    "nothing": lambda b, h, q, k: q > k,
}
SCORES = {
    "none": None,
    "alibi": lambda s, b, h, q, k: s - (q - k) * 0.5 * (h + 1),
    "capped": lambda s, b, h, q, k: s / (1 + s * s),
    "by example": lambda s, b, h, q, k: s * (b + 1) + k,
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("sizes", [(None, None, 20, 20, 8), (2, 3, 19, 33, (4, 16))])
def test_blocks_are_the_same(mask, sizes):
    B, H, q, k, size = sizes
    a = theirs.create_block_mask(MASKS[mask], B, H, q, k, "cpu", size)
    b = ours.create_block_mask(MASKS[mask], B, H, q, k, "cpu", size)
    assert a.shape == b.shape and a.sparsity() == pytest.approx(b.sparsity())
    for name in ("kv_num_blocks", "full_kv_num_blocks", "q_num_blocks", "full_q_num_blocks"):
        assert getattr(a, name).tolist() == getattr(b, name).tolist(), name
    assert a.to_dense().tolist() == b.to_dense().tolist()
    assert a.to_string(limit=9) == b.to_string(limit=9)


@pytest.mark.parametrize("heads", [(2, 2), (4, 2)])
@pytest.mark.parametrize("mask", [None, *MASKS])
@pytest.mark.parametrize("score", SCORES)
def test_results_are_the_same(score, mask, heads):
    rng = np.random.default_rng(0)
    data = [rng.standard_normal((2, h, 9, 8)).astype(np.float32) for h in (*heads, heads[1])]
    results = []
    for package, module in ((torch, theirs), (facula, ours)):
        q, k, v = (package.from_numpy(x.copy()) for x in data)
        block = mask and module.create_block_mask(MASKS[mask], 2, heads[0], 9, 9, "cpu", 4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y, aux = module.flex_attention(
                q,
                k,
                v,
                SCORES[score],
                block or None,
                enable_gqa=heads[0] != heads[1],
                return_aux=module.AuxRequest(lse=True),
            )
        results.append([y.numpy(), aux.lse.numpy()])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
