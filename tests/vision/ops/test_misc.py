import pytest

import facula
from facula import nn
from facula.vision.ops import (
    MLP,
    Conv2dNormActivation,
    Conv3dNormActivation,
    FrozenBatchNorm2d,
    Permute,
    SqueezeExcitation,
)
from facula.vision.ops.misc import ConvNormActivation

pytestmark = pytest.mark.promise("D3")


def test_a_block_is_convolution_norm_and_activation():
    block = Conv2dNormActivation(3, 8)
    assert [type(layer) for layer in block] == [nn.Conv2d, nn.BatchNorm2d, nn.ReLU]
    assert block.out_channels == 8
    assert block[0].bias is None
    assert block[2].inplace


def test_a_block_without_norm_has_a_bias_unless_told_otherwise():
    assert Conv2dNormActivation(3, 8, norm_layer=None)[0].bias is not None
    assert Conv2dNormActivation(3, 8, norm_layer=None, bias=False)[0].bias is None
    assert len(Conv2dNormActivation(3, 8, norm_layer=None, activation_layer=None)) == 1


@pytest.mark.parametrize(
    "kernel_size, dilation, padding",
    [(3, 1, (1, 1)), (5, 2, (4, 4)), ((3, 5), 2, (2, 4)), (3, (1, 2), (1, 2))],
)
def test_padding_keeps_the_size_for_odd_kernels(kernel_size, dilation, padding):
    block = Conv2dNormActivation(1, 1, kernel_size, dilation=dilation)
    assert block[0].padding == padding
    assert block(facula.ones(2, 1, 9, 9)).shape == (2, 1, 9, 9)


def test_the_block_in_3d_has_3d_layers():
    block = Conv3dNormActivation(3, 8, (1, 3, 5))
    assert [type(layer) for layer in block] == [nn.Conv3d, nn.BatchNorm3d, nn.ReLU]
    assert block[0].padding == (0, 1, 2)


def test_inplace_none_is_for_activations_without_it():
    block = Conv2dNormActivation(3, 8, activation_layer=nn.GELU, inplace=None)
    assert isinstance(block[2], nn.GELU)


def test_the_common_class_warns_when_it_is_used_itself():
    with pytest.warns(UserWarning, match="use Conv2dNormActivation or Conv3dNormActivation"):
        ConvNormActivation(3, 8)


def test_squeeze_excitation_scales_channels():
    block = SqueezeExcitation(2, 1)
    nn.init.zeros_(block.fc2.weight)
    with facula.no_grad():
        block.fc2.bias.copy_(facula.tensor([0.0, 100.0]))
    assert block(facula.ones(1, 2, 1, 1)).flatten().tolist() == [0.5, 1.0]


def test_mlp_has_norm_activation_and_dropout_between_its_linear_layers():
    mlp = MLP(4, [8, 2], norm_layer=nn.LayerNorm, inplace=True, dropout=0.1)
    assert [type(layer) for layer in mlp] == [
        nn.Linear, nn.LayerNorm, nn.ReLU, nn.Dropout, nn.Linear, nn.Dropout,
    ]  # fmt: skip
    assert mlp[2].inplace and mlp[3].inplace and mlp[5].p == 0.1


def test_mlp_needs_a_size():
    with pytest.raises(IndexError, match="MLP: expected hidden_channels with at least one size"):
        MLP(4, [])


def test_permute_is_a_view():
    x = facula.ones(1, 3, 4, 5)
    y = Permute([0, 2, 3, 1])(x)
    assert y.shape == (1, 4, 5, 3)
    assert y.data_ptr() == x.data_ptr()


def test_frozen_batch_norm_is_batch_norm_in_evaluation():
    norm, frozen = nn.BatchNorm2d(3).eval(), FrozenBatchNorm2d(3)
    for name in ("weight", "bias", "running_mean", "running_var"):
        getattr(norm, name).data.uniform_(0.5, 1.5)
    frozen.load_state_dict(norm.state_dict())  # its counter of batches is left out
    x = facula.randn(2, 3, 4, 4)
    facula.testing.assert_close(frozen(x), norm(x))
    assert list(frozen.parameters()) == []
    assert repr(frozen) == "FrozenBatchNorm2d(3, eps=1e-05)"
