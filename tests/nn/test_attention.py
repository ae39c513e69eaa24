"""scaled_dot_product_attention, multi_head_attention_forward and MultiheadAttention."""

import math

import numpy as np
import pytest

import facula
from facula import nn
from facula.nn import functional as F
from facula.nn.attention import SDPBackend, sdpa_kernel
from tests.check_op import check_op, check_threads

pytestmark = pytest.mark.promise("N2")


def attention_numpy(q, k, v, mask=None, is_causal=False, scale=None):
    scores = q @ np.swapaxes(k, -1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        mask = np.tril(np.ones(scores.shape[-2:], bool))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    high = scores.max(-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isfinite(high), high, 0))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


def random(*shape, seed=0):
    return facula.tensor(np.random.default_rng(seed).standard_normal(shape))


@pytest.mark.parametrize(
    "shapes",
    [
        [(3, 2), (5, 2), (5, 2)],
        [(2, 3, 4), (2, 5, 4), (2, 5, 3)],
        [(2, 1, 3, 4), (1, 2, 2, 4), (2, 2, 2, 4)],
        [(1, 2, 2, 3, 2), (1, 2, 2, 3, 2), (1, 2, 2, 3, 2)],
    ],
)
@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_agrees_with_the_formula(shapes, is_causal):
    check_op(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=is_causal),
        lambda q, k, v: attention_numpy(q, k, v, is_causal=is_causal),
        shapes,
    )


def test_a_mask_of_numbers_is_added_and_differentiated():
    check_op(
        F.scaled_dot_product_attention, attention_numpy, [(2, 3, 4), (2, 5, 4), (2, 5, 2), (3, 5)]
    )


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("n_queries, n_keys", [(64, 128), (65, 129), (200, 70), (70, 300)])
def test_many_blocks_agree_with_the_formula(n_queries, n_keys, is_causal):
    q, k, v = random(2, n_queries, 20), random(2, n_keys, 20, seed=1), random(2, n_keys, 9, seed=2)
    for x in (q, k, v):
        x.requires_grad_()
    y = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    expected = attention_numpy(*(x.detach().numpy() for x in (q, k, v)), is_causal=is_causal)
    np.testing.assert_allclose(y.detach().numpy(), expected, atol=1e-12)

    # The composed form, which create_graph takes, is the other way to the same gradients.
    g = random(*y.shape, seed=3)
    fused = facula.autograd.grad(y, (q, k, v), g, retain_graph=True)
    composed = facula.autograd.grad(y, (q, k, v), g, create_graph=True)
    for a, b in zip(fused, composed, strict=True):
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), atol=1e-11)


@pytest.mark.parametrize("shape", [(70, 90), (2, 1, 70, 90), (1, 3, 1, 90), (2, 3, 70, 1)])
def test_bool_masks_broadcast(shape):
    q, k, v = (random(2, 3, n, 8, seed=n) for n in (70, 90, 90))
    mask = np.random.default_rng(0).random(shape) < 0.7
    y = F.scaled_dot_product_attention(q, k, v, facula.tensor(mask))
    np.testing.assert_allclose(
        y.numpy(), attention_numpy(q.numpy(), k.numpy(), v.numpy(), mask), atol=1e-12
    )


def test_heads_of_queries_share_a_head_of_keys():
    q, k, v = random(2, 6, 5, 4), random(2, 2, 7, 4, seed=1), random(2, 2, 7, 4, seed=2)
    for x in (q, k, v):
        x.requires_grad_()
    y = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    each = [x.repeat_interleave(3, dim=1) for x in (k, v)]
    expected = F.scaled_dot_product_attention(q, *each)
    assert facula.allclose(y, expected)
    shared = facula.autograd.grad(y.square().sum(), (q, k, v))
    repeated = facula.autograd.grad(expected.square().sum(), (q, k, v))
    assert all(facula.allclose(a, b) for a, b in zip(shared, repeated, strict=True))


def test_a_query_that_sees_no_key_gives_zeros_and_zero_gradients():
    q, k, v = (random(3, 4, seed=i).requires_grad_() for i in range(3))
    mask = facula.tensor([[True, False, False], [False, False, False], [True, True, True]])
    y = F.scaled_dot_product_attention(q, k, v, mask)
    assert y[1].tolist() == [0.0] * 4
    y.sum().backward()
    assert q.grad[1].tolist() == [0.0] * 4
    assert not any(x.grad.isnan().any() for x in (q, k, v))


def test_no_keys_give_zeros():
    y = F.scaled_dot_product_attention(facula.ones(2, 3), facula.ones(0, 3), facula.ones(0, 4))
    assert y.tolist() == [[0.0] * 4] * 2


def test_large_scores_do_not_overflow():
    x = facula.tensor([[100.0, 0.0], [0.0, 100.0]])
    assert F.scaled_dot_product_attention(x, x, x, scale=1.0).tolist() == x.tolist()


def test_results_do_not_depend_on_the_threads():
    x = random(1, 2, 300, 16).float().requires_grad_()

    def gradient(is_causal):
        y = F.scaled_dot_product_attention(x, x, x, is_causal=is_causal)
        return facula.autograd.grad(y.square().sum(), x)[0]

    check_threads(
        lambda: F.scaled_dot_product_attention(x, x, x),
        lambda: gradient(False),
        lambda: gradient(True),
    )


def test_results_lie_in_memory_as_the_query():
    x = facula.ones(2, 5, 3, 4).transpose(1, 2)
    assert F.scaled_dot_product_attention(x, x, x).stride() == x.stride()


def test_dropout_zeroes_weights_and_scales_the_rest():
    facula.manual_seed(0)
    eye = facula.eye(50)
    weights = F.scaled_dot_product_attention(eye, eye, eye, dropout_p=0.5, scale=0.0)
    assert sorted(set(weights.flatten().tolist())) == pytest.approx([0.0, 2 / 50])


def test_the_graph_shows_one_operation():
    x = facula.ones(1, 1, 2, 2, requires_grad=True)
    y = F.scaled_dot_product_attention(x, x, x)
    assert y.grad_fn.name() == "ScaledDotProductFlashAttentionForCpuBackward0"


def ones(*shape, dtype=facula.float32):
    return facula.ones(shape, dtype=dtype)


@pytest.mark.parametrize(
    "arguments, options, message",
    [
        ((ones(3), ones(3), ones(3)), {}, r"at least 2 dimensions \(\.\.\., length, width\)"),
        ((ones(2, 3), ones(2, 4), ones(2, 4)), {}, r"the same width, .*: 3 is not 4"),
        ((ones(2, 3), ones(2, 3), ones(4, 3)), {}, r"a value for each key, .*: 2 is not 4"),
        ((ones(2, 3), ones(2, 3).double(), ones(2, 3)), {}, r"query, key and value of one dtype"),
        ((ones(2, 3).long(),) * 3, {}, r"expected floating-point tensors, got int64 \(2, 3\)"),
        ((ones(3, 2, 3), ones(2, 2, 3), ones(2, 2, 3)), {}, r"cannot be broadcast"),
        (
            (ones(2, 3),) * 3 + (ones(3, 3),),
            {},
            r"attn_mask \(3, 3\) does not broadcast to .*\(2, 2\)",
        ),
        ((ones(2, 3),) * 3 + (ones(2, 2).long(),), {}, r"attn_mask to be bool, float32 or"),
        (
            (ones(2, 3),) * 3 + (ones(2, 2),),
            {"is_causal": True},
            r"expected attn_mask or is_causal=True, got both",
        ),
        ((ones(2, 3),) * 3, {"dropout_p": 1.5}, r"expected dropout_p from 0 to 1, got 1.5"),
        (
            (ones(3, 2, 3), ones(2, 2, 3), ones(2, 2, 3)),
            {"enable_gqa": True},
            r"the number of heads of query, 3, to be a multiple",
        ),
    ],
)
def test_attention_refuses(arguments, options, message):
    with pytest.raises(RuntimeError, match="scaled_dot_product_attention: .*" + message):
        F.scaled_dot_product_attention(*arguments, **options)


def test_implementations_are_checked_and_change_nothing():
    x = random(1, 1, 3, 2)
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        y = F.scaled_dot_product_attention(x, x, x)
    assert facula.equal(y, F.scaled_dot_product_attention(x, x, x))
    with (
        pytest.raises(AssertionError, match="expected one SDPBackend or a list of several"),
        sdpa_kernel("math"),
    ):
        pass


def test_switches_of_implementations_are_kept():
    cuda = facula.backends.cuda
    for name in ("flash", "math", "mem_efficient", "cudnn"):
        enable, is_enabled = (
            getattr(cuda, f"enable_{name}_sdp"),
            getattr(cuda, f"{name}_sdp_enabled"),
        )
        enable(False)
        assert not is_enabled()
        enable(True)
        assert is_enabled()


# ---- several heads


def test_multihead_attention_has_pytorchs_parameters():
    same = nn.MultiheadAttention(8, 2)
    assert list(same.state_dict()) == [
        "in_proj_weight",
        "in_proj_bias",
        "out_proj.weight",
        "out_proj.bias",
    ]
    other = nn.MultiheadAttention(8, 2, bias=False, add_bias_kv=True, kdim=4, vdim=6)
    assert {name: tuple(x.shape) for name, x in other.state_dict().items()} == {
        "q_proj_weight": (8, 8),
        "k_proj_weight": (8, 4),
        "v_proj_weight": (8, 6),
        "bias_k": (1, 1, 8),
        "bias_v": (1, 1, 8),
        "out_proj.weight": (8, 8),
    }


@pytest.mark.parametrize("options", [{}, {"add_bias_kv": True, "add_zero_attn": True}])
@pytest.mark.parametrize("masks", ["none", "pairs", "padding", "both"])
def test_results_are_the_same_with_and_without_weights(options, masks):
    facula.manual_seed(0)
    attention = nn.MultiheadAttention(8, 2, **options)
    q, k = facula.randn(5, 3, 8), facula.randn(7, 3, 8)
    pairs = facula.rand(6, 5, 7) < 0.3 if masks in ("pairs", "both") else None
    padding = (
        facula.arange(7) >= facula.tensor([[7], [5], [4]]) if masks in ("padding", "both") else None
    )
    arguments = {"attn_mask": pairs, "key_padding_mask": padding}
    y, weights = attention(q, k, k, average_attn_weights=False, **arguments)
    faster, nothing = attention(q, k, k, need_weights=False, **arguments)
    assert nothing is None
    assert weights.shape == (3, 2, 5, 7 + len(options))
    assert facula.allclose(y, faster, atol=1e-6)
    assert facula.allclose(weights.sum(-1), facula.ones(3, 2, 5))


def test_the_batch_may_come_first_or_be_missing():
    facula.manual_seed(0)
    second = nn.MultiheadAttention(8, 2)
    first = nn.MultiheadAttention(8, 2, batch_first=True)
    first.load_state_dict(second.state_dict())
    x = facula.randn(5, 3, 8)
    y, weights = second(x, x, x)
    swapped, same_weights = first(*[x.transpose(0, 1)] * 3)
    assert facula.allclose(y.transpose(0, 1), swapped)
    assert facula.allclose(weights, same_weights)
    one, its_weights = second(x[:, 1], x[:, 1], x[:, 1])
    assert facula.allclose(one, y[:, 1], atol=1e-6)
    assert facula.allclose(its_weights, weights[1], atol=1e-6)


def test_a_causal_hint_gives_what_its_mask_gives():
    facula.manual_seed(0)
    attention = nn.MultiheadAttention(8, 2)
    x, mask = facula.randn(5, 3, 8), facula.full((5, 5), -math.inf).triu(1)
    expected = attention(x, x, x, attn_mask=mask)[0]
    hinted = attention(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)[0]
    assert facula.allclose(expected, hinted, atol=1e-6)


x3, x2 = facula.ones(5, 3, 8), facula.ones(5, 8)


@pytest.mark.parametrize(
    "arguments, options, error, message",
    [
        ((x3[None], x3, x3), {}, AssertionError, r"expected a query \(L, E\), or"),
        (
            (x3, x2, x2),
            {},
            AssertionError,
            r"batched \(3-D\) query goes with a key and a value of 3 dimensions",
        ),
        ((facula.ones(5, 3, 6), x3, x3), {}, AssertionError, "expected a query of 8 features"),
        ((x3, x3, x3[:4]), {}, AssertionError, "a key and a value of one length"),
        ((x3, x3[:, :2], x3[:, :2]), {}, RuntimeError, "query and key of one batch size"),
        ((x3,) * 3, {"is_causal": True}, RuntimeError, "there is no attn_mask"),
        ((x3,) * 3, {"attn_mask": ones(5, 4)}, RuntimeError, r"attn_mask \(5, 5\), got \(5, 4\)"),
        (
            (x3,) * 3,
            {"attn_mask": ones(5, 5).long()},
            AssertionError,
            "as bool or a floating-point",
        ),
        ((x3,) * 3, {"key_padding_mask": ones(3, 4)}, AssertionError, "each of the 5 keys"),
        ((x3,) * 3, {"key_padding_mask": ones(5)}, AssertionError, r"of 2 dimensions, got \(5,\)"),
    ],
)
def test_multihead_attention_refuses(arguments, options, error, message):
    with pytest.raises(error, match=message):
        nn.MultiheadAttention(8, 2)(*arguments, **options)


def test_multihead_attention_refuses_heads_that_do_not_divide():
    with pytest.raises(AssertionError, match="expected num_heads to divide embed_dim=8, got 3"):
        nn.MultiheadAttention(8, 3)
    with pytest.raises(ValueError, match="a positive embed_dim and num_heads, got 8 and 0"):
        nn.MultiheadAttention(8, 0)


def test_mixed_masks_are_deprecated():
    with pytest.warns(UserWarning, match="mismatched dtypes of key_padding_mask and attn_mask"):
        nn.MultiheadAttention(8, 2)(
            x3, x3, x3, key_padding_mask=ones(3, 5).bool().logical_not(), attn_mask=ones(5, 5)
        )


def test_scaled_dot_product_attention_has_its_public_name():
    assert F.scaled_dot_product_attention.__name__ == "scaled_dot_product_attention"
    assert not hasattr(facula, "scaled_dot_product_attention")
