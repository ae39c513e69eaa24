"""Names that PyTorch had before 1.0 and has no longer."""

import pytest

import facula
from facula import _notes, _older_names, nn
from facula.utils.data import DataLoader, TensorDataset

pytestmark = pytest.mark.promise("A9")


@pytest.fixture(autouse=True)
def _nothing_told(monkeypatch):
    monkeypatch.setattr(_notes, "_told", set())


A = facula.tensor([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]], dtype=facula.float64)
B = facula.tensor([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]], dtype=facula.float64)


def test_the_package_names_what_the_module_has():
    assert set(facula._tensor.OLDER_FUNCTIONS) == _older_names.FUNCTIONS.keys()
    assert all(hasattr(facula.Tensor, name) for name in _older_names.METHODS)
    assert not _older_names.FUNCTIONS.keys() & set(facula.__all__)


def test_solutions_by_their_lapack_names():
    with pytest.warns(_notes.OlderFormWarning, match=r"torch.linalg.solve\(A, B\)"):
        x, factors = facula.gesv(B, A)
    facula.testing.assert_close(A @ x, B)
    assert factors.shape == (3, 3)
    upper = A.potrf()
    facula.testing.assert_close(upper.T @ upper, A)
    lower = A.potrf(upper=False)
    facula.testing.assert_close(B.potrs(upper), x)
    facula.testing.assert_close(B.potrs(lower, upper=False), x)
    facula.testing.assert_close(B[:, 0].potrs(upper), x[:, 0])
    facula.testing.assert_close(upper.potri(), A.inverse())
    facula.testing.assert_close(upper @ B.trtrs(upper)[0], B)


@pytest.mark.parametrize("upper", [True, False])
def test_the_cholesky_factor_with_pivots(upper):
    matrix = A.flip(0, 1)
    factor, order = facula.pstrf(matrix, upper)
    whole = factor.T @ factor if upper else factor @ factor.T
    facula.testing.assert_close(whole, matrix[order.long()][:, order.long()])
    assert order.tolist() == [2, 1, 0]
    assert facula.pstrf(facula.ones(3, 3))[0].abs().sum() == 3  # of rank 1


def test_eigenvalues_as_real_numbers():
    values, vectors = facula.symeig(A, eigenvectors=True)
    facula.testing.assert_close(vectors @ values.diag() @ vectors.T, A)
    assert facula.symeig(A)[1].numel() == 0
    turn = facula.tensor([[0.0, -2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    parts, columns = turn.eig(True)
    for j, (real, imaginary) in enumerate(parts.tolist()):
        if imaginary > 0:
            vector = facula.complex(columns[:, j], columns[:, j + 1])
        elif imaginary == 0:
            vector = facula.complex(columns[:, j], columns[:, j] * 0)
        else:
            vector = facula.complex(columns[:, j - 1], -columns[:, j])
        value = complex(real, imaginary)
        facula.testing.assert_close(turn.to(vector.dtype) @ vector, value * vector)


def test_factors_of_batches():
    batch = facula.stack([A, 2 * A])
    info = facula.IntTensor()
    factors, pivots = batch.btrifact(info=info)
    assert info.tolist() == [0, 0]
    right = facula.ones(2, 3, dtype=facula.float64)
    solved = right.btrisolve(factors, pivots)
    facula.testing.assert_close((batch @ solved.unsqueeze(2)).squeeze(2), right)
    p, lower, upper = facula.btriunpack(factors, pivots)
    facula.testing.assert_close(p @ lower @ upper, batch)
    assert len(facula.btrifact_with_info(batch)) == 3


def test_least_squares_with_the_residuals_below():
    tall = facula.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    right = facula.tensor([[1.0], [2.0], [4.0]])
    result, _ = facula.gels(right, tall)
    solution = facula.linalg.lstsq(tall, right).solution
    facula.testing.assert_close(result[:2], solution)
    residual = (right - tall @ solution).square().sum()
    facula.testing.assert_close(result[2:].square().sum(), residual)


def test_names_of_storages_and_methods_of_types():
    assert facula.Storage is facula.FloatStorage
    assert facula.FloatTensor.abs_(facula.tensor([-1.0])).tolist() == [1]
    assert not hasattr(facula.FloatTensor, "__no_such__")
    assert not hasattr(facula.FloatTensor, "no_such")
    x = facula.zeros(2).masked_copy_(facula.ByteTensor([0, 1]), facula.ones(1))
    assert x.tolist() == [0, 1]


def test_the_larger_and_the_smaller_of_two():
    a, b = facula.tensor([1.0, 4.0]), facula.tensor([3.0, 2.0])
    assert facula.cmax(a, b).tolist() == [3, 4]
    assert a.cmin(b).tolist() == [1, 2]
    assert (a.cmax(2).tolist(), a.cmin(2).tolist()) == ([2, 4], [1, 2])


def test_loaders_and_datasets():
    with pytest.warns(_notes.OlderFormWarning, match=r"TensorDataset\(x, y\)"):
        data = TensorDataset(data_tensor=facula.arange(4), target_tensor=facula.arange(4))
    for workers in (0, 1):
        iterator = iter(DataLoader(data, batch_size=2, num_workers=workers))
        assert [part.tolist() for part in iterator.next()] == [[0, 1], [0, 1]]
        next(iterator)
        with pytest.raises(StopIteration):
            iterator.next()
    assert data.data_tensor is data.tensors[0]
    assert data.target_tensor is data.tensors[1]
    with pytest.raises(TypeError, match="without names"):
        TensorDataset(data=facula.ones(1))


def test_losses_take_size_average_after_construction():
    loss = nn.MSELoss()
    with pytest.warns(_notes.OlderFormWarning, match="reduction='sum'"):
        loss.size_average = False
    assert loss(facula.ones(2), facula.zeros(2)) == 2
    assert not loss.size_average
    with pytest.warns(_notes.OlderFormWarning, match="reduction='mean'"):
        nn.MSELoss(reduction="elementwise_mean")(facula.ones(2), facula.zeros(2))


def test_the_functions_behind_layers():
    from facula.nn.backends.thnn import backend

    with pytest.warns(_notes.OlderFormWarning, match="nn.functional.relu"):
        assert backend.ReLU()(facula.tensor([-1.0, 2.0])).tolist() == [0, 2]
    with pytest.raises(AttributeError, match=r"torch.nn.functional"):
        backend.SpatialCrossMapLRN  # noqa: B018


def test_random_sized_crop_takes_an_interpolation():
    from facula.vision import transforms

    with pytest.warns(UserWarning, match="RandomResizedCrop"):
        crop = transforms.RandomSizedCrop(4, transforms.InterpolationMode.NEAREST)
    assert crop.interpolation == transforms.InterpolationMode.NEAREST
    assert crop(facula.ones(3, 8, 8)).shape == (3, 4, 4)
