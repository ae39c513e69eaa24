import copy
import pickle

import numpy as np
import pytest

import facula
from facula import nn
from facula.autograd import gradcheck, gradgradcheck
from facula.nn.utils.rnn import pack_sequence
from tests.check_op import check_threads

pytestmark = pytest.mark.promise("N3")

LAYERS = {
    "tanh": lambda *sizes, **options: nn.RNN(*sizes, **options),
    "relu": lambda *sizes, **options: nn.RNN(*sizes, nonlinearity="relu", **options),
    "gru": lambda *sizes, **options: nn.GRU(*sizes, **options),
    "lstm": lambda *sizes, **options: nn.LSTM(*sizes, **options),
    "projected": lambda *sizes, **options: nn.LSTM(*sizes, proj_size=2, **options),
}


def make(kind, *sizes, **options):
    facula.manual_seed(0)
    return LAYERS[kind](*sizes, **options)


def flat(result):
    """The tensors of (output, h) or (output, (h, c)), packed or not."""
    output, state = result
    output = output if isinstance(output, facula.Tensor) else output.data
    return (output, *([state] if isinstance(state, facula.Tensor) else state))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# ---- the formulas


def lstm_numpy(x, h, c, w_ih, w_hh, b_ih, b_hh):
    outputs = []
    for step in x:
        i, f, g, o = np.split(step @ w_ih.T + b_ih + h @ w_hh.T + b_hh, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs), h, c


def gru_numpy(x, h, w_ih, w_hh, b_ih, b_hh):
    outputs = []
    for step in x:
        of_x, of_h = np.split(step @ w_ih.T + b_ih, 3, 1), np.split(h @ w_hh.T + b_hh, 3, 1)
        r, z = sigmoid(of_x[0] + of_h[0]), sigmoid(of_x[1] + of_h[1])
        h = (1 - z) * np.tanh(of_x[2] + r * of_h[2]) + z * h
        outputs.append(h)
    return np.stack(outputs), h


def test_an_lstm_follows_its_formula():
    m = make("lstm", 3, 21, dtype=facula.float64)
    x, h, c = facula.randn(4, 7, 3).double(), *facula.randn(2, 1, 7, 21).double()
    y, (h_n, c_n) = m(x, (h, c))
    weights = [w.detach().numpy() for w in m.parameters()]
    expected = lstm_numpy(x.numpy(), h.numpy()[0], c.numpy()[0], *weights)
    np.testing.assert_allclose(y.detach().numpy(), expected[0], rtol=1e-12)
    np.testing.assert_allclose(h_n.detach().numpy()[0], expected[1], rtol=1e-12)
    np.testing.assert_allclose(c_n.detach().numpy()[0], expected[2], rtol=1e-12)


def test_a_gru_follows_its_formula():
    m = make("gru", 3, 21, dtype=facula.float64)
    x, h = facula.randn(4, 7, 3).double(), facula.randn(1, 7, 21).double()
    y, h_n = m(x, h)
    weights = [w.detach().numpy() for w in m.parameters()]
    expected = gru_numpy(x.numpy(), h.numpy()[0], *weights)
    np.testing.assert_allclose(y.detach().numpy(), expected[0], rtol=1e-12)
    np.testing.assert_allclose(h_n.detach().numpy()[0], expected[1], rtol=1e-12)


@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
def test_an_rnn_follows_its_formula(nonlinearity):
    m = make(nonlinearity, 3, 21, dtype=facula.float64)
    x, h = facula.randn(4, 7, 3).double(), facula.zeros(7, 21).double()
    y, _ = m(x)
    for step, output in zip(x, y, strict=True):
        h = step @ m.weight_ih_l0.T + m.bias_ih_l0 + h @ m.weight_hh_l0.T + m.bias_hh_l0
        h = getattr(h, nonlinearity)()
        assert facula.allclose(output, h, rtol=1e-12)


@pytest.mark.parametrize("kind", ["tanh", "relu", "gru", "lstm"])
def test_a_layer_is_its_cell_step_by_step(kind):
    m = make(kind, 3, 5)
    cell = {"gru": nn.GRUCell, "lstm": nn.LSTMCell}.get(kind, nn.RNNCell)(3, 5)
    if kind == "relu":
        cell.nonlinearity = "relu"
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in m.state_dict().items()})
    x, state = facula.randn(4, 2, 3), None
    for step, output in zip(x, m(x)[0], strict=True):
        state = cell(step, state)
        h = state[0] if kind == "lstm" else state
        assert facula.allclose(h, output, atol=1e-6)


# ---- layers, directions, layouts


@pytest.mark.parametrize("kind", LAYERS)
def test_the_second_direction_runs_from_the_end(kind):
    m = make(kind, 3, 5, bidirectional=True)
    one = make(kind, 3, 5)
    one.load_state_dict(
        {k.removesuffix("_reverse"): v for k, v in m.state_dict().items() if "reverse" in k}
    )
    x = facula.randn(4, 2, 3)
    size = one(x)[0].shape[2]
    expected = one(x.flip(0))[0].flip(0)
    assert facula.allclose(m(x)[0][:, :, size:], expected, atol=1e-6)


@pytest.mark.parametrize("kind", LAYERS)
def test_packed_sequences_give_what_each_gives_alone(kind):
    m = make(kind, 3, 5, num_layers=2, bidirectional=True)
    xs = [facula.randn(n, 3) for n in (2, 4, 1, 4)]
    packed, *states = flat(m(pack_sequence(xs, enforce_sorted=False)))
    output, _ = nn.utils.rnn.pad_packed_sequence(m(pack_sequence(xs, enforce_sorted=False))[0])
    assert packed.shape[0] == 11
    for i, x in enumerate(xs):
        alone, *last = flat(m(x))
        assert facula.allclose(output[: len(x), i], alone, atol=1e-6)
        for state, expected in zip(states, last, strict=True):
            assert facula.allclose(state[:, i], expected, atol=1e-6)


@pytest.mark.parametrize("kind", LAYERS)
def test_batch_first_and_unbatched_inputs_are_the_same_layer(kind):
    m = make(kind, 3, 5, num_layers=2)
    x = facula.randn(4, 2, 3)
    expected, *states = flat(m(x))
    m.batch_first = True
    actual, *same = flat(m(x.transpose(0, 1)))
    assert facula.equal(actual.transpose(0, 1), expected)
    assert all(facula.equal(a, b) for a, b in zip(same, states, strict=True))
    alone, *last = flat(m(x[:, 1]))
    assert facula.allclose(alone, expected[:, 1], atol=1e-6)
    assert [s.dim() for s in last] == [2] * len(last)


def test_dropout_is_between_layers_and_in_training_only():
    facula.manual_seed(0)
    m = nn.LSTM(3, 5, 2, dropout=1.0)
    x = facula.randn(4, 2, 3)
    # With all of the first layer's output gone, the second one sees zeros.
    above = nn.LSTM(5, 5)
    above.load_state_dict(
        {k.replace("l1", "l0"): v for k, v in m.state_dict().items() if "l1" in k}
    )
    assert facula.allclose(m(x)[0], above(facula.zeros(4, 2, 5))[0])
    m.eval()
    assert not facula.allclose(m(x)[0], above(facula.zeros(4, 2, 5))[0])
    assert facula.equal(m(x)[0], m(x)[0])


def test_dropout_of_one_layer_warns():
    with pytest.warns(UserWarning, match="num_layers is 1"):
        nn.GRU(3, 4, dropout=0.5)


@pytest.mark.parametrize("kind", LAYERS)
def test_a_batch_without_sequences_is_legal(kind):
    m = make(kind, 3, 5, bidirectional=True)
    x = facula.ones(4, 0, 3, requires_grad=True)
    y = m(x)[0]
    y.sum().backward()
    assert y.shape[:2] == (4, 0)
    assert x.grad.shape == (4, 0, 3)
    assert m.weight_hh_l0.grad.abs().sum() == 0


@pytest.mark.parametrize("batch", [0, 2, 30])
def test_a_cell_without_units_is_legal(batch):
    w = [facula.zeros(0, 3, requires_grad=True), facula.zeros(0, 0, requires_grad=True)]
    h = facula.zeros(batch, 0)
    for result in (
        facula.rnn_tanh_cell(facula.ones(batch, 3), h, *w),
        facula.gru_cell(facula.ones(batch, 3), h, *w),
        *facula.lstm_cell(facula.ones(batch, 3), (h, h), *w),
    ):
        assert result.shape == (batch, 0)
        result.sum().backward(retain_graph=True)


# ---- gradients


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", LAYERS)
def test_first_and_second_gradients_are_right(kind, packed):
    m = make(kind, 2, 3, bidirectional=True, dtype=facula.float64)
    x = facula.randn(3, 2, 2, dtype=facula.float64, requires_grad=True)
    sizes = [m.proj_size or 3, 3] if m.mode == "LSTM" else [3]
    states = [facula.randn(2, 2, n, dtype=facula.float64, requires_grad=True) for n in sizes]
    op, packing = getattr(facula, m.mode.lower()), (facula.tensor([2, 2, 1]),)

    def run(x, *rest):
        hx, params = rest[: len(sizes)], rest[len(sizes) :]
        hx = hx if len(hx) == 2 else hx[0]
        if packed:
            return op(x.view(6, 2)[:5], *packing, hx, params, True, 1, 0.0, True, True)
        return op(x, hx, params, True, 1, 0.0, True, True, False)

    inputs = (x, *states, *m.parameters())
    assert gradcheck(run, inputs)
    assert gradgradcheck(run, inputs)


@pytest.mark.parametrize("kind", LAYERS)
def test_gradients_through_the_last_states_alone(kind):
    m = make(kind, 3, 5, dtype=facula.float64)
    x = facula.randn(4, 2, 3, dtype=facula.float64, requires_grad=True)
    y, *states = flat(m(x))
    (from_state,) = facula.autograd.grad(states[0].sum(), x, retain_graph=True)
    (from_output,) = facula.autograd.grad(y[-1].sum(), x)
    assert facula.allclose(from_state, from_output)


def test_one_tensor_as_h_and_c_gets_both_gradients():
    m = make("lstm", 3, 5, dtype=facula.float64)
    x = facula.randn(4, 2, 3, dtype=facula.float64)
    state = facula.randn(1, 2, 5, dtype=facula.float64, requires_grad=True)
    other = state.detach().clone().requires_grad_()
    for create_graph in (False, True):
        (both,) = facula.autograd.grad(
            m(x, (state, state))[0].sum(), state, create_graph=create_graph
        )
        parts = facula.autograd.grad(m(x, (state, other))[0].sum(), [state, other])
        assert facula.allclose(both, parts[0] + parts[1])


def test_truncated_back_propagation_stops_at_detach():
    m = make("lstm", 3, 5)
    x = facula.randn(6, 2, 3, requires_grad=True)
    _, state = m(x[:3])
    y, _ = m(x[3:], tuple(s.detach() for s in state))
    y.sum().backward()
    assert x.grad[:3].abs().sum() == 0
    assert (x.grad[3:].abs().sum((1, 2)) > 0).all()


def test_backward_twice_needs_retain_graph():
    m = make("gru", 3, 5)
    y = m(facula.ones(4, 2, 3))[0].sum()
    y.backward(retain_graph=True)
    first = m.weight_hh_l0.grad.clone()
    y.backward()
    assert facula.equal(m.weight_hh_l0.grad, 2 * first)
    with pytest.raises(RuntimeError, match="freed by an earlier backward"):
        y.backward()


@pytest.mark.parametrize("kind", ["tanh", "relu", "gru"])
def test_the_output_may_be_changed_in_place(kind):
    m = make(kind, 3, 5)
    x = facula.randn(4, 2, 3)
    m(x)[0].relu().sum().backward()
    expected = m.weight_hh_l0.grad.clone()
    m.zero_grad()
    m(x)[0].relu_().sum().backward()
    assert facula.equal(m.weight_hh_l0.grad, expected)


@pytest.mark.parametrize("cell", [nn.LSTMCell, nn.GRUCell])
def test_the_states_of_a_cell_may_be_changed_in_place(cell):
    m = cell(3, 5)
    states = m(facula.ones(2, 3))
    for state in states if isinstance(states, tuple) else (states,):
        state.mul_(2).sum().backward(retain_graph=True)
    assert m.weight_ih.grad is not None


def test_the_output_of_an_lstm_is_kept_for_backward():
    y = make("lstm", 3, 5)(facula.ones(4, 2, 3))[0]
    y.relu_()
    with pytest.raises(RuntimeError, match=r"RnnLayerBackward0 .* overwritten in-place"):
        y.sum().backward()


@pytest.mark.parametrize("kind", LAYERS)
def test_parameters_that_are_frozen_get_no_gradient(kind):
    m = make(kind, 3, 5)
    m.weight_hh_l0.requires_grad_(False)
    x = facula.ones(4, 2, 3)
    m(x)[0].sum().backward()
    assert m.weight_hh_l0.grad is None
    assert m.weight_ih_l0.grad is not None


# From a few rows to weights that no longer fit in a thread's cache, which are cut another way.
@pytest.mark.parametrize("hidden, batch", [(20, 3), (20, 40), (260, 9)])
@pytest.mark.parametrize("kind", LAYERS)
def test_results_do_not_depend_on_the_number_of_threads(kind, hidden, batch):
    m = make(kind, 8, hidden, bidirectional=True)
    x = facula.randn(3, batch, 8)

    def run():
        m.zero_grad()
        y, *states = flat(m(x))
        (y.square().sum() + states[0].sum()).backward()
        return facula.cat([y.flatten(), *(p.grad.flatten() for p in m.parameters())])

    check_threads(run)


@pytest.mark.parametrize("hidden", [20, 260])
@pytest.mark.parametrize("kind", LAYERS)
def test_a_sequence_gives_the_same_alone_and_among_others(kind, hidden):
    m = make(kind, 8, hidden)
    x = facula.randn(5, 9, 8)
    together = m(x)[0]
    alone = facula.cat([m(x[:, i : i + 1])[0] for i in range(9)], 1)
    assert facula.allclose(alone, together, atol=1e-5)


# ---- the module


def test_names_and_shapes_of_the_parameters():
    m = nn.LSTM(3, 5, num_layers=2, bidirectional=True, proj_size=2)
    shapes = {name: tuple(p.shape) for name, p in m.named_parameters()}
    assert list(shapes)[:6] == [
        "weight_ih_l0",
        "weight_hh_l0",
        "bias_ih_l0",
        "bias_hh_l0",
        "weight_hr_l0",
        "weight_ih_l0_reverse",
    ]
    assert shapes["weight_ih_l1"] == (20, 4)
    assert shapes["weight_hh_l1_reverse"] == (20, 2)
    assert shapes["weight_hr_l0"] == (2, 5)
    assert len(m.all_weights) == 4
    assert m.all_weights[0][0] is m.weight_ih_l0


def test_repr_shows_what_is_not_the_default():
    assert repr(nn.LSTM(3, 5)) == "LSTM(3, 5)"
    assert repr(nn.RNN(3, 5, 2, "relu", False)) == "RNN(3, 5, num_layers=2, bias=False)"
    assert repr(nn.GRUCell(3, 5, bias=False)) == "GRUCell(3, 5, bias=False)"
    assert repr(nn.RNNCell(3, 5, nonlinearity="relu")) == "RNNCell(3, 5, nonlinearity=relu)"


def test_a_weight_that_is_replaced_is_used():
    m = make("tanh", 3, 5)
    m.weight_ih_l0 = nn.Parameter(facula.zeros(5, 3))
    m.weight_hh_l0 = nn.Parameter(facula.zeros(5, 5))
    bias = (m.bias_ih_l0 + m.bias_hh_l0).tanh()
    assert facula.allclose(m(facula.ones(2, 1, 3))[0][1, 0], bias)


@pytest.mark.parametrize("norm", [nn.utils.weight_norm, nn.utils.parametrizations.weight_norm])
@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
def test_a_weight_that_is_computed_from_others_is_used(norm):
    m = make("gru", 3, 5)
    x = facula.ones(4, 2, 3)
    expected = m(x)[0]
    norm(m, "weight_hh_l0")
    y = m(x)[0]
    y.sum().backward()
    assert facula.allclose(y, expected, atol=1e-6)
    assert all(p.grad is not None for p in m.parameters())


@pytest.mark.parametrize("copy_of", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_have_weights_of_their_own(copy_of):
    m = make("gru", 3, 5)
    x = facula.randn(2, 1, 3)
    other = copy_of(m)
    assert facula.equal(other(x)[0], m(x)[0])
    with facula.no_grad():
        other.weight_ih_l0.zero_()
    assert not facula.equal(other(x)[0], m(x)[0])


def test_another_dtype_moves_the_whole_layer():
    m = make("lstm", 3, 5).double()
    assert m(facula.ones(2, 1, 3, dtype=facula.float64))[0].dtype == facula.float64
    m.flatten_parameters()
    assert m.bfloat16()(facula.ones(2, 1, 3).bfloat16())[0].dtype == facula.bfloat16


# ---- wrong arguments

r = facula.zeros


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"dropout": 1.5}, ValueError, "LSTM: expected dropout as a probability from 0 to 1"),
        ({"dropout": True}, ValueError, "LSTM: expected dropout as a probability from 0 to 1"),
        ({"bias": 1}, TypeError, "expected bias as bool, got int"),
        ({"input_size": 0}, ValueError, "expected input_size of at least 1, got 0"),
        ({"hidden_size": 2.0}, TypeError, "expected hidden_size as int, got float"),
        ({"num_layers": 0}, ValueError, "expected num_layers of at least 1"),
        ({"proj_size": -1}, ValueError, "expected proj_size 0"),
        ({"proj_size": 5}, ValueError, "smaller than hidden_size=5, got 5"),
    ],
)
def test_wrong_options_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        nn.LSTM(**{"input_size": 3, "hidden_size": 5, **arguments})


def test_only_an_lstm_has_a_projection():
    for layer in (nn.RNN, nn.GRU):
        with pytest.raises(ValueError, match="only an LSTM can have a projection, got proj_size=2"):
            layer(3, 5, proj_size=2)


def test_unknown_nonlinearities_are_refused():
    with pytest.raises(ValueError, match="must be 'tanh' or 'relu', got 'sin'"):
        nn.RNN(3, 5, nonlinearity="sin")
    with pytest.raises(RuntimeError, match="must be 'tanh' or 'relu', got 'sin'"):
        nn.RNNCell(3, 5, nonlinearity="sin")(r(2, 3))


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ((r(3),), ValueError, r"GRU: expected an input of 3 dimensions, or of 2 .*got \(3,\)"),
        ((r(4, 2, 7),), RuntimeError, r"GRU: expected an input of 3 features .*\(4, 2, 7\)"),
        ((r(4, 2, 3).double(),), ValueError, "GRU: expected an input of the parameters' dtype"),
        ((r(0, 2, 3),), RuntimeError, "gru: expected a sequence of at least one step"),
        ((r(4, 2, 3), r(1, 3, 5)), RuntimeError, r"h_0 of shape \(1, 2, 5\), got \(1, 3, 5\)"),
        ((r(4, 2, 3), r(2, 5)), RuntimeError, "h_0 of 3 dimensions for a batch"),
        ((r(4, 3), r(1, 1, 5)), RuntimeError, "h_0 of 2 dimensions without a batch"),
        ((r(4, 2, 3), r(1, 2, 5).double()), RuntimeError, "states and parameters of the input's"),
    ],
)
def test_wrong_inputs_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        nn.GRU(3, 5)(*arguments)


def test_a_wrong_cell_state_is_refused():
    with pytest.raises(
        RuntimeError, match=r"LSTM: expected c_0 of shape \(1, 2, 5\), got \(1, 2, 4"
    ):
        nn.LSTM(3, 5)(r(4, 2, 3), (r(1, 2, 5), r(1, 2, 4)))
    with pytest.raises(IndexError, match=r"pair of tensors \(h_0, c_0\), got Tensor"):
        nn.LSTM(3, 5)(r(4, 2, 3), r(1, 2, 5))
    with pytest.raises(RuntimeError, match=r"pair of tensors \(h_0, c_0\), got Tensor"):
        nn.LSTM(3, 5, 2)(r(4, 2, 3), r(2, 2, 5))


@pytest.mark.parametrize("name", ["GRU", "LSTM"])
def test_too_few_states_for_packed_sequences_are_refused(name):
    sequences = pack_sequence([r(2, 3), r(4, 3), r(1, 3)], enforce_sorted=False)
    state = r(1, 2, 5)
    with pytest.raises(
        RuntimeError,
        match=rf"^{name}: expected h_0 of shape \(1, 3, 5\), got \(1, 2, 5\)\. "
        r"\(Expected hidden size \(1, 3, 5\), got \[1, 2, 5\]\)$",
    ):
        getattr(nn, name)(3, 5)(sequences, (state, state) if name == "LSTM" else state)


@pytest.mark.parametrize(
    "sizes, message",
    [
        ([2, 3], r"do not grow and add up to the 5 rows of the data, got 3 at step 1"),
        ([2, 2], "batch_sizes add up to 4 rows, but the data has 5"),
        ([3, 0, 2], "positive batch_sizes.*got 0 at step 1"),
        ([5, -1], "positive batch_sizes.*got -1 at step 1"),
        ([2**62, 2**62], "got 4611686018427387904 at step 0"),
    ],
)
def test_wrong_batch_sizes_are_refused(sizes, message):
    w = [r(5, 3), r(5, 5)]
    with pytest.raises(RuntimeError, match=message):
        facula.rnn_tanh(
            r(5, 3), facula.tensor(sizes), r(1, sizes[0] % 7, 5), w, False, 1, 0.0, False, False
        )


@pytest.mark.parametrize(
    "change, message",
    [
        ({0: r(20, 4)}, "expected an input of 4 features"),
        ({0: r(19, 3)}, r"expected w_ih of shape \(20, input size\)"),
        ({1: r(20, 4)}, r"expected w_hh of shape \(20, 5\)"),
        ({2: r(19)}, r"expected b_ih of shape \(20,\)"),
        ({3: r(1, 20)}, r"expected b_hh of shape \(20,\)"),
        ({3: r(20).double()}, "parameters of the input's dtype"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(change, message):
    params = [change.get(i, p) for i, p in enumerate([r(20, 3), r(20, 5), r(20), r(20)])]
    state = r(1, 2, 5)
    with pytest.raises(RuntimeError, match=message):
        facula.lstm(r(4, 2, 3), (state, state), params, True, 1, 0.0, False, False, False)
    if 1 not in change:  # w_hh says how large the states of a cell are
        with pytest.raises(RuntimeError, match=message):
            facula.lstm_cell(r(2, 3), (state[0], state[0]), *params)


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ((r(1, 2, 3),), ValueError, r"LSTMCell: expected input of 2 dimensions, or of 1"),
        ((r(2, 4),), RuntimeError, "lstm_cell: expected an input of 3 features"),
        ((r(2, 3), (r(3, 5), r(3, 5))), RuntimeError, r"states of shape \(2, 5\), got float32 \(3"),
        ((r(2, 3), (r(2, 4), r(2, 4))), RuntimeError, r"states of shape \(2, 5\), got float32 \(2"),
        ((r(2, 3), r(2, 5)), TypeError, r"pair of tensors \(h, c\), got Tensor"),
    ],
)
def test_wrong_inputs_of_cells_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        nn.LSTMCell(3, 5)(*arguments)


def test_flat_weights_that_are_assigned_count_until_the_parameter_changes():
    layer, x = nn.LSTM(3, 4), facula.randn(5, 2, 3)
    plain = layer(x)[0]
    layer._flat_weights = list(layer._flat_weights)
    assert facula.equal(layer(x)[0], plain)
    weights = list(layer._flat_weights)
    weights[1] = layer.weight_hh_l0 * 2
    layer._flat_weights = weights
    doubled = layer(x)[0]
    doubled.sum().backward()
    assert not facula.equal(doubled, plain) and layer.weight_hh_l0.grad is not None
    layer.weight_hh_l0 = nn.Parameter(layer.weight_hh_l0.detach())
    assert facula.equal(layer(x)[0], plain)
    layer._flat_weights = [weight.detach() * 0 for weight in weights]
    assert not layer(x)[0].any()
    facula.testing.assert_close(layer.double()(x.double())[0], plain.double())
    with pytest.raises(ValueError, match="LSTM: expected _flat_weights to be 4 tensors, got 1"):
        layer._flat_weights = [weights[0]]


@pytest.mark.parametrize("network", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_networks_of_bfloat16_are_as_good_as_their_numbers(network, bidirectional):
    facula.manual_seed(0)
    m = network(40, 48, num_layers=2, bidirectional=bidirectional).bfloat16()
    x = facula.randn(9, 5, 40).bfloat16().requires_grad_()
    exact = network(40, 48, num_layers=2, bidirectional=bidirectional).double()
    exact.load_state_dict({name: p.double() for name, p in m.state_dict().items()})
    wide = x.detach().double().requires_grad_()
    found, expected = m(x)[0], exact(wide)[0]
    assert found.dtype == facula.bfloat16
    assert (found.double() - expected).abs().max() < 0.02
    grad = facula.randn(*found.shape).bfloat16()
    inputs = [x, *m.parameters()], [wide, *exact.parameters()]
    for g, e in zip(
        facula.autograd.grad(found, inputs[0], grad),
        facula.autograd.grad(expected, inputs[1], grad.double()),
        strict=True,
    ):
        assert g.dtype == facula.bfloat16
        assert (g.double() - e).norm() < 0.02 * e.norm()
