import math
import warnings

import pytest

import facula
from facula.nn import functional as F
from facula.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)


def causal(b, h, q, k):
    return q >= k


def qkv(*, heads=2, kv_heads=None, length=5, dtype=facula.float64):
    shape = (2, kv_heads or heads, length, 4)
    q = facula.randn(2, heads, length, 4, dtype=dtype)
    return q, facula.randn(shape, dtype=dtype), facula.randn(shape, dtype=dtype)


def test_without_functions_it_is_attention():
    q, k, v = qkv()
    facula.testing.assert_close(flex_attention(q, k, v), F.scaled_dot_product_attention(q, k, v))


def test_scores_are_changed_one_by_one():
    q, k, v = qkv()
    table = facula.randn(2, dtype=q.dtype)

    def score_mod(score, b, h, i, j):
        return score * 2 + table[h] * (i - j) + b

    i, j = facula.arange(5)[:, None], facula.arange(5)
    scores = q @ k.transpose(-2, -1) / 2
    scores = scores * 2 + table[:, None, None] * (i - j) + facula.arange(2)[:, None, None, None]
    expected = scores.softmax(-1) @ v
    facula.testing.assert_close(flex_attention(q, k, v, score_mod=score_mod), expected)


def test_a_mask_of_blocks_is_the_mask():
    q, k, v = qkv(length=40)
    mask = create_block_mask(causal, None, None, 40, 40, "cpu", BLOCK_SIZE=16)
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    facula.testing.assert_close(flex_attention(q, k, v, block_mask=mask), expected)
    shifted = flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + 1, block_mask=mask)
    facula.testing.assert_close(shifted, expected)


def test_derivatives_flow_to_inputs_and_to_what_functions_use():
    q, k, v = (t.requires_grad_() for t in qkv(length=3))
    bias = facula.randn(2, dtype=facula.float64, requires_grad=True)
    mask = create_block_mask(causal, None, None, 3, 3, "cpu", BLOCK_SIZE=2)

    def run(q, k, v, bias):
        return flex_attention(
            q, k, v, score_mod=lambda s, b, h, i, j: s + bias[h] * j, block_mask=mask
        )

    assert facula.autograd.gradcheck(run, (q, k, v, bias))


def test_more_heads_of_queries_than_of_keys():
    q, k, v = qkv(heads=4, kv_heads=2)
    expected = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    facula.testing.assert_close(flex_attention(q, k, v, enable_gqa=True), expected)
    heads = flex_attention(q, k, v, lambda s, b, h, i, j: s + 0 * h, enable_gqa=True)
    facula.testing.assert_close(heads, expected)


def test_logarithms_and_largest_scores_on_request():
    q, k, v = qkv()
    scores = q @ k.transpose(-2, -1) / 2
    result, aux = flex_attention(q, k, v, return_aux=AuxRequest(lse=True, max_scores=True))
    facula.testing.assert_close(aux.lse, scores.logsumexp(-1))
    facula.testing.assert_close(aux.max_scores, scores.amax(-1))
    facula.testing.assert_close(result, flex_attention(q, k, v))
    with pytest.warns(FutureWarning, match="return_lse is deprecated"):
        _, lse = flex_attention(q, k, v, return_lse=True)
    facula.testing.assert_close(lse, aux.lse)
    assert flex_attention(q, k, v, return_aux=AuxRequest())[1] == (None, None)


def test_a_query_that_sees_nothing_gets_zeros():
    q, k, v = (t.requires_grad_() for t in qkv())
    mask = create_block_mask(lambda b, h, i, j: i > j, None, None, 5, 5, "cpu", BLOCK_SIZE=2)
    for score_mod in (None, lambda s, b, h, i, j: s):
        result = flex_attention(q, k, v, score_mod=score_mod, block_mask=mask)
        assert result[:, :, 0].abs().sum() == 0
        assert not facula.autograd.grad(result.sum(), q)[0].isnan().any()
    lse = flex_attention(q, k, v, block_mask=mask, return_aux=AuxRequest(lse=True))[1].lse
    assert lse[0, 0, 0] == -math.inf


def test_masks_can_be_joined():
    near = and_masks(causal, lambda b, h, i, j: i - j < 2)
    prefix = or_masks(causal, lambda b, h, i, j: j < 1)
    assert create_mask(near, None, None, 3, 3, "cpu")[0, 0].sum() == 5
    assert create_mask(prefix, 2, 3, 3, 3, "cpu").shape == (2, 3, 3, 3)
    assert create_mask(noop_mask, None, None, 2, 2, "cpu").all()
    with pytest.raises(RuntimeError, match="expected functions"):
        and_masks(3)
    with pytest.raises(AssertionError, match="of 4 numbers"):
        create_mask(lambda b: b, None, None, 2, 2)


def test_masks_may_depend_on_examples_and_heads():
    lengths = facula.tensor([2, 4])

    def mask_mod(b, h, i, j):
        return (j < lengths[b]) & (i >= j * h)

    mask = create_mask(mask_mod, 2, 2, 4, 4, "cpu")
    for b, h, i, j in facula.cartesian_prod(*[facula.arange(n) for n in mask.shape]).tolist():
        assert mask[b, h, i, j] == (j < lengths[b] and i >= j * h)


def test_lists_of_blocks():
    mask = create_block_mask(causal, 1, 2, 300, 260, "cpu")
    assert mask.shape == (1, 2, 300, 260) and mask.numel() == 156000
    assert mask.kv_num_blocks[0, 0].tolist() == [1, 1, 3]
    assert mask.full_kv_num_blocks[0, 0].tolist() == [0, 1, 0]
    assert mask.kv_indices[0, 0].tolist() == [[0, 1, 2], [1, 0, 2], [0, 1, 2]]
    assert mask.q_num_blocks[0, 0].tolist() == [2, 2, 1]
    assert mask.to_dense()[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert mask.sparsity() == pytest.approx(-26.030769)
    assert mask[0].shape == (1, 2, 300, 260) and mask[:, 0].shape == (1, 1, 300, 260)
    assert mask[:, :, :1].seq_lengths == (128, 260)
    assert "sparsity=-26.03%" in repr(mask) and "██████" in repr(mask)
    assert mask._adjust(100, 100).to_dense().shape == (1, 2, 1, 1)
    assert mask.to("cpu").mask_mod is causal
    assert len(mask.as_tuple()) == 13 and len(mask.as_tuple(flatten=False)) == 11


def test_a_mask_from_lists():
    counts = facula.tensor([[[1, 2]]], dtype=facula.int32)
    indices = facula.tensor([[[[0, 1], [0, 1]]]], dtype=facula.int32)
    mask = BlockMask.from_kv_blocks(counts, indices, BLOCK_SIZE=2, mask_mod=causal)
    assert mask.seq_lengths == (4, 4)
    assert mask.q_num_blocks.tolist() == [[[2, 1]]]
    with pytest.raises(AssertionError, match="given together"):
        BlockMask.from_kv_blocks(counts, indices, full_kv_num_blocks=counts)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda q, m: flex_attention(q[0], q, q), NotImplementedError, "a query of 4 dimensions"),
        (lambda q, m: flex_attention(q, q.float(), q), ValueError, "expected one dtype"),
        (lambda q, m: flex_attention(q, q[..., :2], q), ValueError, "embedding dimension"),
        (lambda q, m: flex_attention(q, q[:, :1], q[:, :1]), ValueError, "enable_gqa=True"),
        (lambda q, m: flex_attention(q, q, q, block_mask=m), ValueError, "q_len=5 and kv_len=5"),
        (lambda q, m: create_block_mask(causal, 1, 1, 2, 2, "cpu", 0), ValueError, "positive"),
    ],
)
def test_what_is_refused(call, error, message):
    mask = create_block_mask(causal, None, None, 4, 4, "cpu", BLOCK_SIZE=2)
    with pytest.raises(error, match=message):
        call(qkv()[0], mask)


def test_nothing_warns():
    q, k, v = qkv()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: facula.where(i >= j, s, -math.inf))
