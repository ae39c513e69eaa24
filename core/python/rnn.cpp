#include "ops/nn/rnn.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "bind/bind.h"

namespace facula {

namespace {

using OptionalTensor = std::optional<Tensor>;

Tensor or_undefined(const OptionalTensor& x) { return x.value_or(Tensor()); }

constexpr const char* kPackedDoc =
    "The same over packed sequences: ``data`` has the rows of all steps below each other, "
    "``batch_sizes`` their numbers.";

// rnn_tanh, rnn_relu and gru: h is their only state.
void def_rnn(nb::module_& m, const char* name, RnnMode mode, const char* doc) {
  using Result = std::pair<Tensor, Tensor>;
  m.def(
      name,
      [name, mode](const Tensor& x, const Tensor& hx, const TensorList& params, bool has_biases,
                   int64_t num_layers, double dropout, bool train, bool bidirectional,
                   bool batch_first) -> Result {
        TensorList y = rnn(name, mode, x, {}, {hx}, params,
                           {has_biases, num_layers, dropout, train, bidirectional, batch_first});
        return {y[0], y[1]};
      },
      "input"_a, "hx"_a, "params"_a, "has_biases"_a, "num_layers"_a, "dropout"_a, "train"_a,
      "bidirectional"_a, "batch_first"_a, doc);
  m.def(
      name,
      [name, mode](const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                   const TensorList& params, bool has_biases, int64_t num_layers, double dropout,
                   bool train, bool bidirectional) -> Result {
        TensorList y = rnn(name, mode, data, batch_sizes, {hx}, params,
                           {has_biases, num_layers, dropout, train, bidirectional, false});
        return {y[0], y[1]};
      },
      "data"_a, "batch_sizes"_a, "hx"_a, "params"_a, "has_biases"_a, "num_layers"_a, "dropout"_a,
      "train"_a, "bidirectional"_a, kPackedDoc);
}

void def_cell(nb::module_& m, const char* name, RnnMode mode, const char* doc) {
  m.def(
      name,
      [name, mode](const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                   const OptionalTensor& b_ih, const OptionalTensor& b_hh) {
        return rnn_cell(name, mode, x, {hx},
                        {w_ih, w_hh, or_undefined(b_ih), or_undefined(b_hh)})[0];
      },
      "input"_a, "hx"_a, "w_ih"_a, "w_hh"_a, "b_ih"_a.none() = nb::none(),
      "b_hh"_a.none() = nb::none(), doc);
}

void def_lstm(nb::module_& m) {
  using Result = std::tuple<Tensor, Tensor, Tensor>;
  m.def(
      "lstm",
      [](const Tensor& data, const Tensor& batch_sizes, const TensorList& hx,
         const TensorList& params, bool has_biases, int64_t num_layers, double dropout, bool train,
         bool bidirectional) -> Result {
        TensorList y = rnn("lstm", RnnMode::Lstm, data, batch_sizes, hx, params,
                           {has_biases, num_layers, dropout, train, bidirectional, false});
        return {y[0], y[1], y[2]};
      },
      "data"_a, "batch_sizes"_a, "hx"_a, "params"_a, "has_biases"_a, "num_layers"_a, "dropout"_a,
      "train"_a, "bidirectional"_a, kPackedDoc);
  m.def(
      "lstm",
      [](const Tensor& x, const TensorList& hx, const TensorList& params, bool has_biases,
         int64_t num_layers, double dropout, bool train, bool bidirectional,
         bool batch_first) -> Result {
        TensorList y = rnn("lstm", RnnMode::Lstm, x, {}, hx, params,
                           {has_biases, num_layers, dropout, train, bidirectional, batch_first});
        return {y[0], y[1], y[2]};
      },
      "input"_a, "hx"_a, "params"_a, "has_biases"_a, "num_layers"_a, "dropout"_a, "train"_a,
      "bidirectional"_a, "batch_first"_a, R"(Long short-term memory over sequences.

The function behind :class:`facula.nn.LSTM`, with the parameters in a flat list.

Args:
    input: the sequences, floating point.
    hx: the first h and c.
    params: for each layer and direction ``w_ih, w_hh``, with biases ``b_ih, b_hh``, and with a
        projection ``w_hr``. The rows of a weight are the gates i, f, g, o.
    has_biases: whether ``params`` has biases.
    num_layers: the number of layers.
    dropout: the probability with which elements between layers become zero.
    train: whether dropout is done.
    bidirectional: whether each layer also runs backwards.
    batch_first: whether the batch is the first dimension of input and output.

Shape:
    input ``(T, N, I)``, h ``(layers * directions, N, P)``, c ``(layers * directions, N, H)``;
    results: outputs ``(T, N, directions * P)`` and the last h and c. P is H without a projection.

Example:
    >>> w = [facula.ones(4, 1), facula.ones(4, 1)]
    >>> h = facula.zeros(1, 1, 1)
    >>> y, h, c = facula.lstm(facula.ones(2, 1, 1), (h, h), w, False, 1, 0.0, False, False, False)
    >>> y.squeeze()
    tensor([0.3696, 0.6505])
)");
  m.def(
      "lstm_cell",
      [](const Tensor& x, const TensorList& hx, const Tensor& w_ih, const Tensor& w_hh,
         const OptionalTensor& b_ih, const OptionalTensor& b_hh) -> std::pair<Tensor, Tensor> {
        TensorList y = rnn_cell("lstm_cell", RnnMode::Lstm, x, hx,
                                {w_ih, w_hh, or_undefined(b_ih), or_undefined(b_hh)});
        return {y[0], y[1]};
      },
      "input"_a, "hx"_a, "w_ih"_a, "w_hh"_a, "b_ih"_a.none() = nb::none(),
      "b_hh"_a.none() = nb::none(), R"(One step of long short-term memory: the next h and c.

Args:
    input: the inputs of the step, floating point.
    hx: h and c before it.
    w_ih, w_hh: weights; their rows are the gates i, f, g, o.
    b_ih, b_hh: biases.

Shape:
    input ``(N, I)``, h and c ``(N, H)``, w_ih ``(4 H, I)``, w_hh ``(4 H, H)``, biases ``(4 H,)``;
    results ``(N, H)``.

Example:
    >>> w, h = facula.ones(4, 1), facula.zeros(1, 1)
    >>> facula.lstm_cell(facula.ones(1, 1), (h, h), w, w)
    (tensor([[0.3696]]), tensor([[0.5568]]))
)");
}

}  // namespace

FACULA_BINDINGS {
  def_lstm(m);
  def_rnn(m, "gru", RnnMode::Gru, R"(Gated recurrent units over sequences.

The function behind :class:`facula.nn.GRU`; arguments as for :func:`facula.lstm`, with one state,
and the gates r, z, n.

Example:
    >>> w = [facula.ones(3, 1), facula.ones(3, 1)]
    >>> h = facula.zeros(1, 1, 1)
    >>> y, h = facula.gru(facula.ones(2, 1, 1), h, w, False, 1, 0.0, False, False, False)
    >>> y.squeeze()
    tensor([0.2048, 0.3468])
)");
  def_rnn(m, "rnn_tanh", RnnMode::Tanh, R"(A recurrent network with tanh over sequences.

The function behind :class:`facula.nn.RNN`; arguments as for :func:`facula.lstm`, with one state.

Example:
    >>> w = [facula.ones(1, 1), facula.ones(1, 1)]
    >>> h = facula.zeros(1, 1, 1)
    >>> y, h = facula.rnn_tanh(facula.ones(2, 1, 1), h, w, False, 1, 0.0, False, False, False)
    >>> y.squeeze()
    tensor([0.7616, 0.9427])
)");
  def_rnn(m, "rnn_relu", RnnMode::Relu, R"(A recurrent network with relu over sequences.

The function behind :class:`facula.nn.RNN`; arguments as for :func:`facula.lstm`, with one state.

Example:
    >>> w = [facula.ones(1, 1), facula.ones(1, 1)]
    >>> h = facula.zeros(1, 1, 1)
    >>> y, h = facula.rnn_relu(facula.ones(2, 1, 1), h, w, False, 1, 0.0, False, False, False)
    >>> y.squeeze()
    tensor([1., 2.])
)");
  def_cell(m, "gru_cell", RnnMode::Gru, R"(One step of gated recurrent units: the next h.

Args:
    input: the inputs of the step ``(N, I)``, floating point.
    hx: h before it, ``(N, H)``.
    w_ih, w_hh: weights ``(3 H, I)`` and ``(3 H, H)``; their rows are the gates r, z, n.
    b_ih, b_hh: biases ``(3 H,)``.

Example:
    >>> w = facula.ones(3, 1)
    >>> facula.gru_cell(facula.ones(1, 1), facula.zeros(1, 1), w, w)
    tensor([[0.2048]])
)");
  def_cell(m, "rnn_tanh_cell", RnnMode::Tanh, R"(One step of a recurrent network with tanh.

Args:
    input: the inputs of the step ``(N, I)``, floating point.
    hx: h before it, ``(N, H)``.
    w_ih, w_hh: weights ``(H, I)`` and ``(H, H)``.
    b_ih, b_hh: biases ``(H,)``.

Example:
    >>> w = facula.ones(1, 1)
    >>> facula.rnn_tanh_cell(facula.ones(1, 1), facula.zeros(1, 1), w, w)
    tensor([[0.7616]])
)");
  def_cell(m, "rnn_relu_cell", RnnMode::Relu, R"(One step of a recurrent network with relu.

Args:
    input: the inputs of the step ``(N, I)``, floating point.
    hx: h before it, ``(N, H)``.
    w_ih, w_hh: weights ``(H, I)`` and ``(H, H)``.
    b_ih, b_hh: biases ``(H,)``.

Example:
    >>> w = facula.ones(1, 1)
    >>> facula.rnn_relu_cell(facula.ones(1, 1), facula.ones(1, 1), w, w)
    tensor([[2.]])
)");
}

}  // namespace facula
