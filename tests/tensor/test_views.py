"""Storage, strides and views."""

from itertools import permutations

import numpy as np
import pytest

import facula
import facula.nn.functional as F


@pytest.mark.promise("T1")
def test_a_tensor_is_a_window_on_its_storage():
    base = facula.arange(12.0)
    x = base.view(3, 4)[1:, ::2]
    assert x.shape == (2, 2)
    assert x.stride() == (4, 2)
    assert x.storage_offset() == 4
    assert x.data_ptr() == base.data_ptr() + 4 * base.element_size()
    assert x.untyped_storage().nbytes() == 48
    x[0, 0] = 100
    assert base[4] == 100
    base[10] = 200
    assert x[1, 1] == 200


VIEWS = {
    "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x.permute(2, 0, 1),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "select": lambda x: x.select(0, 1),
    "diagonal": lambda x: x.diagonal(),
    "unfold": lambda x: x.unfold(2, 2, 2),
    "expand": lambda x: x[:1].expand(5, 3, 4),
    "squeeze": lambda x: x[:1].squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "chunk": lambda x: x.chunk(2)[1],
    "split": lambda x: x.split(2, dim=2)[1],
    "unbind": lambda x: x.unbind(1)[2],
    "movedim": lambda x: x.movedim(0, 2),
    "as_strided": lambda x: x.as_strided((2, 2), (1, 4), 3),
    "view": lambda x: x.view(6, 4),
    "view_as": lambda x: x.view_as(facula.ones(4, 6)),
    "flatten": lambda x: x.flatten(),
    "t": lambda x: x[0].t(),
    "slice with a step": lambda x: x[:, ::2],
    "integer index": lambda x: x[1],
    "ellipsis": lambda x: x[..., 0],
    "None": lambda x: x[:, None],
    "detach": lambda x: x.detach(),
}


@pytest.mark.promise("T1", "T3")
@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory_both_ways(name):
    base = facula.arange(24.0).view(2, 3, 4)
    view = VIEWS[name](base)
    before = view.clone()
    base.add_(100)
    assert facula.equal(view, before + 100)
    view.as_strided((1,), (1,), view.storage_offset()).fill_(-1)
    assert (base == -1).sum() == 1


COPIES = {
    "integer tensor": lambda x: x[facula.tensor([1, 0])],
    "list": lambda x: x[[1, 0]],
    "mask": lambda x: x[x > 3],
    "mixed": lambda x: x[:, facula.tensor([2, 1]), 1],
    "two tensors": lambda x: x[facula.tensor([0, 1]), facula.tensor([2, 2])],
}


@pytest.mark.promise("T3")
@pytest.mark.parametrize("name", COPIES)
def test_advanced_indexing_copies_what_numpy_selects(name):
    base = facula.arange(24.0).view(2, 3, 4)
    result = COPIES[name](base)
    expected = {
        "integer tensor": base.numpy()[[1, 0]],
        "list": base.numpy()[[1, 0]],
        "mask": base.numpy()[base.numpy() > 3],
        "mixed": base.numpy()[:, [2, 1], 1],
        "two tensors": base.numpy()[[0, 1], [2, 2]],
    }[name].tolist()
    base.zero_()
    assert result.tolist() == expected


@pytest.mark.promise("T3")
@pytest.mark.parametrize(
    "index",
    [
        1,
        slice(None, None, 2),
        (slice(None), 1),
        (Ellipsis, 0),
        (0, 1, 2),
        [1, 0],
        (slice(None), [0, 2]),
        ([0, 1], [1, 2], [3, 0]),
    ],
    ids=str,
)
def test_indexed_assignment_agrees_with_numpy(index):
    x = facula.arange(24.0).view(2, 3, 4)
    a = x.numpy().copy()
    x[index] = -5
    a[index] = -5
    assert x.tolist() == a.tolist()
    value = facula.arange(float(x[index].numel())).view(x[index].shape)
    x[index] = value
    a[index] = value.numpy()
    assert x.tolist() == a.tolist()


@pytest.mark.promise("T3")
def test_assignment_through_a_mask():
    x = facula.arange(6.0)
    x[x > 3] = 0
    assert x.tolist() == [0, 1, 2, 3, 0, 0]
    x[facula.tensor([True, False, True, False, False, False])] = facula.tensor([7.0, 8.0])
    assert x.tolist() == [7, 1, 8, 3, 0, 0]


@pytest.mark.parametrize("index", [[0, 2], [True, False, True], (slice(None), [1]), 1])
def test_leading_dimensions_of_one_of_an_assigned_value_do_not_count(index):
    x = facula.zeros(3, 2, 4)
    value = facula.arange(4.0, requires_grad=True)
    x[index] = value[None, None, None, None]
    assert facula.equal(x[index], value.expand(x[index].shape))
    x.sum().backward()
    assert value.grad.tolist() == [x[index].numel() / 4] * 4


@pytest.mark.promise("T2")
def test_view_never_copies_and_the_error_names_the_way_out():
    x = facula.arange(6.0).view(2, 3)
    assert x.view(3, 2).data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="reshape"):
        x.t().view(6)
    with pytest.raises(RuntimeError):
        x.view(4, 2)
    with pytest.raises(RuntimeError):
        x.view(-1, -1)


@pytest.mark.promise("T2")
def test_reshape_and_contiguous_copy_only_where_they_must():
    x = facula.arange(6.0).view(2, 3)
    assert x.reshape(3, 2).data_ptr() == x.data_ptr()
    assert x.contiguous() is x
    turned = x.t()
    assert not turned.is_contiguous()
    assert turned.reshape(6).data_ptr() != x.data_ptr()
    assert turned.reshape(6).tolist() == [0, 3, 1, 4, 2, 5]
    assert turned.contiguous().is_contiguous()


@pytest.mark.promise("T2")
def test_channels_last_changes_strides_and_not_values():
    x = facula.arange(24.0).view(1, 2, 3, 4)
    y = x.contiguous(memory_format=facula.channels_last)
    assert y.stride() == (24, 1, 8, 2)
    assert y.is_contiguous(memory_format=facula.channels_last)
    assert not y.is_contiguous()
    assert facula.equal(x, y)


@pytest.mark.promise("T2")
def test_a_part_of_the_channels_is_still_channels_last():
    x = facula.randn(2, 6, 4, 4).to(memory_format=facula.channels_last)
    part = x.chunk(2, 1)[1]
    for result in (
        facula.cat([part, part], 1),
        F.conv2d(part, facula.ones(4, 3, 1, 1)),
        F.batch_norm(part, None, None, training=True),
        F.group_norm(part, 3),
        F.max_pool2d(part, 2),
    ):
        assert result.is_contiguous(memory_format=facula.channels_last)
    image = facula.randn(4, 4, 3).permute(2, 0, 1).unsqueeze(0)  # its batch has another stride
    assert F.conv2d(image, facula.ones(4, 3, 1, 1)).is_contiguous()


@pytest.mark.promise("T2")
def test_a_stack_lies_as_its_tensors_joined_do():
    x = facula.randn(2, 3, 4, 5).to(memory_format=facula.channels_last)
    assert facula.stack([x, x]).stride() == (120, 60, 1, 15, 3)
    assert facula.stack([x, x], 1).stride() == (120, 3, 1, 30, 6)
    assert facula.stack([x, x], 4).is_contiguous()
    assert facula.equal(facula.stack([x, x + 1], 2)[:, :, 1], x + 1)
    volume = facula.ones(2, 3, 4, 5, 2).to(memory_format=facula.channels_last_3d)
    assert facula.cat([volume, volume]).is_contiguous(memory_format=facula.channels_last_3d)


@pytest.mark.promise("T2")
def test_to_a_memory_format_gives_its_strides_to_a_single_channel_too():
    x = facula.arange(18.0).view(2, 1, 3, 3)
    y = x.to(memory_format=facula.channels_last)
    assert y.stride() == (9, 1, 3, 1)
    assert facula.equal(x, y)
    assert y.to(memory_format=facula.channels_last) is y
    assert y.to(memory_format=facula.contiguous_format).stride() == (9, 9, 3, 1)
    assert x.to(memory_format=facula.contiguous_format) is x
    volume = facula.ones(2, 1, 3, 3, 3).to(memory_format=facula.channels_last_3d)
    assert volume.stride() == (27, 1, 9, 3, 1)


@pytest.mark.parametrize("index", [2, -3, (0, 3), (slice(None), slice(None), slice(None))], ids=str)
def test_an_index_out_of_range_is_an_index_error(index):
    with pytest.raises(IndexError):
        facula.ones(2, 3)[index]


def test_writing_to_overlapping_memory_is_refused():
    x = facula.zeros(1).expand(3)
    with pytest.raises(RuntimeError, match="clone"):
        x.add_(facula.ones(3))


@pytest.mark.parametrize("sizes", [(-1,), (2, -3), (2**62, 4)])
def test_impossible_sizes_are_refused(sizes):
    with pytest.raises(RuntimeError):
        facula.empty(*sizes)


def test_resize_keeps_strides_of_the_same_shape_and_takes_a_format():
    x = facula.zeros(2, 3).t()
    assert x.resize_(3, 2).stride() == (1, 3)
    x = facula.zeros(2, 3, 4, 5)
    assert x.resize_(1, 2, 2, 2, memory_format=facula.channels_last).stride() == (8, 1, 4, 2)
    like = facula.zeros(1, 2, 2, 2).to(memory_format=facula.channels_last)
    assert facula.resize_as_(x, like).stride() == (8, 1, 4, 2)
    y = facula.zeros(1).resize_as_(like, memory_format=facula.preserve_format)
    assert y.stride() == (8, 1, 4, 2)
    with pytest.raises(RuntimeError, match="resize_: expected 4 dimensions for this memory_format"):
        x.resize_(3, memory_format=facula.channels_last)


def test_pieces_of_unsafe_split_may_be_written_to_in_place():
    x = facula.ones(3, requires_grad=True)
    first, last = facula.unsafe_split(x * 1, 2)
    first.mul_(3)
    (first.sum() + last.sum()).backward()
    assert x.grad.tolist() == [3, 3, 1]
    with pytest.raises(RuntimeError, match="views that unbind, split or chunk made"):
        facula.split(x * 1, 2)[0].mul_(3)


def test_filling_an_expanded_tensor_fills_what_it_shares():
    x = facula.zeros(3)
    x.expand(2, 3).fill_(5)
    assert x.tolist() == [5, 5, 5]
    assert facula.fill(x, 1).tolist() == [1, 1, 1]


def test_transposed_of_a_number_is_the_number():
    x = facula.tensor(2.0)
    assert x.mT is x
    with pytest.raises(RuntimeError, match=r"mT: expected a matrix or a batch of them"):
        facula.ones(2).mT  # noqa: B018


def test_a_view_in_another_dtype_shares_memory_and_has_no_history():
    x = facula.ones(2, requires_grad=True) * 1
    y = x.view(facula.int32)
    assert y.tolist() == [0x3F800000, 0x3F800000]
    assert (y._is_view(), y.requires_grad) == (False, False)
    y.zero_()
    assert x.tolist() == [0, 0]
    assert x._version == 1


def test_a_reshape_that_copies_is_no_view():
    x = facula.arange(6.0).reshape(2, 3)
    assert x.t().reshape(-1)._is_view() is False
    assert x.reshape(-1)._is_view() is True


@pytest.mark.parametrize(
    "by_name, by_position",
    [
        (lambda x: x.reshape(shape=(3, 2)), lambda x: x.reshape(3, 2)),
        (lambda x: x.permute(dims=(1, 0)), lambda x: x.permute(1, 0)),
        (lambda x: x.expand(size=(4, 2, 3)), lambda x: x.expand(4, 2, 3)),
        (lambda x: x.repeat(repeats=(1, 2)), lambda x: x.repeat(1, 2)),
        (lambda x: x.flip(dims=(0,)), lambda x: x.flip(0)),
        (lambda x: x.tile(dims=(2,)), lambda x: x.tile(2)),
    ],
)
def test_sizes_and_dims_may_be_given_by_name(by_name, by_position):
    x = facula.arange(6).view(2, 3)
    assert facula.equal(by_name(x), by_position(x))


def test_sizes_given_twice_are_refused():
    with pytest.raises(TypeError, match="reshape: the argument is given twice"):
        facula.ones(6).reshape(2, 3, shape=(3, 2))


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.int64, np.complex128])
@pytest.mark.parametrize("shape", [(3, 70, 5), (16, 2, 33), (8, 17, 64)])
def test_copies_of_permuted_tensors_agree_with_numpy(shape, dtype):
    a = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    x = facula.from_numpy(a)
    for order in permutations(range(3)):
        expected = np.ascontiguousarray(a.transpose(order))
        assert np.array_equal(x.permute(order).contiguous().numpy(), expected)
        padded = facula.full([n + 2 for n in expected.shape], -1, dtype=x.dtype)
        padded[1:-1, 1:-1, 1:-1] = x.permute(order)
        assert np.array_equal(padded.numpy(), np.pad(expected, 1, constant_values=-1))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("n_channels", [2, 3, 4, 5])
def test_pixels_are_copied_between_layouts_and_flipped(n_channels, dtype):
    array = np.arange(7 * 9 * n_channels).reshape(7, 9, n_channels).astype(dtype)
    pixels = facula.from_numpy(array).permute(2, 0, 1)
    assert pixels.contiguous().numpy().tolist() == array.transpose(2, 0, 1).tolist()
    assert pixels.contiguous().permute(1, 2, 0).contiguous().numpy().tolist() == array.tolist()
    for dim in range(3):
        flipped = pixels.flip(dim)
        assert flipped.stride() == pixels.stride()
        assert flipped.numpy().tolist() == np.flip(array.transpose(2, 0, 1), dim).tolist()
    one = pixels[:, 3:4, 4:5]
    assert one.flip(2).numpy().tolist() == one.numpy().tolist()
    assert pixels[:, :0].flip(1).shape == (n_channels, 0, 9)


def test_one_pixel_many_times_is_read_as_often_and_no_further():
    pixel = facula.arange(3.0)
    assert pixel.expand(50, 3).contiguous().tolist() == [[0, 1, 2]] * 50
    windows = facula.arange(12.0).unfold(0, 3, 1)
    assert windows.contiguous().tolist() == [[i, i + 1, i + 2] for i in range(10)]
