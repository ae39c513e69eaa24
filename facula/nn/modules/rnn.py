"""Recurrent layers over sequences, and their single steps."""

from __future__ import annotations

import math
from typing import Any

import facula
from facula import _core
from facula._core import Tensor
from facula.nn import init
from facula.nn.modules._rnn_base import RNNBase, check_state_dims
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]


def _refuse_projection(name: str, proj_size: int | None) -> None:
    if proj_size is not None:
        raise ValueError(f"{name}: only an LSTM can have a projection, got proj_size={proj_size}.")


class RNN(RNNBase):
    """Recurrent network: ``h = tanh(W_ih x + b_ih + W_hh h + b_hh)`` at each step.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        num_layers: layers, each over the outputs of the one before.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        bias: whether there are biases.
        batch_first: whether the batch is the first dimension of input and output.
        dropout: the probability with which elements between two layers become zero in training.
        bidirectional: whether each layer also runs from the end to the beginning.
        device: of the parameters.
        dtype: of the parameters.

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

    nonlinearity: str

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
        super().__init__(
            f"RNN_{nonlinearity.upper()}",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._run(input, hx)


class LSTM(RNNBase):
    """Long short-term memory.

    At each step, with the gates ``i, f, o = sigmoid(...)`` and ``g = tanh(...)`` of
    ``W_ih x + b_ih + W_hh h + b_hh``: ``c = f * c + i * g`` and ``h = o * tanh(c)``.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        num_layers: layers, each over the outputs of the one before.
        bias: whether there are biases.
        batch_first: whether the batch is the first dimension of input and output.
        dropout: the probability with which elements between two layers become zero in training.
        bidirectional: whether each layer also runs from the end to the beginning.
        proj_size: the size that ``h`` is projected to at each step; 0 for none.
        device: of the parameters.
        dtype: of the parameters.

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
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )

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
        check_state_dims("LSTM", ("h_0", "c_0"), (h, c), n_dims)
        return (h.unsqueeze(1), c.unsqueeze(1)) if n_dims == 2 else (h, c)

    def _squeeze(self, hx: Any) -> Any:
        return hx[0].squeeze(1), hx[1].squeeze(1)

    def forward(
        self, input: Any, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        if hx is not None and not (isinstance(hx, (tuple, list)) and len(hx) == 2):
            # PyTorch takes the first two of anything, and of a long tensor they are no states.
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
        input_size: features of the input.
        hidden_size: features of the state.
        num_layers: layers, each over the outputs of the one before.
        bias: whether there are biases.
        batch_first: whether the batch is the first dimension of input and output.
        dropout: the probability with which elements between two layers become zero in training.
        bidirectional: whether each layer also runs from the end to the beginning.
        device: of the parameters.
        dtype: of the parameters.

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
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._run(input, hx)


class RNNCellBase(Module):
    """What :class:`RNNCell`, :class:`LSTMCell` and :class:`GRUCell` share.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        bias: whether there are biases.
        num_chunks: the number of gates.
        device: of the parameters.
        dtype: of the parameters.

    Example:
        >>> m = facula.nn.RNNCellBase(3, 5, bias=False, num_chunks=4)
        >>> m.weight_ih.shape, m.weight_hh.shape
        (torch.Size([20, 3]), torch.Size([20, 5]))
    """

    __constants__: tuple[str, ...] = ("input_size", "hidden_size", "bias")
    input_size: int
    hidden_size: int
    bias: bool
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
        input_size: features of the input.
        hidden_size: features of the state.
        bias: whether there are biases.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        device: of the parameters.
        dtype: of the parameters.

    Shape:
        input ``(N, input_size)`` or ``(input_size,)``; hx, zeros by default, and result
        ``(N, hidden_size)`` or ``(hidden_size,)``.

    Example:
        >>> m = facula.nn.RNNCell(10, 20)
        >>> m(facula.ones(3, 10)).shape
        torch.Size([3, 20])
    """

    __constants__ = ("input_size", "hidden_size", "bias", "nonlinearity")
    nonlinearity: str

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
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(
                f"RNNCell: nonlinearity must be 'tanh' or 'relu', got {self.nonlinearity!r}."
            )
        op = _core.rnn_tanh_cell if self.nonlinearity == "tanh" else _core.rnn_relu_cell
        return self._run(op, input, hx)


class LSTMCell(RNNCellBase):
    """One step of long short-term memory; see :class:`LSTM` for the formulas.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        bias: whether there are biases.
        device: of the parameters.
        dtype: of the parameters.

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
        input_size: features of the input.
        hidden_size: features of the state.
        bias: whether there are biases.
        device: of the parameters.
        dtype: of the parameters.

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
