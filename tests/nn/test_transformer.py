"""Transformers and their layers."""

import math

import pytest

import facula
from facula import nn

pytestmark = pytest.mark.promise("N2")


def small(cls, *args, **kwargs):
    facula.manual_seed(0)
    return cls(8, 2, *args, dim_feedforward=16, **kwargs)


def causal(n):
    return nn.Transformer.generate_square_subsequent_mask(n)


def test_subsequent_masks_hide_what_comes_later():
    assert causal(3).tolist() == [[0.0, -math.inf, -math.inf], [0.0, 0.0, -math.inf], [0.0] * 3]
    mask = nn.Transformer.generate_square_subsequent_mask(2, dtype=facula.float64)
    assert mask.dtype == facula.float64


def test_parameters_have_pytorchs_names_and_order():
    names = [
        f"{part}.{kind}"
        for part in ("linear1", "linear2", "norm1", "norm2", "norm3")
        for kind in ("weight", "bias")
    ]
    attention = ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]
    decoder = small(nn.TransformerDecoderLayer).state_dict()
    assert list(decoder) == [
        *(f"{part}.{name}" for part in ("self_attn", "multihead_attn") for name in attention),
        *names,
    ]
    encoder = small(nn.TransformerEncoderLayer).state_dict()
    assert list(encoder) == [*(f"self_attn.{name}" for name in attention), *names[:-2]]


def test_layers_of_an_encoder_are_copies():
    encoder = nn.TransformerEncoder(small(nn.TransformerEncoderLayer), 2)
    first, second = (layer.linear1.weight for layer in encoder.layers)
    assert first is not second
    assert facula.equal(first, second)


@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_layer_is_attention_and_network_added_to_their_inputs(norm_first):
    layer = small(nn.TransformerEncoderLayer, dropout=0.0, norm_first=norm_first, activation="gelu")
    x = facula.randn(5, 3, 8)

    def attend(v):
        return layer.self_attn(v, v, v)[0]

    def network(v):
        return layer.linear2(nn.functional.gelu(layer.linear1(v)))

    if norm_first:
        y = x + attend(layer.norm1(x))
        y = y + network(layer.norm2(y))
    else:
        y = layer.norm1(x + attend(x))
        y = layer.norm2(y + network(y))
    assert facula.allclose(layer(x), y, atol=1e-6)


def test_later_tokens_do_not_change_earlier_results():
    model = small(nn.Transformer, 1, 1).eval()
    src, tgt = facula.randn(6, 2, 8), facula.randn(5, 2, 8)
    changed = tgt.clone()
    changed[-1] = 0.0
    before, after = (model(src, t, tgt_mask=causal(5)) for t in (tgt, changed))
    assert facula.allclose(before[:-1], after[:-1], atol=1e-6)
    assert not facula.allclose(before[-1], after[-1], atol=1e-6)


def test_padding_does_not_change_results():
    model = small(nn.Transformer, 1, 1, batch_first=True).eval()
    src, tgt = facula.randn(2, 6, 8), facula.randn(2, 5, 8)
    padding = facula.tensor([[False] * 4 + [True] * 2] * 2)
    padded = model(src, tgt, src_key_padding_mask=padding, memory_key_padding_mask=padding)
    assert facula.allclose(padded, model(src[:, :4], tgt), atol=1e-5)


def test_an_encoder_clears_padding_in_evaluation_without_gradients():
    layer = small(nn.TransformerEncoderLayer, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 1).eval()
    x, padding = facula.randn(1, 3, 8), facula.tensor([[False, False, True]])
    with facula.no_grad():
        y = encoder(x, src_key_padding_mask=padding)
        kept = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()
        assert (kept(x, src_key_padding_mask=padding)[0, 2] != 0).all()
        facula.backends.mha.set_fastpath_enabled(False)
        assert (encoder(x, src_key_padding_mask=padding)[0, 2] != 0).all()
        facula.backends.mha.set_fastpath_enabled(True)
    assert y[0, 2].tolist() == [0.0] * 8
    assert (y[0, 1] != 0).all()


def test_inputs_may_have_no_batch():
    model = small(nn.Transformer, 1, 1).eval()
    src, tgt = facula.randn(6, 8), facula.randn(5, 8)
    batched = model(src.unsqueeze(1), tgt.unsqueeze(1)).squeeze(1)
    assert facula.allclose(model(src, tgt), batched, atol=1e-6)


def test_custom_parts_take_the_place_of_encoder_and_decoder():
    class First(nn.Module):
        def forward(self, first, *others, **masks):
            return first

    model = nn.Transformer(8, 2, custom_encoder=First(), custom_decoder=First())
    tgt = facula.randn(5, 2, 8)
    assert model(facula.randn(6, 2, 8), tgt) is tgt


@pytest.mark.parametrize(
    "src, tgt, message",
    [
        ((5, 3, 7), (5, 3, 8), r"d_model=8 features .* got \(5, 3, 7\) and \(5, 3, 8\)"),
        ((5, 3, 8), (5, 3, 7), r"d_model=8 features"),
        ((5, 3, 8), (5, 2, 8), r"one batch size"),
    ],
)
def test_transformer_refuses(src, tgt, message):
    with pytest.raises(RuntimeError, match="Transformer: expected src and tgt of " + message):
        small(nn.Transformer, 1, 1)(facula.ones(src), facula.ones(tgt))


def test_layers_refuse_what_is_no_sequence_and_unknown_activations():
    with pytest.raises(AssertionError, match=r"expected a query \(L, E\), or"):
        small(nn.TransformerEncoderLayer)(facula.ones(1, 5, 3, 8))
    with pytest.raises(
        RuntimeError, match="expected activation as 'relu', 'gelu' or a function, got 'tanh'"
    ):
        small(nn.TransformerEncoderLayer, activation="tanh")
    with pytest.raises(AssertionError, match="expected src_key_padding_mask as bool or"):
        small(nn.TransformerEncoderLayer)(
            facula.ones(5, 3, 8), src_key_padding_mask=facula.ones(3, 5, dtype=facula.int64)
        )
