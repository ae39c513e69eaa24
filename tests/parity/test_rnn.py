"""Recurrent layers and packed sequences against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from .frameworks import facula

TOLERANCES = {"float32": 2e-5, "float64": 1e-11}
LENGTHS = [5, 4, 4, 2, 2, 1]
SIZES = {"input_size": 5, "hidden_size": 18}

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "RNN tanh": ("RNN", {}),
    "RNN relu": ("RNN", {"nonlinearity": "relu"}),
    "GRU": ("GRU", {}),
    "LSTM": ("LSTM", {}),
    "LSTM projected": ("LSTM", {"proj_size": 4}),
}
FORMS = {
    "plain": {},
    "two layers": {"num_layers": 2},
    "bidirectional": {"bidirectional": True},
    "two bidirectional layers": {"num_layers": 2, "bidirectional": True},
    "no bias": {"bias": False},
    "dropout": {"num_layers": 3, "dropout": 0.4},
    "batch first": {"batch_first": True, "num_layers": 2, "dropout": 0.4},
}
INPUTS = ("batch", "single", "packed", "unsorted")


def _numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def _same_modules(name: str, dtype: str, **options: Any) -> tuple[Any, Any]:
    modules = []
    for lib in (torch, facula):
        lib.manual_seed(7)
        modules.append(getattr(lib.nn, name)(**options, dtype=getattr(lib, dtype)))
    return modules[0], modules[1]


def _leaf(lib: Any, array: np.ndarray, dtype: str) -> Any:
    return lib.tensor(array, dtype=getattr(lib, dtype), requires_grad=True)


def _run(lib: Any, module: Any, kind: str, dtype: str) -> tuple[list[Any], list[Any], Any]:
    """Results and leaves of one call; random numbers come from the same seed."""
    batch = len(LENGTHS)
    x = _numbers(max(LENGTHS), batch, SIZES["input_size"])
    lengths = LENGTHS if kind != "unsorted" else [2, 5, 1, 4, 2, 4]
    if kind == "single":
        x, batch = x[:, 0], 1
    elif module.batch_first:
        x = x.swapaxes(0, 1).copy()
    leaves = [_leaf(lib, x, dtype)]
    directions = 2 if module.bidirectional else 1
    sizes = [module.proj_size or module.hidden_size]
    if module.mode == "LSTM":
        sizes.append(module.hidden_size)
    for i, size in enumerate(sizes):
        state = _numbers(module.num_layers * directions, batch, size, seed=i + 1)
        leaves.append(_leaf(lib, state[:, 0] if kind == "single" else state, dtype))
    given: Any = leaves[0]
    if kind in ("packed", "unsorted"):
        given = lib.nn.utils.rnn.pack_padded_sequence(
            given, lengths, batch_first=module.batch_first, enforce_sorted=kind == "packed"
        )
    lib.manual_seed(3)
    output, states = module(given, leaves[1] if len(leaves) == 2 else tuple(leaves[1:]))
    after = lib.rand(3)
    if kind in ("packed", "unsorted"):
        output = output.data
    results = [output, *([states] if lib.is_tensor(states) else states)]
    return results, [*leaves, *module.parameters()], after


def _loss(lib: Any, results: list[Any]) -> Any:
    total = 0.0
    for i, y in enumerate(results):
        weights = lib.tensor(_numbers(*y.shape, seed=20 + i), dtype=y.dtype)
        total = total + (y * y * weights).sum()
    return total


def _close(ours: Any, theirs: Any, tolerance: float, what: str) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape), what
    assert str(ours.dtype) == str(theirs.dtype), what
    ours, theirs = ours.detach().numpy(), theirs.detach().numpy()
    scale = max(1.0, np.abs(theirs).max(initial=0.0))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * scale, err_msg=what)


@pytest.mark.promise("N3")
@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KINDS)
def test_layers_agree_in_results_gradients_and_random_numbers(name, form, kind, dtype):
    module, options = KINDS[name]
    theirs, ours = _same_modules(module, dtype, **SIZES, **options, **FORMS[form])
    expected, leaves, after = _run(torch, theirs, kind, dtype)
    actual, our_leaves, our_after = _run(facula, ours, kind, dtype)
    assert our_after.tolist() == after.tolist()
    for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
        _close(a, b, TOLERANCES[dtype], f"result {i}")
        assert tuple(a.stride()) == tuple(b.stride())
    _loss(torch, expected).backward()
    _loss(facula, actual).backward()
    for i, (a, b) in enumerate(zip(our_leaves, leaves, strict=True)):
        _close(a.grad, b.grad, TOLERANCES[dtype], f"gradient {i}")


@pytest.mark.promise("N3")
@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("kind", ("batch", "packed"))
@pytest.mark.parametrize("form", ("plain", "two bidirectional layers", "dropout"))
@pytest.mark.parametrize("name", KINDS)
def test_layers_agree_in_second_gradients(name, form, kind):
    module, options = KINDS[name]
    seconds = []
    for lib, layer in zip(
        (torch, facula),
        _same_modules(module, "float64", **SIZES, **options, **FORMS[form]),
        strict=True,
    ):
        results, leaves, _ = _run(lib, layer, kind, "float64")
        firsts = lib.autograd.grad(_loss(lib, results), leaves, create_graph=True)
        total = sum((g * g).sum() for g in firsts)
        seconds.append(lib.autograd.grad(total, leaves))
    for i, (a, b) in enumerate(zip(seconds[1], seconds[0], strict=True)):
        _close(a, b, 1e-10, f"second gradient {i}")


CELLS = {
    "RNNCell tanh": ("RNNCell", {}),
    "RNNCell relu": ("RNNCell", {"nonlinearity": "relu"}),
    "LSTMCell": ("LSTMCell", {}),
    "GRUCell": ("GRUCell", {}),
}


@pytest.mark.promise("N3")
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("bias", (True, False))
@pytest.mark.parametrize("batch", (None, 1, 4))
@pytest.mark.parametrize("name", CELLS)
def test_cells_agree_in_results_and_both_gradients(name, bias, batch, dtype):
    module, options = CELLS[name]
    shape = () if batch is None else (batch,)
    outcomes = []
    for lib, cell in zip(
        (torch, facula), _same_modules(module, dtype, **SIZES, bias=bias, **options), strict=True
    ):
        x = _leaf(lib, _numbers(*shape, SIZES["input_size"]), dtype)
        states = [_leaf(lib, _numbers(*shape, SIZES["hidden_size"], seed=i), dtype) for i in (1, 2)]
        states = states if module == "LSTMCell" else states[:1]
        leaves, made = [x, *states, *cell.parameters()], []
        for _ in range(3):
            h = cell(x, tuple(states) if len(states) == 2 else states[0])
            states = [h] if lib.is_tensor(h) else list(h)
            made += states
        firsts = lib.autograd.grad(_loss(lib, made), leaves, create_graph=True)
        total = sum((g * g).sum() for g in firsts)
        outcomes.append([*made, *firsts, *lib.autograd.grad(total, leaves)])
    for i, (a, b) in enumerate(zip(outcomes[1], outcomes[0], strict=True)):
        _close(a, b, 10 * TOLERANCES[dtype], f"outcome {i}")


@pytest.mark.promise("N3", "N1")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [*KINDS, *CELLS])
def test_parameters_and_repr_are_the_same_from_the_same_seed(name, form):
    module, options = {**KINDS, **CELLS}[name]
    form_options = FORMS[form] if name in KINDS else {}
    theirs, ours = _same_modules(module, "float32", **SIZES, **options, **form_options)
    expected, actual = theirs.state_dict(), ours.state_dict()
    assert list(actual) == list(expected)
    for key, value in expected.items():
        assert actual[key].numpy().tobytes() == value.numpy().tobytes(), key
    assert repr(ours) == repr(theirs)
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    if name in KINDS:
        expected_shapes = [[tuple(w.shape) for w in ws] for ws in theirs.all_weights]
        assert [[tuple(w.shape) for w in ws] for ws in ours.all_weights] == expected_shapes


@pytest.mark.promise("N3")
@pytest.mark.parametrize("dtype", ("float16", "bfloat16"))
@pytest.mark.parametrize("name", ("RNN tanh", "GRU", "LSTM"))
def test_half_precision_agrees_to_its_own_precision(name, dtype):
    module, options = KINDS[name]
    made = []
    for lib, layer in zip(
        (torch, facula), _same_modules(module, dtype, **SIZES, **options), strict=True
    ):
        x = lib.tensor(_numbers(4, 2, SIZES["input_size"]), dtype=getattr(lib, dtype))
        made.append(layer(x)[0])
    assert str(made[1].dtype) == str(made[0].dtype)
    ours, theirs = (y.detach().to(y.dtype).float().numpy() for y in made[::-1])
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=0.02)


# ---- padded and packed sequences


def _sequences(lib: Any, *lengths: int) -> list[Any]:
    return [_leaf(lib, _numbers(n, 3, seed=n), "float64") for n in lengths]


PACKING: dict[str, Any] = {
    "pad_sequence": lambda rnn, xs: [rnn.pad_sequence(xs)],
    "pad_sequence batch first": lambda rnn, xs: [rnn.pad_sequence(xs, True, 2.5)],
    "pad_sequence left": lambda rnn, xs: [rnn.pad_sequence(xs, padding_side="left")],
    "pack_sequence": lambda rnn, xs: list(rnn.pack_sequence(xs, enforce_sorted=False)),
    "pack_padded": lambda rnn, xs: list(
        rnn.pack_padded_sequence(rnn.pad_sequence(xs), [2, 4, 1], enforce_sorted=False)
    ),
    "pack_padded batch first": lambda rnn, xs: list(
        rnn.pack_padded_sequence(rnn.pad_sequence(xs, True), [4, 2, 2], batch_first=True)
    ),
    "there and back": lambda rnn, xs: list(
        rnn.pad_packed_sequence(rnn.pack_sequence(xs, enforce_sorted=False))
    ),
    "back batch first": lambda rnn, xs: list(
        rnn.pad_packed_sequence(rnn.pack_sequence(xs, False), True, -1.0, total_length=7)
    ),
    "unpack_sequence": lambda rnn, xs: rnn.unpack_sequence(rnn.pack_sequence(xs, False)),
}


@pytest.mark.promise("N3")
@pytest.mark.parametrize("name", PACKING)
def test_packing_and_padding_agree(name):
    outcomes = []
    for lib in (torch, facula):
        xs = _sequences(lib, 3, 5, 2)
        results = [y for y in PACKING[name](lib.nn.utils.rnn, xs) if y is not None]
        floating = [y for y in results if y.is_floating_point()]
        outcomes.append((results, lib.autograd.grad(_loss(lib, floating), xs)))
    (expected, expected_grads), (actual, actual_grads) = outcomes
    for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
        _close(a, b, 1e-12, f"result {i}")
        assert tuple(a.stride()) == tuple(b.stride()), f"result {i}"
    for i, (a, b) in enumerate(zip(actual_grads, expected_grads, strict=True)):
        _close(a, b, 1e-12, f"gradient {i}")


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_networks_are_pytorchs(name, dtype):
    options = {"num_layers": 2, "bidirectional": True}
    torch.manual_seed(0)
    theirs = getattr(torch.nn, name)(3, 4, dtype=getattr(torch, dtype), **options)
    ours = getattr(facula.nn, name)(3, 4, dtype=getattr(facula, dtype), **options)
    state = {key: facula.from_numpy(p.numpy()) for key, p in theirs.state_dict().items()}
    ours.load_state_dict(state)
    rng = np.random.default_rng(0)
    # Small numbers: tanh of a complex number has poles.
    data = 0.2 * (rng.standard_normal((5, 2, 3)) + 1j * rng.standard_normal((5, 2, 3)))
    data = data.astype(dtype)
    a, b = (lib.from_numpy(data).requires_grad_() for lib in (torch, facula))
    y, z = theirs(a)[0], ours(b)[0]
    within = {"rtol": 1e-4, "atol": 1e-3} if dtype == "complex64" else {"rtol": 1e-10}
    np.testing.assert_allclose(z.detach().numpy(), y.detach().numpy(), **within)
    y.abs().sum().backward()
    z.abs().sum().backward()
    np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy(), **within)
    for p, q in zip(theirs.parameters(), ours.parameters(), strict=True):
        np.testing.assert_allclose(q.grad.numpy(), p.grad.numpy(), **within)
