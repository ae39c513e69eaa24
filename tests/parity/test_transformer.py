"""Attention modules and transformers in every form: weights, results, gradients, random numbers."""

import functools

import pytest
import torch

from .modules import Case, differences


def _random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))


def _causal(n, dtype=torch.float32):
    return torch.nn.Transformer.generate_square_subsequent_mask(n).to(dtype)


def _padding(n_batch, length):
    """Sequence i ends i + 1 places early."""
    return torch.arange(length) >= torch.arange(length - 1, length - 1 - n_batch, -1)[:, None]


def _make(name, args, kwargs):
    return lambda lib: getattr(lib.nn, name)(*args, **kwargs)


def _attention_cases():
    q, k = _random(5, 3, 8), _random(7, 3, 8)
    masks = {
        "plain": {},
        "pairs": {"attn_mask": _random(5, 7) > 0.8},
        "pairs of each head": {"attn_mask": _random(6, 5, 7)},
        "padding": {"key_padding_mask": _padding(3, 7)},
        "both": {"attn_mask": _random(5, 7) > 0.8, "key_padding_mask": _padding(3, 7)},
    }
    forms = {
        "plain": {},
        "added keys": {"add_bias_kv": True, "add_zero_attn": True},
        "no bias": {"bias": False},
        "dropout": {"dropout": 0.3},
    }
    for form, options in forms.items():
        for mask, arguments in masks.items():
            for weights in ({}, {"need_weights": False}, {"average_attn_weights": False}):
                name = f"attention, {form}, {mask}, {weights}"
                make = _make("MultiheadAttention", (8, 2), options)
                yield name, make, (q, k, k), {**arguments, **weights}
    widths = {"kdim": 4, "vdim": 6, "batch_first": True}
    inputs = (_random(2, 3, 8), _random(2, 5, 4), _random(2, 5, 6))
    yield "attention, widths", _make("MultiheadAttention", (8, 2), widths), inputs, {}
    x = _random(5, 8)
    yield "attention, no batch", _make("MultiheadAttention", (8, 2), {}), (x, x, x), {}
    hint = {"attn_mask": _causal(5), "is_causal": True, "need_weights": False}
    yield "attention, causal", _make("MultiheadAttention", (8, 2), {}), (x, x, x), hint


def _transformer_cases():
    forms = {
        "plain": {},
        "gelu": {"activation": "gelu"},
        "norm first": {"norm_first": True},
        "batch first": {"batch_first": True},
        "no bias": {"bias": False},
        "no dropout": {"dropout": 0.0},
    }
    for form, options in forms.items():
        layer = (8, 2, 16)
        swap = options.get("batch_first", False)
        src, tgt = (x.transpose(0, 1) if swap else x for x in (_random(7, 3, 8), _random(5, 3, 8)))
        masks = {
            "plain": ({}, {}),
            "causal": ({"src_mask": _causal(7)}, {"tgt_mask": _causal(5)}),
            "padding": (
                {"src_key_padding_mask": _padding(3, 7)},
                {"tgt_key_padding_mask": _padding(3, 5), "memory_key_padding_mask": _padding(3, 7)},
            ),
        }
        for mask, (ours, theirs) in masks.items():
            name = f"{form}, {mask}"
            encoder = _make("TransformerEncoderLayer", layer, options)
            yield f"encoder layer, {name}", encoder, (src,), ours
            decoder = _make("TransformerDecoderLayer", layer, options)
            yield f"decoder layer, {name}", decoder, (tgt, src), theirs
            whole = _make("Transformer", (8, 2, 2, 2, 16), options)
            yield f"transformer, {name}", whole, (src, tgt), {**ours, **theirs}
    whole = _make("Transformer", (8, 2, 1, 1, 16), {})
    yield "transformer, no batch", whole, (_random(7, 8), _random(5, 8)), {}


def _stack(lib, **options):
    layer = lib.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return lib.nn.TransformerEncoder(layer, 2, norm=lib.nn.LayerNorm(8), **options)


def _encoder_cases():
    x = _random(3, 7, 8)
    yield "encoder", _stack, (x,), {}
    yield "encoder, causal", _stack, (x,), {"mask": _causal(7)}
    yield "encoder, padding", _stack, (x,), {"src_key_padding_mask": _padding(3, 7)}
    plain = functools.partial(_stack, enable_nested_tensor=False)
    yield "encoder, padding kept", plain, (x,), {"src_key_padding_mask": _padding(3, 7)}


CASES = {c[0]: c[1:] for c in (*_attention_cases(), *_transformer_cases(), *_encoder_cases())}


@pytest.mark.filterwarnings("ignore:enable_nested_tensor", "ignore:Support for mismatched")
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", CASES)
def test_module_agrees(name, training):
    make, args, kwargs = CASES[name]
    found = differences(Case(name, make, torch.float32, training, args, kwargs))
    assert not found, "\n".join(f"{d.category}: {d.text}" for d in found)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_evaluation_without_gradients_clears_padding_as_pytorch_does():
    from .frameworks import convert, facula, seed, to_numpy

    x, padding = _random(3, 7, 8), _padding(3, 7)
    results = []
    for lib in (torch, facula):
        seed(lib)
        encoder = _stack(lib).eval()
        with lib.no_grad():
            arguments = (convert(lib, x), None, convert(lib, padding))
            results.append(to_numpy(encoder(*arguments)))
    assert abs(results[0] - results[1]).max() < 1e-6
