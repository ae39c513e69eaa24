import pytest

import facula
from facula.nn import functional as F
from facula.vision.models import SwinTransformer
from facula.vision.models.swin_transformer import (
    PatchMerging,
    PatchMergingV2,
    ShiftedWindowAttention,
    ShiftedWindowAttentionV2,
    SwinTransformerBlockV2,
    _patch_merging_pad,
    shifted_window_attention,
)

pytestmark = pytest.mark.promise("D3")


def test_four_neighbours_become_one_vector():
    x = facula.arange(4.0).view(1, 2, 2, 1)
    assert _patch_merging_pad(x).flatten().tolist() == [0.0, 2.0, 1.0, 3.0]
    for merge in (PatchMerging, PatchMergingV2):
        assert merge(4)(facula.ones(2, 5, 4, 4)).shape == (2, 3, 2, 8)


def test_a_window_sees_only_itself():
    attention = ShiftedWindowAttention(4, [2, 2], [0, 0], num_heads=2)
    x = facula.randn(1, 4, 4, 4)
    far = x.clone()
    far[:, 2:, :] += 1
    facula.testing.assert_close(attention(far)[:, :2], attention(x)[:, :2])


def test_what_a_shift_brings_together_from_both_ends_stays_apart():
    attention = ShiftedWindowAttention(4, [2, 2], [1, 1], num_heads=2)
    x = facula.randn(1, 4, 4, 4)
    far = x.clone()
    far[:, 3, 3] += 1
    assert facula.allclose(attention(far)[:, 0, 0], attention(x)[:, 0, 0])
    far[:, 1, 1] += 1
    assert not facula.allclose(attention(far)[:, 2, 2], attention(x)[:, 2, 2], atol=1e-4)


def test_attention_of_one_window_is_plain_attention():
    x, weight, eye = facula.randn(1, 2, 3, 4), facula.randn(12, 4), facula.eye(4)
    bias = facula.randn(1, 1, 6, 6)
    y = shifted_window_attention(x, weight, eye, bias, [2, 3], 1, [1, 1])
    q, k, v = F.linear(x.view(1, 1, 6, 4), weight).chunk(3, dim=-1)
    expected = F.scaled_dot_product_attention(q, k, v, bias).view(1, 2, 3, 4)
    facula.testing.assert_close(y, expected)


def test_images_that_windows_do_not_divide_are_padded():
    for layer in (ShiftedWindowAttention, ShiftedWindowAttentionV2):
        assert layer(4, [3, 3], [1, 1], num_heads=2)(facula.randn(2, 7, 5, 4)).shape == (2, 7, 5, 4)


def test_keys_have_no_bias_in_version_2():
    attention = ShiftedWindowAttentionV2(4, [2, 2], [0, 0], num_heads=2)
    x = facula.randn(1, 2, 2, 4)
    y = attention(x)
    with facula.no_grad():
        attention.qkv.bias[4:8] = 5.0
    facula.testing.assert_close(attention(x), y)


def test_windows_have_two_sizes():
    with pytest.raises(
        ValueError, match=r"expected 2 numbers in window_size .* got \[1\] and \[0\]"
    ):
        ShiftedWindowAttention(8, [1], [0], 2)


@pytest.mark.parametrize(
    "layers", [{}, {"block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2}]
)
def test_a_small_model_learns(layers):
    facula.manual_seed(0)
    model = SwinTransformer([4, 4], 8, [2, 2], [1, 2], [2, 2], num_classes=2, **layers)
    optimizer = facula.optim.Adam(model.parameters(), lr=0.01)
    images = facula.randn(4, 3, 32, 32)
    for _ in range(25):
        loss = F.cross_entropy(model(images), facula.tensor([0, 1, 0, 1]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.3
    assert all(p.grad is not None for p in model.parameters())
