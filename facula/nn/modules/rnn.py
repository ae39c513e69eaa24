"""Recurrent layers over sequences, and their single steps."""

from __future__ import annotations

import math
import numbers
from typing import Any

import facula
from facula import _core
from facula._core import Tensor
from facula._warnings import warn_user
from facula.nn import init
from facula.nn.modules.module import Module
from facula.nn.modules.utils import _changed
from facula.nn.parameter import Parameter
from facula.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_OPS: dict[str, Any] = {
    "LSTM": _core.lstm,
    "GRU": _core.gru,
    "RNN_TANH": _core.rnn_tanh,
    "RNN_RELU": _core.rnn_relu,
}


class RNNBase(Module):
    """What :class:`RNN`, :class:`LSTM` and :class:`GRU` share.

    Args:
        mode: the kind of layer: ``"LSTM"``, ``"GRU"``, ``"RNN_TANH"`` or ``"RNN_RELU"``.
        input_size: the number of features of the input.
        hidden_size: the number of features of the state.
        num_layers: the number of layers, each of which runs over the outputs of the one before.
        bias: whether the layer has biases.
        batch_first: whether the batch is the first dimension of input and output.
        dropout: the probability with which elements between two layers become zero in training.
        bidirectional: whether each layer also runs from the end to the beginning.
        proj_size: the size that the state of an LSTM is projected to; 0 for no projection.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Example:
        >>> m = facula.nn.RNNBase("GRU", input_size=3, hidden_size=5)
        >>> [tuple(weight.shape) for weight in m.all_weights[0]]
        [(15, 3), (15, 5), (15,), (15,)]
    """

    __constants__ = (
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    )
    _assigned: list[tuple[Any, Any]] | None = None  # a weight, and what was assigned in its place

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = dropout
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_arguments()
        self.dropout = float(dropout)  # checked to be a number
        self._all_weights: list[list[str]] = []
        self._flat_weights_names: list[str] = []

        # The order of the parameters is PyTorch's: it is that of state_dict, of _flat_weights,
        # which the operations take, and of the random numbers that reset_parameters draws.
        rows, state_size = _GATES[mode] * hidden_size, proj_size or hidden_size
        suffixes = ("", "_reverse") if bidirectional else ("",)
        for layer in range(num_layers):
            size = input_size if layer == 0 else state_size * len(suffixes)
            shapes: dict[str, tuple[int, ...]] = {
                "weight_ih": (rows, size),
                "weight_hh": (rows, state_size),
            }
            if bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for suffix in suffixes:
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    value = Parameter(facula.empty(shape, device=device, dtype=dtype))
                    self.register_parameter(name, value)
                self._all_weights.append(names)
                self._flat_weights_names += names
        self.reset_parameters()

    def _check_arguments(self) -> None:
        owner, dropout = type(self).__name__, self.dropout
        is_number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
        if not is_number or not 0 <= dropout <= 1:
            raise ValueError(
                f"{owner}: expected dropout as a probability from 0 to 1, got {dropout!r}."
            )
        if dropout > 0 and self.num_layers == 1:
            # Four levels up is who wrote RNN(...), above RNN.__init__ and RNNBase.__init__.
            warn_user(
                f"{owner}: dropout={dropout} has no effect: it is between layers, and num_layers "
                "is 1",
            )
        types = {"bias": bool, "batch_first": bool, "input_size": int, "hidden_size": int}
        for name, expected in types.items():
            value = getattr(self, name)
            if not isinstance(value, expected):
                raise TypeError(
                    f"{owner}: expected {name} as {expected.__name__}, got {type(value).__name__}."
                )
        for name in ("input_size", "hidden_size", "num_layers"):
            value = getattr(self, name)
            if value <= 0:
                raise ValueError(f"{owner}: expected {name} of at least 1, got {value}.")
        if not 0 <= self.proj_size < self.hidden_size:
            raise ValueError(
                f"{owner}: expected proj_size 0, for no projection, or smaller than "
                f"hidden_size={self.hidden_size}, got {self.proj_size}"
            )
        if self.mode not in _GATES:
            raise ValueError(
                f"{owner}: expected mode as one of {', '.join(_GATES)}, got {self.mode!r}."
            )

    @property
    def _flat_weights(self) -> list[Any]:
        # Collected at each call: a list that is kept would hold old tensors after functional_call,
        # pruning or a parametrization has put others in their place, some of them as attributes.
        own = self._parameters
        weights = [
            own[name] if name in own else getattr(self, name) for name in self._flat_weights_names
        ]
        if self._assigned is None:
            return weights
        return [
            given if now is then else now
            for now, (then, given) in zip(weights, self._assigned, strict=True)
        ]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Any]) -> None:
        # Packages that compute weights assign them here: one counts until the attribute of its name
        # is set to another tensor.
        self._assigned = None
        now = self._flat_weights
        if len(now) != len(weights):
            raise ValueError(
                f"{type(self).__name__}: expected _flat_weights to be {len(now)} tensors, got "
                f"{len(weights)}."
            )
        if any(a is not b for a, b in zip(now, weights, strict=True)):
            self._assigned = list(zip(now, weights, strict=True))

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        self._assigned = None  # a weight that is moved or converted counts again
        return super()._apply(fn, recurse)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def reset_parameters(self) -> None:
        """Draw all parameters from ``[-bound, bound)``, where ``bound`` is 1/√hidden_size."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Does nothing: the parameters need no common memory here."""

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise unless the input, packed if there are ``batch_sizes``, fits the parameters."""
        name, dtype = type(self).__name__, self._flat_weights[0].dtype
        if input.dtype != dtype and not facula.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"{name}: expected an input of the parameters' dtype, {dtype}, got {input.dtype}. "
                f"Convert it with input.to({dtype}), or the module with .to({input.dtype})."
            )
        n_dims = 3 if batch_sizes is None else 2
        if input.dim() != n_dims:
            raise RuntimeError(
                f"{name}: expected an input of {n_dims} dimensions, got one of shape "
                f"{tuple(input.shape)}."
            )
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"{name}: expected an input of {self.input_size} features (its last dimension), "
                f"got {tuple(input.shape)}. Was the layer meant to have "
                f"input_size={input.size(-1)}? (input.size(-1) must be equal to input_size)"
            )

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of ``h_0`` for this input."""
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0 if self.batch_first else 1)
        n_states = self.num_layers * (2 if self.bidirectional else 1)
        return n_states, batch, self.proj_size or self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, ...], msg: str = "h_0"
    ) -> None:
        """Raise unless a state, called ``msg``, has the expected shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(
                f"{type(self).__name__}: expected {msg} of shape {tuple(expected_hidden_size)}, "
                f"got {tuple(hx.size())}. (Expected hidden size {tuple(expected_hidden_size)}, "
                f"got {list(hx.size())})"
            )

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise unless input and initial state fit each other and the parameters."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its sequences in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def extra_repr(self) -> str:
        changed = _changed(
            self,
            proj_size=0,
            num_layers=1,
            bias=True,
            batch_first=False,
            dropout=0,
            bidirectional=False,
        )
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *changed])

    def __getstate__(self) -> dict[str, Any]:
        # PyTorch keeps the weights a second time, in a list, and needs it in a file that it loads.
        return {**self.__dict__, "_flat_weights": self._flat_weights}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self.__dict__.setdefault("proj_size", 0)  # older files have no projections
        self.__dict__.pop("_flat_weights", None)
        # Layers saved before 1.0 have no list of all names.
        names = [name for layer in self._all_weights for name in layer]
        self.__dict__.setdefault("_flat_weights_names", names)

    def _zeros(self, shape: tuple[int, ...], input: Tensor) -> Tensor:
        return facula.zeros(shape, dtype=input.dtype, device=input.device)

    def _initial(self, hx: Any, input: Tensor, batch_sizes: Tensor | None) -> Any:
        """The initial state: ``hx``, or zeros if there is none."""
        if hx is not None:
            return hx
        return self._zeros(self.get_expected_hidden_size(input, batch_sizes), input)

    def _unsqueeze(self, hx: Any, n_dims: int) -> Any:
        """Check that a state has ``n_dims`` dimensions, and add that of the batch to one of 2."""
        _check_state_dims(type(self).__name__, ("h_0",), (hx,), n_dims)
        return hx.unsqueeze(1) if n_dims == 2 else hx

    def _squeeze(self, hx: Any) -> Any:
        return hx.squeeze(1)

    def _call(self, input: Tensor, batch_sizes: Tensor | None, hx: Any) -> tuple[Tensor, Any]:
        """The operation itself: outputs and last state."""
        # The packed form of the operations takes batch_sizes after the data, and no batch_first.
        packing = () if batch_sizes is None else (batch_sizes,)
        layout = (self.batch_first,) if batch_sizes is None else ()
        output, *states = _OPS[self.mode](
            input,
            *packing,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            *layout,
        )
        return output, states[0] if len(states) == 1 else tuple(states)

    def _run_packed(self, sequence: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        data, batch_sizes, sorted_indices, unsorted_indices = sequence
        # The data are sorted by length; states are in the caller's order, and go back into it.
        if hx is not None:
            try:
                hx = self.permute_hidden(hx, sorted_indices)
            except RuntimeError:  # fewer states than sequences: say how many it must be
                self.check_forward_args(data, hx, batch_sizes)
                raise
        hx = self._initial(hx, data, batch_sizes)
        self.check_forward_args(data, hx, batch_sizes)
        output, state = self._call(data, batch_sizes, hx)
        packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return packed, self.permute_hidden(state, unsorted_indices)

    def _run(self, input: Any, hx: Any) -> tuple[Any, Any]:
        if isinstance(input, PackedSequence):
            return self._run_packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: expected an input of 3 dimensions, or of 2 without a "
                f"batch, got {tuple(input.shape)}."
            )
        is_batched, batch_dim = input.dim() == 3, 0 if self.batch_first else 1
        if hx is not None:
            hx = self._unsqueeze(hx, input.dim())
        # From here on there is always a batch, so that one set of checks and one call serve both.
        if not is_batched:
            input = input.unsqueeze(batch_dim)
        hx = self._initial(hx, input, None)
        self.check_forward_args(input, hx, None)
        output, state = self._call(input, None, hx)
        if is_batched:
            return output, state
        return output.squeeze(batch_dim), self._squeeze(state)


def _check_state_dims(
    module: str, names: tuple[str, ...], states: tuple[Tensor, ...], n_dims: int
) -> None:
    """Raise unless all states have ``n_dims`` dimensions."""
    for name, state in zip(names, states, strict=True):
        if state.dim() != n_dims:
            what = "3 dimensions for a batch" if n_dims == 3 else "2 dimensions without a batch"
            raise RuntimeError(f"{module}: expected {name} of {what}, got {tuple(state.shape)}.")


def _refuse_projection(name: str, proj_size: int | None) -> None:
    if proj_size is not None:
        raise ValueError(f"{name}: only an LSTM can have a projection, got proj_size={proj_size}.")


class RNN(RNNBase):
    """Recurrent network: ``h = tanh(W_ih x + b_ih + W_hh h + b_hh)`` at each step.

    Args:
        input_size: the number of features of the input.
        hidden_size: the number of features of the state.
        num_layers: the number of layers, each of which runs over the outputs of the one before.
        nonlinearity: the function that makes the new state: ``"tanh"`` or ``"relu"``.
        bias: whether the layer has biases.
        batch_first: whether the batch is the first dimension of input and output.
        dropout: the probability with which elements between two layers become zero in training.
        bidirectional: whether each layer also runs from the end to the beginning.
        proj_size: the size of projected states, which only an LSTM has: must be 0.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        With D directions, input ``(T, N, input_size)``, ``(T, input_size)`` without a batch, or a
        :class:`~facula.nn.utils.rnn.PackedSequence`; ``h_0`` ``(D * num_layers, N, hidden_size)``,
        zeros by default; results: outputs ``(T, N, D * hidden_size)`` and the last state.

    Example:
        >>> m = facula.nn.RNN(10, 20, 2)
        >>> output, h_n = m(facula.ones(5, 3, 10))
        >>> output.shape, h_n.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        proj_size: int | None = None,
    ) -> None:
        _refuse_projection("RNN", proj_size)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")
        mode, options = f"RNN_{nonlinearity.upper()}", (bias, batch_first, dropout, bidirectional)
        super().__init__(
            mode, input_size, hidden_size, num_layers, *options, device=device, dtype=dtype
        )
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._run(input, hx)


class LSTM(RNNBase):
    """Long short-term memory.

    At each step, with the gates ``i, f, o = sigmoid(...)`` and ``g = tanh(...)`` of
    ``W_ih x + b_ih + W_hh h + b_hh``: ``c = f * c + i * g`` and ``h = o * tanh(c)``.

    Args:
        input_size: the number of features of the input.
        hidden_size: the number of features of the state.
        num_layers: the number of layers, each of which runs over the outputs of the one before.
        bias: whether the layer has biases.
        batch_first: whether the batch is the first dimension of input and output.
        dropout: the probability with which elements between two layers become zero in training.
        bidirectional: whether each layer also runs from the end to the beginning.
        proj_size: the size that ``h`` is projected to at each step; 0 for no projection.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        With D directions and P, proj_size or else hidden_size: input ``(T, N, input_size)``,
        ``(T, input_size)`` without a batch, or a :class:`~facula.nn.utils.rnn.PackedSequence`;
        ``h_0`` ``(D * num_layers, N, P)`` and ``c_0`` ``(D * num_layers, N, hidden_size)``, zeros
        by default; results: outputs ``(T, N, D * P)`` and the last ``(h_n, c_n)``.

    Example:
        >>> m = facula.nn.LSTM(10, 20, 2)
        >>> output, (h_n, c_n) = m(facula.ones(5, 3, 10))
        >>> output.shape, h_n.shape, c_n.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        options = bias, batch_first, dropout, bidirectional, proj_size, device, dtype
        super().__init__("LSTM", input_size, hidden_size, num_layers, *options)

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of ``c_0`` for this input."""
        return (*self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        super().check_forward_args(input, hidden[0], batch_sizes)
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes), "c_0")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        h, c = hx
        return super().permute_hidden(h, permutation), super().permute_hidden(c, permutation)

    def _initial(self, hx: Any, input: Tensor, batch_sizes: Tensor | None) -> Any:
        if hx is not None:
            return hx
        h = super()._initial(None, input, batch_sizes)
        return h, self._zeros(self.get_expected_cell_size(input, batch_sizes), input)

    def _unsqueeze(self, hx: Any, n_dims: int) -> Any:
        h, c = hx
        _check_state_dims("LSTM", ("h_0", "c_0"), (h, c), n_dims)
        return (h.unsqueeze(1), c.unsqueeze(1)) if n_dims == 2 else (h, c)

    def _squeeze(self, hx: Any) -> Any:
        return hx[0].squeeze(1), hx[1].squeeze(1)

    def forward(
        self, input: Any, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        if hx is not None and not (isinstance(hx, (tuple, list)) and len(hx) == 2):
            # PyTorch takes the first two elements of anything: those of a tensor of states have too
            # few dimensions, and one of length 1 has no second. Our error is of the same type.
            is_long = isinstance(hx, Tensor) and hx.dim() > 0 and hx.size(0) > 1
            raise (RuntimeError if is_long else IndexError)(
                f"LSTM: expected hx to be a pair of tensors (h_0, c_0), got {type(hx).__name__}"
                + (f" of length {len(hx)}." if isinstance(hx, (tuple, list)) else ".")
            )
        return self._run(input, hx)


class GRU(RNNBase):
    """Gated recurrent units.

    At each step, with the gates ``r, z = sigmoid(W_ih x + b_ih + W_hh h + b_hh)`` and
    ``n = tanh(W_in x + b_in + r * (W_hn h + b_hn))``: ``h = (1 - z) * n + z * h``.

    Args:
        input_size: the number of features of the input.
        hidden_size: the number of features of the state.
        num_layers: the number of layers, each of which runs over the outputs of the one before.
        bias: whether the layer has biases.
        batch_first: whether the batch is the first dimension of input and output.
        dropout: the probability with which elements between two layers become zero in training.
        bidirectional: whether each layer also runs from the end to the beginning.
        proj_size: the size of projected states, which only an LSTM has: must be 0.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        With D directions, input ``(T, N, input_size)``, ``(T, input_size)`` without a batch, or a
        :class:`~facula.nn.utils.rnn.PackedSequence`; ``h_0`` ``(D * num_layers, N, hidden_size)``,
        zeros by default; results: outputs ``(T, N, D * hidden_size)`` and the last state.

    Example:
        >>> m = facula.nn.GRU(10, 20, 2)
        >>> output, h_n = m(facula.ones(5, 3, 10))
        >>> output.shape, h_n.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        proj_size: int | None = None,
    ) -> None:
        _refuse_projection("GRU", proj_size)
        options = bias, batch_first, dropout, bidirectional
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, *options, device=device, dtype=dtype
        )

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._run(input, hx)


class RNNCellBase(Module):
    """What :class:`RNNCell`, :class:`LSTMCell` and :class:`GRUCell` share.

    Args:
        input_size: the number of features of the input.
        hidden_size: the number of features of the state.
        bias: whether the layer has biases.
        num_chunks: the number of gates.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Example:
        >>> m = facula.nn.RNNCellBase(3, 5, bias=False, num_chunks=4)
        >>> m.weight_ih.shape, m.weight_hh.shape
        (torch.Size([20, 3]), torch.Size([20, 5]))
    """

    __constants__: tuple[str, ...] = ("input_size", "hidden_size", "bias")
    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        kind, rows = {"device": device, "dtype": dtype}, num_chunks * hidden_size
        self.weight_ih = Parameter(facula.empty((rows, input_size), **kind))
        self.weight_hh = Parameter(facula.empty((rows, hidden_size), **kind))
        for name in ("bias_ih", "bias_hh"):
            value = Parameter(facula.empty(rows, **kind)) if bias else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters from ``[-bound, bound)``, where ``bound`` is 1/√hidden_size."""
        # Cells, unlike layers, may have a state of no features.
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _check_dims(self, **tensors: Tensor) -> None:
        for name, x in tensors.items():
            if x.dim() not in (1, 2):
                raise ValueError(
                    f"{type(self).__name__}: expected {name} of 2 dimensions, or of 1 without a "
                    f"batch, got {tuple(x.shape)}."
                )

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _run(self, op: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        """One step with one state."""
        self._check_dims(input=input)
        if hx is None:
            hx = input.new_zeros((*input.shape[:-1], self.hidden_size))
        self._check_dims(hx=hx)
        if input.dim() == 2:
            return op(input, hx, *self._weights())  # type: ignore[no-any-return]
        h = hx.unsqueeze(0) if hx.dim() == 1 else hx
        return op(input.unsqueeze(0), h, *self._weights()).squeeze(0)  # type: ignore[no-any-return]


class RNNCell(RNNCellBase):
    """One step of a recurrent network: ``tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    Args:
        input_size: the number of features of the input.
        hidden_size: the number of features of the state.
        bias: whether the layer has biases.
        nonlinearity: the function that makes the new state: ``"tanh"`` or ``"relu"``.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        input ``(N, input_size)`` or ``(input_size,)``; hx, zeros by default, and result
        ``(N, hidden_size)`` or ``(hidden_size,)``.

    Example:
        >>> m = facula.nn.RNNCell(10, 20)
        >>> m(facula.ones(3, 10)).shape
        torch.Size([3, 20])
    """

    __constants__ = ("input_size", "hidden_size", "bias", "nonlinearity")

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        # Here and not in __init__, as in PyTorch: the attribute may be set later.
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(
                f"RNNCell: nonlinearity must be 'tanh' or 'relu', got {self.nonlinearity!r}."
            )
        op = _core.rnn_tanh_cell if self.nonlinearity == "tanh" else _core.rnn_relu_cell
        return self._run(op, input, hx)


class LSTMCell(RNNCellBase):
    """One step of long short-term memory; see :class:`LSTM` for the formulas.

    Args:
        input_size: the number of features of the input.
        hidden_size: the number of features of the state.
        bias: whether the layer has biases.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        input ``(N, input_size)`` or ``(input_size,)``; h and c, zeros by default, and both results
        ``(N, hidden_size)`` or ``(hidden_size,)``.

    Example:
        >>> m = facula.nn.LSTMCell(10, 20)
        >>> h, c = m(facula.ones(3, 10))
        >>> h.shape, c.shape
        (torch.Size([3, 20]), torch.Size([3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        self._check_dims(input=input)
        if hx is None:
            zeros = input.new_zeros((*input.shape[:-1], self.hidden_size))
            hx = (zeros, zeros)
        elif not (isinstance(hx, (tuple, list)) and len(hx) == 2):
            raise TypeError(
                f"LSTMCell: expected hx to be a pair of tensors (h, c), got {type(hx).__name__}."
            )
        h, c = hx
        self._check_dims(h=h, c=c)
        if input.dim() == 2:
            return _core.lstm_cell(input, (h, c), *self._weights())
        states = [x.unsqueeze(0) if x.dim() == 1 else x for x in (h, c)]
        h, c = _core.lstm_cell(input.unsqueeze(0), states, *self._weights())
        return h.squeeze(0), c.squeeze(0)


class GRUCell(RNNCellBase):
    """One step of gated recurrent units; see :class:`GRU` for the formulas.

    Args:
        input_size: the number of features of the input.
        hidden_size: the number of features of the state.
        bias: whether the layer has biases.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        input ``(N, input_size)`` or ``(input_size,)``; hx, zeros by default, and result
        ``(N, hidden_size)`` or ``(hidden_size,)``.

    Example:
        >>> m = facula.nn.GRUCell(10, 20)
        >>> m(facula.ones(3, 10)).shape
        torch.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._run(_core.gru_cell, input, hx)
