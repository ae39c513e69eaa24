"""Copies of views, and small operations composed of others."""

import numpy as np
import pytest

import facula

COPIES = {
    "alias_copy": (lambda x: x, ()),
    "as_strided_copy": (lambda x, *a: x.as_strided(*a), ((3, 2), (1, 3))),
    "detach_copy": (lambda x: x.detach(), ()),
    "diagonal_copy": (lambda x, *a: x.diagonal(*a), (1,)),
    "expand_copy": (lambda x, *a: x.expand(*a), ((4, 2, 3),)),
    "narrow_copy": (lambda x, *a: x.narrow(*a), (1, 1, 2)),
    "permute_copy": (lambda x, *a: x.permute(*a), ((1, 0),)),
    "select_copy": (lambda x, *a: x.select(*a), (1, 2)),
    "slice_copy": (lambda x, dim, start, end, step: x[:, start:end:step], (1, 0, 3, 2)),
    "squeeze_copy": (lambda x: x.squeeze(), ()),
    "t_copy": (lambda x: x.t(), ()),
    "transpose_copy": (lambda x, *a: x.transpose(*a), (0, 1)),
    "unfold_copy": (lambda x, *a: x.unfold(*a), (1, 2, 1)),
    "unsqueeze_copy": (lambda x, *a: x.unsqueeze(*a), (1,)),
    "view_copy": (lambda x, *a: x.view(*a), ((3, 2),)),
}


@pytest.mark.parametrize("dtype", [facula.uint8, facula.bfloat16, facula.float32, facula.int64])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("start", [0, 1])
def test_short_rows_that_lie_across_each_other_are_copied_whole(dtype, width, start):
    line = facula.arange(0, 2 * 19 * 23 * width + start) % 251
    x = line.to(dtype)[start:].view(2, 19, 23, width)
    expected = line[start:].numpy().reshape(2, 19, 23, width)
    for dims in ((0, 2, 1, 3), (2, 1, 0, 3), (1, 2, 0, 3)):
        turned = x.permute(dims)
        assert np.array_equal(turned.contiguous().long().numpy(), expected.transpose(dims))
        wide = facula.zeros(*turned.shape[:-1], width + 1, dtype=dtype)
        wide[..., :width] = turned
        assert np.array_equal(wide[..., :width].long().numpy(), expected.transpose(dims))
        assert not wide[..., width:].any()


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_has_the_elements_of_the_view_in_memory_of_its_own(name):
    view, args = COPIES[name]
    x = facula.arange(6.0).reshape(2, 3).requires_grad_()
    y = getattr(facula, name)(x, *args)
    assert y.is_contiguous()
    assert y.tolist() == view(x, *args).tolist()
    assert y.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
    out = facula.empty(0)
    with facula.no_grad():
        getattr(facula, name)(x, *args, out=out)
    assert out.tolist() == y.tolist()
    if y.requires_grad:
        (grad,) = facula.autograd.grad(y.square().sum(), x)
        (expected,) = facula.autograd.grad(view(x, *args).square().sum(), x)
        assert grad.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("name", "args"),
    [("split_copy", (2, 1)), ("split_with_sizes_copy", ([1, 2], 1)), ("unbind_copy", (1,))],
)
def test_copies_of_several_views(name, args):
    x = facula.arange(6.0).reshape(2, 3)
    parts = getattr(facula, name)(x, *args)
    expected = getattr(x, name.removesuffix("_copy"))(*args)
    assert [p.tolist() for p in parts] == [p.tolist() for p in expected]
    places = [facula.empty(0) for _ in parts]
    getattr(facula, name)(x, *args, out=places)
    assert [p.tolist() for p in places] == [p.tolist() for p in expected]


def test_a_copy_is_not_converted_for_out():
    with pytest.raises(RuntimeError, match="t_copy: expected out of dtype"):
        facula.t_copy(facula.ones(2, 2), out=facula.empty(0, dtype=facula.float64))


def test_complex_numbers_and_their_parts_are_copied():
    x = facula.arange(4.0).reshape(2, 2)
    assert facula.view_as_complex_copy(x).tolist() == [1j, 2 + 3j]
    assert facula.view_as_real_copy(facula.tensor([2 + 3j])).tolist() == [[2, 3]]


def test_histogramdd_agrees_with_numpy():
    rng = np.random.default_rng(0)
    points, weight = rng.normal(size=(50, 3)), rng.random(50)
    for options in ({}, {"density": True}):
        expected, edges = np.histogramdd(points, bins=[2, 3, 4], weights=weight, **options)
        result = facula.histogramdd(
            facula.tensor(points), [2, 3, 4], weight=facula.tensor(weight), **options
        )
        np.testing.assert_allclose(result.hist, expected)
        for ours, numpys in zip(result.bin_edges, edges, strict=True):
            np.testing.assert_allclose(ours, numpys)


def test_histogramdd_counts_few_boxes_of_many_dimensions():
    points = facula.tensor([[0.0] * 16, [1.0] * 16, [0.0] * 15 + [2.0], [facula.nan] * 16])
    hist = facula.histogramdd(points, [2] * 16, range=[0.0, 1.0] * 16).hist
    assert hist.shape == (2,) * 16 and hist.sum() == 2
    assert hist.ravel()[0] == hist.ravel()[-1] == 1


def test_histogramdd_takes_ranges_and_edges():
    points = facula.tensor([[0.0, 1.0], [1.0, 0.0], [9.0, 9.0]])
    assert facula.histogramdd(points, 2, range=[0.0, 2.0, 0.0, 2.0]).hist.sum() == 2
    edges = [facula.tensor([0.0, 0.5, 2.0]), facula.tensor([0.0, 2.0])]
    found = facula.histogramdd(points, edges)
    assert found.hist.tolist() == [[1], [1]]
    assert all(a is b for a, b in zip(found.bin_edges, edges, strict=True))
    for bad in (lambda: facula.histogramdd(points, [2]), lambda: facula.histogramdd(points[0], 2)):
        with pytest.raises(RuntimeError, match="histogramdd: expected"):
            bad()


def test_nonzero_static_fills_and_cuts():
    x = facula.tensor([[0, 1], [1, 1]])
    assert x.nonzero_static(size=4).tolist() == [[0, 1], [1, 0], [1, 1], [-1, -1]]
    assert facula.nonzero_static(x, size=1, fill_value=7).tolist() == [[0, 1]]
    with pytest.raises(RuntimeError, match="at least 0"):
        facula.nonzero_static(x, size=-1)


def test_functions_in_place_change_their_tensor():
    x = facula.ones(1)
    assert facula.addmv_(x, facula.ones(1, 2), facula.ones(2)) is x
    assert x.tolist() == [3]
    y = facula.tensor([6])
    assert facula.gcd_(y, facula.tensor([4])) is y
    assert facula.lcm_(y, facula.tensor([3])).tolist() == [6]
    assert facula.ldexp_(facula.ones(1), facula.tensor([3])).tolist() == [8]
    assert facula.xlogy_(facula.ones(1), facula.ones(1)).tolist() == [0]
    assert facula.as_strided_(facula.arange(4), (2,), (2,)).tolist() == [0, 2]
    assert not facula.detach_(facula.ones(1, requires_grad=True) * 2).requires_grad


def test_where_a_tensor_is_and_was_made():
    assert facula.get_device(facula.ones(1)) == -1
    with facula.inference_mode():
        x = facula.ones(1)
    assert facula.is_inference(x)
    assert not facula.is_inference(facula.ones(1))


def test_view_copy_needs_no_view():
    x = facula.arange(6).reshape(2, 3).t()
    assert facula.view_copy(x, (6,)).tolist() == [0, 3, 1, 4, 2, 5]
    assert facula.view_copy(facula.ones(2), facula.int32).dtype == facula.int32


@pytest.mark.parametrize(
    "call",
    [
        lambda x: facula.view_copy(x, (6,), nonsense=1),
        lambda x: facula.view_copy(x, (6,), dtype=facula.int32),
        lambda x: facula.expand_copy(x, (2, 2, 3), nonsense=1),
        lambda x: facula.expand_copy(x, 3),
        lambda x: facula.narrow_copy(x, 0, x[0, 0], 1),
        lambda x: facula.view_as_real_copy(x, out="a"),
    ],
)
def test_copies_refuse_arguments_that_views_have_not(call):
    with pytest.raises(TypeError):
        call(facula.ones(2, 3))
