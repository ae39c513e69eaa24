"""Batch norm, instance norm, layer norm and their kin as layers."""

import copy

import numpy as np
import pytest

import facula
from facula import nn
from tests.check_op import check_threads


@pytest.mark.promise("N5")
def test_batch_norm_obeys_train_and_eval():
    layer = nn.BatchNorm1d(2)
    x = facula.tensor([[1.0, 10.0], [3.0, 30.0]])
    trained = layer(x)
    assert facula.allclose(trained, facula.tensor([[-1.0, -1.0], [1.0, 1.0]]), atol=1e-4)
    assert layer.running_mean.tolist() == pytest.approx([0.2, 2.0])
    assert layer.running_var.tolist() == pytest.approx([1.1, 20.9])
    assert layer.num_batches_tracked.item() == 1
    before = copy.deepcopy(layer.state_dict())
    evaluated = layer.eval()(x)
    assert facula.allclose(evaluated[:, 0], (x[:, 0] - 0.2) / facula.tensor(1.1 + 1e-5).sqrt())
    assert all(facula.equal(before[k], v) for k, v in layer.state_dict().items())


@pytest.mark.promise("N5")
@pytest.mark.parametrize("dtype", [facula.float32, facula.float64, facula.float16, facula.bfloat16])
@pytest.mark.parametrize("n_columns", [3, 64, 65, 130, 1025, 2100])
def test_columns_of_any_number_are_normalised_each(n_columns, dtype):
    x = (facula.randn(70, n_columns) * 3 + facula.arange(n_columns) % 5).to(dtype)
    weight, bias = facula.randn(n_columns).to(dtype), facula.randn(n_columns).to(dtype)
    y = nn.functional.batch_norm(x, None, None, weight, bias, training=True)
    a, w, b = (t.double().numpy() for t in (x, weight, bias))
    expected = (a - a.mean(0)) / np.sqrt(a.var(0) + 1e-5) * w + b
    precision = {facula.float64: 1e-12, facula.float32: 1e-5, facula.float16: 5e-3}.get(dtype, 4e-2)
    np.testing.assert_allclose(y.double().numpy(), expected, rtol=precision, atol=precision)
    check_threads(lambda: nn.functional.batch_norm(x, None, None, weight, bias, training=True))


@pytest.mark.promise("N5")
def test_without_momentum_the_running_mean_is_the_plain_average():
    layer = nn.BatchNorm1d(1, momentum=None)
    for value in (0.0, 3.0, 9.0):
        layer(facula.tensor([[value], [value + 2]]))
    assert layer.running_mean.tolist() == pytest.approx([5.0])


@pytest.mark.promise("N5")
def test_without_running_statistics_evaluation_uses_the_batch():
    layer = nn.BatchNorm1d(1, track_running_stats=False, affine=False).eval()
    assert list(layer.state_dict()) == []
    y = layer(facula.tensor([[1.0], [3.0]]))
    assert y.flatten().tolist() == pytest.approx([-1.0, 1.0], abs=1e-4)


@pytest.mark.promise("N1")
def test_state_dict_has_pytorchs_names_and_order():
    names = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    assert list(nn.BatchNorm2d(3).state_dict()) == names
    assert list(nn.BatchNorm2d(3, bias=False).state_dict()) == [n for n in names if n != "bias"]
    assert list(nn.InstanceNorm2d(3).state_dict()) == []
    assert list(nn.LayerNorm(3).state_dict()) == ["weight", "bias"]
    assert list(nn.RMSNorm(3).state_dict()) == ["weight"]


@pytest.mark.promise("N1")
def test_old_files_without_a_count_of_batches_load():
    layer = nn.BatchNorm1d(1)
    state = {"weight": facula.ones(1), "bias": facula.ones(1)}
    state |= {"running_mean": facula.ones(1), "running_var": facula.ones(1)}
    layer.load_state_dict(state)
    assert layer.num_batches_tracked.item() == 0


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "lazy, full, shape",
    [
        (nn.LazyBatchNorm1d, nn.BatchNorm1d, (2, 3)),
        (nn.LazyBatchNorm2d, nn.BatchNorm2d, (2, 3, 2, 2)),
        (nn.LazyBatchNorm3d, nn.BatchNorm3d, (2, 3, 2, 2, 2)),
        (nn.LazyInstanceNorm1d, nn.InstanceNorm1d, (3, 4)),
        (nn.LazyInstanceNorm2d, nn.InstanceNorm2d, (2, 3, 2, 2)),
        (nn.LazyInstanceNorm3d, nn.InstanceNorm3d, (2, 3, 2, 2, 2)),
    ],
)
def test_lazy_layer_takes_the_number_of_channels_from_its_input(lazy, full, shape):
    layer = lazy()
    layer(facula.randn(shape))
    assert type(layer) is full
    assert layer.num_features == 3
    assert layer.weight.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.promise("N2")
def test_sync_batch_norm_is_batch_norm_in_one_process():
    plain = nn.Sequential(nn.BatchNorm1d(3), nn.ReLU())
    synced = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(plain))
    x = facula.randn(5, 3)
    assert facula.equal(synced(x), plain(x))
    assert list(synced.state_dict()) == list(plain.state_dict())
    with pytest.raises(NotImplementedError, match="SyncBatchNorm: groups of processes"):
        nn.SyncBatchNorm(3, process_group=object())


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "layer, expected",
    [
        (
            nn.BatchNorm2d(3),
            "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, "
            "track_running_stats=True)",
        ),
        (nn.LayerNorm(3), "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=True)"),
        (nn.GroupNorm(2, 4), "GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)"),
        (nn.RMSNorm((2, 3)), "RMSNorm((2, 3), eps=None, elementwise_affine=True)"),
        (nn.LocalResponseNorm(2), "LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1.0)"),
    ],
)
def test_layer_prints_as_in_pytorch(layer, expected):
    assert repr(layer) == expected


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: nn.BatchNorm2d(3)(facula.ones(2, 3)),
            r"BatchNorm2d: expected an input of 4 dimensions, got \(2, 3\)",
        ),
        (
            lambda: nn.InstanceNorm2d(3, affine=True)(facula.ones(2, 4, 3, 3)),
            r"InstanceNorm2d: expected 3 channels \(dimension 1\), got an input \(2, 4",
        ),
        (lambda: nn.GroupNorm(3, 4), r"expected num_groups to divide num_channels=4, got 3"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("size", [0, -1])
def test_local_response_norm_refuses_no_neighbours(size):
    message = f"^local_response_norm: expected a size of 1 or more, got {size}\\.$"
    with pytest.raises(RuntimeError, match=message):
        nn.functional.local_response_norm(facula.ones(1, 3, 3), size)


def test_local_response_norm_of_int64_divides_by_whole_mean_squares():
    x = facula.tensor([[[1], [2], [4]]])
    result = nn.functional.local_response_norm(x, 2, alpha=1.0, beta=1.0)
    # The squares of each channel and the one before, halved and rounded down: 0, 2, 10.
    assert facula.allclose(result, facula.tensor([[[1 / 1], [2 / 3], [4 / 11]]]))
