"""Packed weights that a storage keeps for the next convolution: see Note [Kept forms]."""

import copy
import ctypes
import pickle
import threading

import numpy as np
import pytest

import facula
from facula import nn
from facula.nn import functional as F
from facula.profiler import profile


def by_winograd(w):
    return F.conv2d(facula.ones(2, 32, 9, 8), w.view(40, 32, 3, 3), padding=1)


def by_packed_windows(w):
    return F.conv2d(facula.ones(1, 32, 9, 7), w.view(40, 32, 3, 3), stride=2)


def in_groups(w):
    return F.conv2d(facula.ones(1, 64, 5, 5), w.view(40, 32, 3, 3), groups=2)


def with_single_taps(w):
    return F.conv2d(facula.ones(3, 96, 7, 7), w.view(120, 96, 1, 1), stride=2)


def transposed(w):
    return F.conv_transpose2d(facula.ones(1, 40, 6, 6), w.view(40, 32, 3, 3), stride=2)


def along_one_dimension(w):
    return F.conv1d(facula.ones(2, 48, 31), w.view(48, 48, 5))


CONVOLUTIONS = [
    by_winograd,
    by_packed_windows,
    in_groups,
    with_single_taps,
    transposed,
    along_one_dimension,
]
NUMEL = 40 * 32 * 9


def fresh_weight():
    facula.manual_seed(0)
    return facula.randn(NUMEL)


def added_bytes(f):
    """What a call leaves in memory, and its result."""
    with profile(profile_memory=True) as p:
        y = f()
    return sum(event.cpu_memory_usage for event in p.events() if "conv" in event.name), y


@pytest.mark.parametrize("convolve", CONVOLUTIONS)
def test_a_kept_weight_gives_the_same_bits(convolve):
    w = fresh_weight()
    expected = convolve(w)  # gradients might be recorded: nothing is kept
    with facula.no_grad():
        assert facula.equal(convolve(w), expected)
        assert facula.equal(convolve(w), expected)
    with facula.inference_mode():
        assert facula.equal(convolve(w), expected)


def test_a_weight_is_packed_once_and_only_where_no_gradients_are_recorded():
    w = fresh_weight()
    in_training, y = added_bytes(lambda: by_winograd(w))
    with facula.no_grad():
        first, _ = added_bytes(lambda: by_winograd(w))
        second, _ = added_bytes(lambda: by_winograd(w))
        w.add_(1)
        after_a_write, _ = added_bytes(lambda: by_winograd(w))
    assert in_training == second == y.numel() * 4
    assert first == after_a_write
    assert first - second >= NUMEL * 4 * 16 // 9


def test_what_is_kept_is_at_most_twice_the_memory():
    w = facula.ones(64 * 9)
    kept = 0
    with facula.no_grad():
        for n_in in (1, 2, 4, 8, 16, 32):
            for stride in (2, 3):
                shape = 64 // n_in, n_in, 3, 3
                n_bytes, y = added_bytes(
                    lambda s=shape, n=n_in, by=stride: F.conv2d(
                        facula.ones(1, n, 9, 9), w.view(s), stride=by
                    )
                )
                kept += n_bytes - y.numel() * 4
    assert kept <= 2 * w.numel() * 4 + 4096


def write_in_place(w):
    w.mul_(2)


def write_through_a_view(w):
    w.view(-1, 9)[3:5, 1].fill_(5)


def write_through_data(w):
    w.data.add_(1)


def write_through_data_taken_before(w, data):
    data.add_(1)


def write_through_detach(w):
    w.detach().copy_(facula.arange(w.numel()))


def write_by_init(w):
    nn.init.uniform_(w)


def write_at_an_index(w):
    w[7] = 100.0


def write_as_out(w):
    facula.add(w, 1, out=w)


def write_by_an_optimizer(w):
    parameter = nn.Parameter(w)
    parameter.grad = facula.ones(w.numel())
    facula.optim.SGD([parameter], lr=1.0).step()


def write_by_numpy(w):
    w.numpy()[:] = 3


def write_by_dlpack(w):
    facula.from_dlpack(w).fill_(3)


def write_to_an_address(w):
    ctypes.memset(w.data_ptr(), 0, 4)


def write_to_the_address_of_the_storage(w):
    ctypes.memset(w.untyped_storage().data_ptr(), 0, 4)


def write_to_the_storage(w):
    w.untyped_storage().copy_(facula.ones(w.numel()).untyped_storage())


def write_with_other_memory(w):
    w.data = facula.ones(w.numel())


def write_after_sharing(w):
    w.share_memory_()
    w.add_(1)


WRITES = [f for name, f in list(globals().items()) if name.startswith("write_")]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("convolve", [by_winograd, by_packed_windows])
def test_a_write_is_seen(write, convolve):
    w = fresh_weight()
    before = [w.data] if write is write_through_data_taken_before else []
    with facula.no_grad():
        old = convolve(w)
        write(w, *before)
        new = convolve(w)
    assert facula.equal(new, convolve(w.clone()))
    assert not facula.equal(new, old)


@pytest.mark.parametrize("share", [facula.from_numpy, facula.from_dlpack, facula.asarray])
def test_memory_of_numpy_is_not_kept(share):
    memory = np.random.default_rng(0).standard_normal(NUMEL, dtype=np.float32)
    w = share(memory)
    with facula.no_grad():
        by_winograd(w)
        memory[:] = 1
        assert facula.equal(by_winograd(w), by_winograd(w.clone()))


def test_an_array_that_was_taken_before_is_seen():
    w = fresh_weight()
    memory = w.numpy()
    with facula.no_grad():
        by_winograd(w)
        memory[:] = 1
        assert facula.equal(by_winograd(w), by_winograd(facula.ones(NUMEL)))


def test_two_weights_in_one_storage_are_two():
    both = facula.randn(2 * NUMEL)
    with facula.no_grad():
        for w in (both[:NUMEL], both[NUMEL:], both[:NUMEL]):
            assert facula.equal(by_winograd(w), by_winograd(w.clone()))


def test_copies_and_files_know_nothing_of_it():
    conv = nn.Conv2d(32, 40, 3, padding=1).eval()
    x = facula.ones(1, 32, 9, 9)
    size = len(pickle.dumps(conv))
    with facula.no_grad():
        y = conv(x)
        assert len(pickle.dumps(conv)) == size
        twin = copy.deepcopy(conv)
        twin.weight.zero_()
        assert facula.equal(conv(x), y)
        assert facula.equal(twin(x)[0, :, 0, 0], twin.bias)


def test_a_write_in_another_thread_is_seen_in_the_end():
    w = facula.zeros(NUMEL)
    has_ended = threading.Event()

    def evaluate():
        with facula.no_grad():
            while not has_ended.is_set():
                by_winograd(w)

    thread = threading.Thread(target=evaluate)
    thread.start()
    with facula.no_grad():
        for i in range(300):
            w.fill_(i)
    has_ended.set()
    thread.join()
    with facula.no_grad():
        assert facula.equal(by_winograd(w), by_winograd(w.clone()))


# Arguments of which one fits most operations in place, and those of the others.
ARGUMENTS = [(), (2.0,), (facula.full((NUMEL,), 2.0),), (0, 2.0), (0, facula.tensor([0]), 2.0)]
PLACES, VALUES = facula.tensor([3, 5]), facula.tensor([7.0, 8.0])
OTHER, MASK = facula.linspace(-2, 3, NUMEL), facula.arange(NUMEL) % 3 == 0
SQUARE = facula.ones(96, 96)
OWN_ARGUMENTS = {
    **dict.fromkeys(("addcmul_", "addcdiv_"), (OTHER, OTHER + 9)),
    **dict.fromkeys(("index_add_", "index_copy_", "scatter_add_"), (0, PLACES, VALUES)),
    **dict.fromkeys(("cumsum_", "cumprod_"), (0,)),
    "index_put_": ((PLACES,), VALUES),
    "index_reduce_": (0, PLACES, VALUES, "prod"),
    "lerp_": (OTHER, 0.5),
    "map_": (OTHER, lambda a, b: a + b),
    "map2_": (OTHER, OTHER, lambda a, b, c: a + b + c),
    "addmv_": (facula.ones(NUMEL, 2), VALUES),
    "apply_": (lambda a: a + 1,),
    "geometric_": (0.5,),
    "mvlgamma_": (1,),
    "polygamma_": (1,),
    "masked_fill_": (MASK, 5.0),
    "masked_scatter_": (MASK, OTHER),
    "masked_copy_": (MASK, OTHER),
    "put_": (PLACES, VALUES),
    "scatter_reduce_": (0, PLACES, VALUES, "sum"),
    "random_": (10,),
    "uniform_": (3, 4),
    "clip_": (0.0, 0.5),
    "clamp_": (0.0, 0.5),
}
# Of a view of the first 96x96 elements, or of one element of a batch.
MATRIX_ARGUMENTS = {
    **dict.fromkeys(("addmm_", "sspaddmm_"), (SQUARE, SQUARE)),
    **dict.fromkeys(("addbmm_",), (SQUARE[None], SQUARE[None])),
    "addr_": (SQUARE[0], SQUARE[0]),
    "fill_diagonal_": (9.0,),
    "renorm_": (2, 0, 0.1),
    "tril_": (),
    "triu_": (),
}
IN_PLACE = [n for n in dir(facula.Tensor) if n[-1] == "_" and n[0] != "_" and n[-2] != "_"]
# They change no element, or are told so by an error: of floats, of memory of its own, of layouts.
WITHOUT_WRITES = {
    "as_strided_",
    "bitwise_and_",
    "bitwise_left_shift_",
    "bitwise_not_",
    "bitwise_or_",
    "bitwise_right_shift_",
    "bitwise_xor_",
    "baddbmm_",
    "coalesce_",
    "conj_physical_",
    "detach_",
    "gcd_",
    "lcm_",
    "nan_to_num_",
    "rename_",
    "requires_grad_",
    "resize_",
    "resize_as_",
    "resize_as_sparse_",
    "share_memory_",
    "sparse_resize_",
    "sparse_resize_and_clear_",
    "sspaddmm_",
    "squeeze_",
    "swapaxes_",
    "swapdims_",
    "t_",
    "transpose_",
    "unsqueeze_",
    "float_power_",
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_every_operation_in_place_is_seen(name):
    w = fresh_weight() * 2
    before = w.clone()
    with facula.no_grad():
        by_winograd(w)
        written, arguments = w, [OWN_ARGUMENTS[name]] if name in OWN_ARGUMENTS else ARGUMENTS
        if name in MATRIX_ARGUMENTS:
            written, arguments = w[: 96 * 96].view(96, 96), [MATRIX_ARGUMENTS[name]]
        for some in arguments:
            try:
                getattr(written, name)(*some)
            except (TypeError, RuntimeError, ValueError, LookupError, AttributeError, Warning):
                continue
            break
        if w.shape == (NUMEL,) and w.dtype == facula.float32:
            new, expected = by_winograd(w), by_winograd(w.clone())
            facula.testing.assert_close(new, expected, rtol=0, atol=0, equal_nan=True)
    assert (name in WITHOUT_WRITES) == facula.equal(w, before)


def test_a_weight_is_kept_though_its_address_was_compared():
    layer = nn.Conv2d(32, 40, 3, padding=1)
    facula.summary(layer, (2, 32, 9, 8))
    x = facula.ones(2, 32, 9, 8)
    with facula.no_grad():
        first, _ = added_bytes(lambda: layer(x))
        second, _ = added_bytes(lambda: layer(x))
    assert first > second


def test_a_gradient_that_is_added_to_is_seen():
    leaf = facula.randn(NUMEL, requires_grad=True)
    leaf.sum().backward()
    with facula.no_grad():
        by_winograd(leaf.grad)
    (leaf * 3).sum().backward()
    with facula.no_grad():
        assert facula.equal(by_winograd(leaf.grad), by_winograd(facula.full((NUMEL,), 4.0)))
