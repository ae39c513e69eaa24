import copy

import pytest

import facula
from facula import nn
from facula.nn import functional as F

pytestmark = pytest.mark.promise("N2")


def test_first_values_are_those_of_pytorch():
    facula.manual_seed(0)
    m = nn.Conv1d(2, 2, 2)
    first = [-0.003743410110473633, 0.26822179555892944, -0.4115225672721863]
    assert m.weight.flatten().tolist()[:3] == first
    assert m.bias.tolist() == [-0.04437202215194702, 0.1323062777519226]


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: nn.Conv2d(3, 4, 3), "Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1))"),
        (
            lambda: nn.Conv2d(
                3, 6, (3, 5), 2, (1, 2), dilation=2, groups=3, bias=False, padding_mode="circular"
            ),
            "Conv2d(3, 6, kernel_size=(3, 5), stride=(2, 2), padding=(1, 2), dilation=(2, 2), "
            "groups=3, bias=False, padding_mode=circular)",
        ),
        (
            lambda: nn.Conv1d(3, 4, 3, padding="same"),
            "Conv1d(3, 4, kernel_size=(3,), stride=(1,), padding=same)",
        ),
        (
            lambda: nn.ConvTranspose3d(3, 4, 3, stride=2, output_padding=1),
            "ConvTranspose3d(3, 4, kernel_size=(3, 3, 3), stride=(2, 2, 2), "
            "output_padding=(1, 1, 1))",
        ),
        (lambda: nn.LazyConv2d(4, 3), "LazyConv2d(0, 4, kernel_size=(3, 3), stride=(1, 1))"),
        (lambda: nn.Unfold(3), "Unfold(kernel_size=3, dilation=1, padding=0, stride=1)"),
        (
            lambda: nn.Fold((4, 4), 2),
            "Fold(output_size=(4, 4), kernel_size=2, dilation=1, padding=0, stride=1)",
        ),
    ],
)
def test_a_layer_prints_its_arguments(make, text):
    assert repr(make()) == text


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_the_padding_may_come_from_the_image(mode):
    m = nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode=mode)
    x = facula.randn(1, 2, 5, 6)
    expected = F.conv2d(F.pad(x, (2, 2, 1, 1), mode=mode), m.weight, m.bias)
    assert facula.equal(m(x), expected)


def test_padding_to_the_same_size_may_come_from_the_image_too():
    m = nn.Conv2d(2, 3, 4, padding="same", padding_mode="circular")
    assert m(facula.randn(1, 2, 6, 6)).shape == (1, 3, 6, 6)


def test_a_transposed_convolution_can_be_told_its_output_size():
    m = nn.ConvTranspose2d(3, 4, 3, stride=2)
    x = facula.randn(1, 3, 5, 5)
    assert m(x).shape == (1, 4, 11, 11)
    assert m(x, output_size=(12, 11)).shape == (1, 4, 12, 11)
    assert m(x, output_size=(1, 4, 12, 12)).shape == (1, 4, 12, 12)
    with pytest.raises(ValueError, match=r"an output_size from \[11, 11\] to \[12, 12\]"):
        m(x, output_size=(14, 12))
    with pytest.raises(ValueError, match="expected an output_size of 2 or 4 numbers"):
        m(x, output_size=(14,))


def test_a_lazy_convolution_learns_its_channels_and_becomes_an_ordinary_one():
    m = nn.LazyConv2d(6, 3, groups=2)
    assert m(facula.randn(1, 4, 5, 5)).shape == (1, 6, 3, 3)
    assert type(m) is nn.Conv2d
    assert (m.in_channels, m.weight.shape) == (4, (6, 2, 3, 3))
    t = nn.LazyConvTranspose1d(6, 3, groups=2)
    assert t(facula.randn(4, 5)).shape == (6, 7)
    assert t.weight.shape == (4, 3, 3)


def test_a_lazy_convolution_takes_its_channels_from_a_state_dict():
    m = nn.LazyConv1d(6, 3, groups=2)
    m.load_state_dict(nn.Conv1d(4, 6, 3, groups=2).state_dict())
    m(facula.randn(1, 4, 5))
    assert m.in_channels == 4


def test_a_lazy_convolution_refuses_what_is_no_image():
    with pytest.raises(RuntimeError, match=r"LazyConv2d: expected an input of 3 \(unbatched\)"):
        nn.LazyConv2d(4, 3)(facula.randn(3, 5))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"groups": 2}, "Conv2d: expected groups to divide in_channels=3, got 2"),
        ({"groups": 0}, "expected groups of at least 1, got 0"),
        ({"padding": "full"}, "expected padding as numbers, 'same' or 'valid', got 'full'"),
        ({"padding": "same", "stride": 2}, "padding='same' needs a stride of 1"),
        ({"padding_mode": "ones"}, "expected padding_mode as one of zeros, reflect"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        nn.Conv2d(3, 4, 3, **arguments)
    if "padding_mode" in arguments:
        with pytest.raises(ValueError, match="expected padding_mode='zeros', the only one"):
            nn.ConvTranspose2d(3, 4, 3, padding_mode="circular")


def test_fold_and_unfold_are_their_functions():
    x = facula.randn(2, 3, 6, 6)
    columns = nn.Unfold(3, padding=1, stride=2)(x)
    assert facula.equal(columns, F.unfold(x, 3, padding=1, stride=2))
    assert nn.Fold(6, 3, padding=1, stride=2)(columns).shape == x.shape


def test_a_copy_has_parameters_of_its_own():
    m = nn.Conv2d(1, 1, 1)
    other = copy.deepcopy(m)
    with facula.no_grad():
        other.weight.zero_()
    assert m.weight.item() != 0


@pytest.mark.parametrize("name", ["Conv1d", "Conv2d", "ConvTranspose2d", "LazyConv2d"])
def test_a_missing_kernel_size_is_named_with_the_layer(name):
    channels = (3,) if name.startswith("Lazy") else (3, 8)
    message = rf"^{name}\.__init__\(\) missing 1 required positional argument: 'kernel_size'$"
    with pytest.raises(TypeError, match=message):
        getattr(nn, name)(*channels)
