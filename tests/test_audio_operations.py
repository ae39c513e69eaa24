"""The operations that torchaudio asks for when it is imported."""

import itertools

import numpy as np
import pytest

import facula

pytestmark = pytest.mark.promise("U2")


@pytest.fixture(autouse=True)
def _library():
    facula.ops.load_library("/packages/torchaudio/lib/_torchaudio.abi3.so")
    facula.ops.load_library("/packages/torchaudio/lib/libtorchaudio.abi3.so")


def test_the_library_says_what_it_can_do():
    assert facula.ops._torchaudio.is_align_available() is True
    assert facula.ops._torchaudio.cuda_version() is None
    assert "/packages/torchaudio/lib/_torchaudio.abi3.so" in facula.ops.loaded_libraries


def test_a_filter_takes_its_own_past_into_account():
    facula.manual_seed(0)
    x, a = facula.randn(2, 3, 8), facula.randn(3, 3)
    y = facula.zeros(2, 3, 10)
    facula.ops.torchaudio._lfilter_core_loop(x, a, y)
    expected = np.zeros((2, 3, 10), dtype="float32")
    for t in range(8):
        past = (expected[:, :, t : t + 2] * a[:, :2].numpy()).sum(2)
        expected[:, :, t + 2] = x[:, :, t].numpy() - past
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_overdrive_lets_no_constant_part_through():
    sound, distorted = facula.zeros(1, 4), facula.ones(1, 4)
    y = facula.zeros(1, 4)
    start = facula.zeros(1), facula.zeros(1)
    facula.ops.torchaudio._overdrive_core_loop(sound, distorted, *start, y)
    facula.testing.assert_close(y[0], 0.75 * 0.995 ** facula.arange(4.0))


def _reading(path):
    return [c for c, _ in itertools.groupby(path) if c != 0]


@pytest.mark.parametrize("targets", [[1], [1, 2], [1, 1], [2, 1, 2]])
def test_the_path_of_an_alignment_is_the_most_probable_that_reads_as_the_targets(targets):
    facula.manual_seed(len(targets))
    scores = facula.randn(1, 6, 3).log_softmax(-1)
    lengths = facula.tensor([5]), facula.tensor([len(targets)])
    path, given = facula.ops.torchaudio.forced_align(scores, facula.tensor([targets]), *lengths, 0)
    paths = [p for p in itertools.product(range(3), repeat=5) if _reading(p) == targets]
    best = max(paths, key=lambda p: sum(scores[0, t, c].item() for t, c in enumerate(p)))
    assert path.tolist() == [list(best)] and given is scores


def test_targets_that_do_not_fit_are_refused():
    lengths = facula.tensor([2]), facula.tensor([2])
    with pytest.raises(RuntimeError, match="forced_align: 2 targets, 1 of which follow an equal"):
        facula.ops.torchaudio.forced_align(
            facula.zeros(1, 2, 3), facula.tensor([[1, 1]]), *lengths, 0
        )
