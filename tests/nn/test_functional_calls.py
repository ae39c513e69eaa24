"""Modules call what ``nn.functional`` has at the time: programs that count calls replace it."""

import pytest

import facula
from facula import nn
from facula.nn import functional as F

IMAGE, LINE = (1, 4, 8, 8), (1, 4, 8)

CALLS = [
    (nn.Conv1d(4, 4, 3), LINE, ["conv1d"]),
    (nn.Conv2d(4, 4, 3), IMAGE, ["conv2d"]),
    (nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"), IMAGE, ["pad", "conv2d"]),
    (nn.ConvTranspose2d(4, 4, 3), IMAGE, ["conv_transpose2d"]),
    (nn.MaxPool2d(2), IMAGE, ["max_pool2d"]),
    (nn.AvgPool1d(2), LINE, ["avg_pool1d"]),
    (nn.AvgPool2d(2), IMAGE, ["avg_pool2d"]),
    (nn.LPPool2d(2, 2), IMAGE, ["lp_pool2d"]),
    (nn.AdaptiveAvgPool2d(2), IMAGE, ["adaptive_avg_pool2d"]),
    (nn.AdaptiveMaxPool2d(2), IMAGE, ["adaptive_max_pool2d"]),
    (nn.FractionalMaxPool2d(2, output_size=3), IMAGE, ["fractional_max_pool2d"]),
    (nn.Hardshrink(), LINE, ["hardshrink"]),
    (nn.PReLU(), LINE, ["prelu"]),
    (nn.Softmax2d(), IMAGE, ["softmax"]),
    (nn.BatchNorm2d(4), IMAGE, ["batch_norm"]),
    (nn.Linear(8, 2), LINE, ["linear"]),
]


@pytest.fixture
def called(monkeypatch):
    names = []

    def counted(name, function):
        def call(*args, **kwargs):
            names.append(name)
            return function(*args, **kwargs)

        return call

    for name in F.__all__:
        function = getattr(F, name)
        if callable(function) and not isinstance(function, type):
            monkeypatch.setattr(F, name, counted(name, function))
    return names


@pytest.mark.parametrize("module, shape, names", CALLS, ids=lambda value: str(value)[:40])
def test_a_module_calls_the_functions_that_are_there(module, shape, names, called):
    module(facula.rand(shape))
    assert called == names


def test_an_unpooling_module_calls_the_function_that_is_there(called):
    pooled, indices = nn.MaxPool2d(2, return_indices=True)(facula.rand(IMAGE))
    nn.MaxUnpool2d(2)(pooled, indices)
    assert called == ["max_pool2d", "max_unpool2d"]


def test_attention_calls_the_functions_that_are_there(called):
    x, attention = facula.rand(5, 2, 4), nn.MultiheadAttention(4, 2)
    attention(x, x, x)
    assert called == ["multi_head_attention_forward", "linear", "softmax", "linear"]
    called.clear()
    attention(x, x, x, need_weights=False)
    assert called[2] == "scaled_dot_product_attention"
