import pytest

import facula
from facula.nn import functional as F
from facula.nn.attention.bias import CausalBias, causal_lower_right, causal_upper_left


@pytest.mark.parametrize("lengths", [(4, 4), (2, 5), (5, 2)])
@pytest.mark.parametrize("make", [causal_upper_left, causal_lower_right])
def test_attention_takes_the_bias_for_its_mask(make, lengths):
    n, m = lengths
    q, k = facula.randn(2, 3, n, 8), facula.randn(2, 3, m, 8)
    bias = make(n, m)
    mask = bias._materialize()
    expected = F.scaled_dot_product_attention(q, k, k, attn_mask=mask)
    facula.testing.assert_close(F.scaled_dot_product_attention(q, k, k, attn_mask=bias), expected)
    facula.testing.assert_close(F.scaled_dot_product_attention(q, k, k, bias), expected)


def test_masks_of_both_corners():
    assert causal_upper_left(2, 3)._materialize().int().tolist() == [[1, 0, 0], [1, 1, 0]]
    assert causal_lower_right(2, 3)._materialize().int().tolist() == [[1, 1, 0], [1, 1, 1]]
    assert "True" in repr(causal_lower_right(2, 3))


def test_what_is_refused():
    x = facula.ones(1, 1, 2, 2)
    with pytest.raises(ValueError, match="needs no is_causal"):
        F.scaled_dot_product_attention(x, x, x, causal_upper_left(2, 2), is_causal=True)
    with pytest.raises(AssertionError, match="queries and keys"):
        causal_upper_left(3)
    with pytest.raises(AssertionError, match="CausalVariant"):
        CausalBias(7, 2, 2)


def test_other_implementations_are_put_in_place_and_taken_away():
    from facula.nn import attention

    log = []

    class Handle:
        def remove(self):
            log.append("removed")

    def register():
        log.append("called")
        return Handle()

    attention.register_flash_attention_impl("mine", register_fn=register)
    assert attention.list_flash_attention_impls() == ["mine"]
    attention.activate_flash_attention_impl("mine")
    assert attention.current_flash_attention_impl() == "mine"
    attention.restore_flash_attention_impl()
    assert log == ["called", "removed"] and attention.current_flash_attention_impl() is None
    with pytest.raises(ValueError, match="got 'other'"):
        attention.activate_flash_attention_impl("other")
    del attention._registered["mine"]
