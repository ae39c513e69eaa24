"""The check that every operation gets: value, gradients, layouts, dtypes."""

import math

import numpy as np

import facula

# Allowed error of a result, by its dtype: relative and absolute. Everything not listed is exact.
TOLERANCES = {
    "float16": (2e-3, 2e-3),
    "bfloat16": (1.6e-2, 1.6e-2),
    "float32": (1e-5, 1e-6),
    "float64": (1e-12, 1e-13),
    "complex64": (1e-5, 1e-5),
    "complex128": (1e-12, 1e-12),
}
FLOATING = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGRAL = ("uint8", "int8", "int16", "int32", "int64")
ALL = (*FLOATING, *COMPLEX, *INTEGRAL, "bool")

# Central differences in float64: the step that balances truncation against rounding.
STEP = 1e-6
GRADIENT_TOLERANCE = {"rtol": 1e-5, "atol": 1e-7}


def check_op(
    op,
    reference,
    shapes,
    device="cpu",
    *,
    dtypes=FLOATING,
    low=-2.0,
    high=2.0,
    elementwise=False,
    differentiable=True,
):
    """Checks ``op`` (of tensors) against ``reference`` (of NumPy arrays) on random inputs.

    Args:
        shapes: one shape per input.
        dtypes: names of the dtypes to try; the reference always gets float64, complex128 or int64.
        low, high: range of the inputs, for operations that are defined on a part of the line.
        elementwise: also try 0-d and empty inputs, which other operations get through ``shapes``.
        differentiable: False for operations without a derivative, such as ``floor`` or ``argmax``.
    """
    variants = [shapes]
    if elementwise:
        variants += [[shape] * len(shapes) for shape in [(), (0,), (2, 0, 3)]]
    for variant in variants:
        for dtype in dtypes:
            arrays = [_random_array(shape, dtype, low, high, i) for i, shape in enumerate(variant)]
            for layout in LAYOUTS:
                _check_value(op, reference, arrays, dtype, layout, device)
        if differentiable:
            arrays = [_random_array(s, "float64", low, high, i) for i, s in enumerate(variant)]
            for layout in LAYOUTS:
                _check_gradients(op, reference, arrays, layout, device)


def check_threads(*computations):
    """Every computation gives the same bits with 1, 2 and 8 threads."""
    n_threads_before = facula.get_num_threads()
    results = []
    try:
        for n_threads in (1, 2, 8):
            facula.set_num_threads(n_threads)
            results.append([compute() for compute in computations])
    finally:
        facula.set_num_threads(n_threads_before)
    for i, expected in enumerate(results[0]):
        for result in results[1:]:
            assert facula.equal(result[i], expected), f"computation {i} depends on the threads"


def assert_close(actual, expected, context=""):
    """The tensor equals the array, within the tolerance of the tensor's dtype."""
    dtype = str(actual.dtype).partition(".")[2]
    assert tuple(actual.shape) == np.shape(expected), f"{context}: shape"
    rtol, atol = TOLERANCES.get(dtype, (0, 0))
    np.testing.assert_allclose(to_numpy(actual), expected, rtol, atol, err_msg=f"{context}: value")


def to_numpy(tensor):
    """The values in the widest dtype of their kind; NumPy itself has no bfloat16."""
    tensor = tensor.detach().cpu()
    if tensor.is_complex():
        return tensor.resolve_conj().to(facula.complex128).numpy()
    wide = facula.float64 if tensor.is_floating_point() else facula.int64
    return tensor.to(wide).numpy()


def _random_array(shape, dtype, low, high, seed):
    """Values that ``dtype`` holds exactly, in a wide dtype."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape)
    if dtype in INTEGRAL:
        low = max(low, 0) if dtype == "uint8" else low
        return rng.integers(math.ceil(low), math.floor(high), shape, endpoint=True)
    values = rng.uniform(low, high, shape)
    if dtype in COMPLEX:
        values = values + 1j * rng.uniform(low, high, shape)
    return to_numpy(facula.tensor(values).to(getattr(facula, dtype)))


def _contiguous(a, make):
    return a, make(a)


def _transposed(a, make):
    return a, make(a.T).permute(tuple(reversed(range(a.ndim))))


def _sliced(a, make):
    if a.ndim == 0:
        return a, make(np.stack([a, a]))[1]
    wide = np.stack([np.zeros_like(a), a], axis=-1).reshape(*a.shape[:-1], 2 * a.shape[-1])
    return a, make(wide)[..., 1::2]


def _expanded(a, make):
    if a.ndim == 0 or a.shape[0] == 0:
        return _contiguous(a, make)
    return np.broadcast_to(a[:1], a.shape).copy(), make(a[:1]).expand(a.shape)


LAYOUTS = (_contiguous, _transposed, _sliced, _expanded)


def _lay_out(arrays, layout, dtype, device):
    """The arrays that the reference sees, and the same values as tensors in the layout."""

    def make(a):
        dense = np.array(a, order="C")
        return facula.tensor(dense).to(device=device, dtype=getattr(facula, dtype))

    pairs = [layout(a, make) for a in arrays]
    return [a for a, _ in pairs], [t for _, t in pairs]


def _check_value(op, reference, arrays, dtype, layout, device):
    arrays, tensors = _lay_out(arrays, layout, dtype, device)
    context = f"{dtype} {[a.shape for a in arrays]} {layout.__name__}"
    assert_close(op(*tensors), reference(*arrays), context)
    for array, tensor in zip(arrays, tensors, strict=True):
        np.testing.assert_array_equal(to_numpy(tensor), array, f"{context}: an input was changed")


def _check_gradients(op, reference, arrays, layout, device):
    arrays, tensors = _lay_out(arrays, layout, "float64", device)
    context = f"{[a.shape for a in arrays]} {layout.__name__}"
    inputs = [t.detach().requires_grad_() for t in tensors]
    output = op(*inputs)
    weights = np.random.default_rng(99).uniform(0.5, 1.5, tuple(output.shape))
    weight = facula.tensor(weights).to(device).requires_grad_()
    grads = facula.autograd.grad(output, inputs, weight, create_graph=True)
    for i, (array, grad) in enumerate(zip(arrays, grads, strict=True)):
        numeric = _finite_difference(
            lambda x, i=i: np.sum(weights * reference(*arrays[:i], x, *arrays[i + 1 :])), array
        )
        np.testing.assert_allclose(
            to_numpy(grad), numeric, **GRADIENT_TOLERANCE, err_msg=f"{context}: gradient {i}"
        )
    _check_second_gradients(op, [*inputs, weight], grads, context)


def _finite_difference(f, x):
    """The gradient of the scalar function ``f`` at ``x``, element by element."""
    grad = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = STEP
        grad[i] = (f(x + step) - f(x - step)) / (2 * STEP)
    return grad


def _check_second_gradients(op, inputs, grads, context):
    """The gradient of the gradients against their difference along one random direction."""
    rng = np.random.default_rng(7)
    mixes, moves = (
        [facula.tensor(rng.uniform(-1, 1, tuple(t.shape))).to(t.device) for t in group]
        for group in (grads, inputs)
    )

    def mixed(points):
        points = [p.detach().requires_grad_() for p in points]
        grads = facula.autograd.grad(op(*points[:-1]), points[:-1], points[-1])
        return _dot(grads, mixes).item()

    second = facula.autograd.grad(_dot(grads, mixes), inputs, allow_unused=True)
    used = [(s, m) for s, m in zip(second, moves, strict=True) if s is not None]
    along = sum((s * m).sum().item() for s, m in used)
    ahead = mixed([x.detach() + STEP * m for x, m in zip(inputs, moves, strict=True)])
    behind = mixed([x.detach() - STEP * m for x, m in zip(inputs, moves, strict=True)])
    numeric = (ahead - behind) / (2 * STEP)
    np.testing.assert_allclose(along, numeric, 1e-4, 1e-5, err_msg=f"{context}: second gradient")


def _dot(tensors, others):
    return sum((a * b).sum() for a, b in zip(tensors, others, strict=True))
