// Recurrent layers: RNN, LSTM and GRU over sequences, and their single steps.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "autograd/node.h"
#include "ops/nn/rnn_layer.h"
#include "ops/ops.h"
#include "ops/result_binding.h"
#include "products/plan.h"

namespace facula {

namespace {

struct RnnOptions {
  bool has_biases;
  int64_t num_layers;
  double dropout;  // between layers, while training
  bool is_training;
  bool is_bidirectional;
  bool is_batch_first;
  bool is_bfloat16 = false;  // before it was widened
};

void check_kind(const char* op, const Tensor& input, const TensorList& others) {
  check_not_implemented(is_differentiable(input.dtype()), op,
                        ": expected a floating-point or complex input, got ", input,
                        ". Convert it with input.float().");
  for (const Tensor& x : others) {
    if (!x.defined()) continue;
    check_same_device(op, {input, x});
    check(x.dtype() == input.dtype(), op, ": expected states and parameters of the input's dtype, ",
          input.dtype(), ", got ", x, ".");
  }
}

void check_sizes(const char* op, const char* what, const Tensor& x, const Dims& sizes) {
  check(x.sizes() == sizes, op, ": expected ", what, " of shape ", sizes, ", got ", x, ".");
}

// The parameters of one layer and direction for an input of this size.
void check_params(const char* op, RnnMode mode, const RnnWeights& w, int64_t input_size,
                  int64_t hidden, int64_t state) {
  int64_t rows = cpu::n_gates(mode) * hidden;
  check(w.ih.dim() == 2 && w.ih.size(0) == rows, op, ": expected w_ih of shape (", rows,
        ", input size), got ", w.ih, ". Do the states have the layer's hidden size?");
  check(w.ih.size(1) == input_size, op, ": expected an input of ", w.ih.size(1),
        " features (its last dimension), got ", input_size, ".");
  check_sizes(op, "w_hh", w.hh, {rows, state});
  if (w.bias_ih.defined()) check_sizes(op, "b_ih", w.bias_ih, {rows});
  if (w.bias_hh.defined()) check_sizes(op, "b_hh", w.bias_hh, {rows});
  if (w.hr.defined()) check_sizes(op, "w_hr", w.hr, {state, hidden});
}

// Where the rows of each step begin, by the number of sequences that take it.
std::vector<int64_t> rows_of_packed(const char* op, const Tensor& data, const Tensor& batch_sizes) {
  check(data.dim() == 2, op, ": expected packed data of 2 dimensions (rows, features), got ", data,
        ".");
  check(batch_sizes.dim() == 1 && batch_sizes.dtype() == DType::Int64 && batch_sizes.is_cpu(), op,
        ": expected batch_sizes to be an int64 tensor of one dimension on the CPU, got ",
        batch_sizes, " on ", batch_sizes.device(), ".");
  Tensor sizes = contiguous(batch_sizes);
  std::vector<int64_t> first_row = {0};
  int64_t before = data.size(0);
  for (int64_t t = 0; t < sizes.numel(); ++t) {
    int64_t n = sizes.data_as<int64_t>()[t];
    check(n >= 1 && n <= before, op, ": expected positive batch_sizes that do not grow and add up ",
          "to the ", data.size(0), " rows of the data, got ", n, " at step ", t, ".");
    before = n;
    first_row.push_back(first_row.back() + n);
  }
  check(first_row.back() == data.size(0), op, ": batch_sizes add up to ", first_row.back(),
        " rows, but the data has ", data.size(0), ".");
  return first_row;
}

std::vector<int64_t> rows_of_padded(const char* op, const Tensor& x) {
  check(x.dim() == 3, op, ": expected an input of 3 dimensions, got ", x, ".");
  std::vector<int64_t> first_row;
  for (int64_t t = 0; t <= x.size(0); ++t) first_row.push_back(t * x.size(1));
  return first_row;
}

void check_states(const char* op, const TensorList& states, int64_t n, int64_t batch) {
  for (const Tensor& x : states) {
    check(x.dim() == 3 && x.size(0) == n && x.size(1) == batch && x.size(2) > 0, op,
          ": expected initial states of shape (", n, ", ", batch,
          ", size), for each layer and direction and for each sequence, got ", x, ".");
  }
}

// PyTorch's dropout, whose random numbers these are.
Tensor drop(const Tensor& x, double p) {
  Tensor noise = empty_like(x);
  {
    NoGradGuard guard;
    if (p == 1) {
      zero_(noise);
    } else {
      bernoulli_(noise, 1 - p, *default_generator(noise.device()));
      div_(noise, wrapped_number(1 - p));
    }
  }
  return x * noise;
}

// Half precision is computed in float.
TensorList to_dtypes(const TensorList& xs, DType dtype) {
  TensorList ys;
  for (const Tensor& x : xs) ys.push_back(x.defined() ? to_dtype(x, dtype) : x);
  return ys;
}
bool is_reduced(DType dtype) { return is_floating(dtype) && item_size(dtype) == 2; }

// `states` are h, and c of an LSTM, (layers * directions, batch, size); `params` those of each
// layer and direction: w_ih, w_hh, with biases b_ih and b_hh, with a projection w_hr. The input is
// (steps, batch, size); with batch_sizes, the rows of all steps below each other. The results are
// the outputs of the last layer and the last states.
TensorList rnn(const char* op, RnnMode mode, const Tensor& input, const Tensor& batch_sizes,
               const TensorList& states, const TensorList& params, const RnnOptions& options) {
  RnnLayer layer = {mode, options.is_bidirectional ? 2 : 1, options.has_biases, false, {}};
  check(states.size() == layer.n_states(), op, ": expected ", layer.n_states(),
        " initial states, got ", states.size(), ".");
  check(options.num_layers > 0, op,
        ": expected at least one layer, got num_layers=", options.num_layers, ".");
  check(options.dropout >= 0 && options.dropout <= 1, op,
        ": expected a dropout probability in [0, 1], got ", options.dropout, ".");
  check_kind(op, input, states);
  check_kind(op, input, params);
  if (is_reduced(input.dtype()) && !has_stacks(input)) {
    DType wide = DType::Float32;
    RnnOptions widened = options;
    widened.is_bfloat16 = input.dtype() == DType::BFloat16;
    TensorList results = rnn(op, mode, to_dtype(input, wide), batch_sizes, to_dtypes(states, wide),
                             to_dtypes(params, wide), widened);
    return to_dtypes(results, input.dtype());
  }

  bool is_packed = batch_sizes.defined(), is_turned = options.is_batch_first && !is_packed;
  check(is_packed || input.dim() == 3, op, ": expected an input of 3 dimensions, got ", input, ".");
  Tensor x = is_turned ? transpose(input, 0, 1) : input;
  layer.first_row = is_packed ? rows_of_packed(op, x, batch_sizes) : rows_of_padded(op, x);
  check(layer.n_steps() > 0, op, ": expected a sequence of at least one step, got ", input, ".");
  int64_t n_states = options.num_layers * layer.n_directions;
  check_states(op, states, n_states, layer.batch(0));
  int64_t state = states[0].size(2), hidden = states.back().size(2);
  layer.has_projection = state != hidden;
  products::GemmShape shape = {products::Trans::No, products::Trans::Yes, layer.n_rows(),
                               hidden * cpu::n_gates(mode), x.size(-1)};
  layer.is_bfloat16 =
      options.is_bfloat16 && x.is_cpu() &&
      products::plan_gemm(shape, DType::BFloat16, cpu::isa()) == products::GemmWay::Pairs;
  check(params.size() == static_cast<size_t>(n_states) * layer.n_params(), op, ": expected ",
        layer.n_params(), " parameters for each of ", n_states, " layers and directions, got ",
        params.size(), " in all.");

  bool has_dropout = options.is_training && options.dropout > 0;
  bool is_stack = has_stacks(x) && options.num_layers > 1 && !has_dropout;
  std::vector<TensorList> last(states.size());
  size_t n_params = static_cast<size_t>(layer.n_directions) * layer.n_params();
  for (int64_t i = 0; i < options.num_layers; ++i) {
    if (i > 0 && has_dropout) x = drop(x, options.dropout);
    TensorList inputs = {x};
    for (const Tensor& s : states)
      inputs.push_back(
          options.num_layers == 1 ? s : narrow(s, 0, i * layer.n_directions, layer.n_directions));
    auto first = params.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(i) * n_params);
    inputs.insert(inputs.end(), first, first + static_cast<std::ptrdiff_t>(n_params));
    for (int64_t d = 0; d < layer.n_directions; ++d)
      check_params(op, mode, weights_of(layer, inputs, d),
                   is_stack && i > 0 ? layer.n_directions * state : x.size(-1), hidden, state);
    if (is_stack) continue;
    TensorList outputs = run_layer(layer, inputs);
    x = outputs[0];
    for (size_t s = 0; s < last.size(); ++s) last[s].push_back(outputs[1 + s]);
  }
  if (is_stack) {
    TensorList inputs = {x};
    inputs.insert(inputs.end(), states.begin(), states.end());
    inputs.insert(inputs.end(), params.begin(), params.end());
    TensorList outputs = run_stack(layer, options.num_layers, inputs);
    x = outputs[0];
    for (size_t s = 0; s < last.size(); ++s) last[s].push_back(outputs[1 + s]);
  }
  // As in PyTorch, the output of an LSTM is kept for backward, that of others may be overwritten.
  if (mode != RnnMode::Lstm && x.requires_grad()) x = clone(x);
  TensorList results = {is_turned ? transpose(x, 0, 1) : x};
  for (const TensorList& each : last) results.push_back(each.size() == 1 ? each[0] : cat(each));
  return results;
}

// One step of one layer: (batch, size) and states of (batch, hidden). Biases may be undefined. The
// results are the new states.
TensorList rnn_cell(const char* op, RnnMode mode, const Tensor& input, const TensorList& states,
                    const TensorList& params) {
  RnnLayer layer = {mode, 1, params[2].defined() || params[3].defined(), false, {}};
  check(states.size() == layer.n_states(), op, ": expected ", layer.n_states(), " states, got ",
        states.size(), ".");
  check_kind(op, input, states);
  check_kind(op, input, params);
  if (is_reduced(input.dtype()) && !has_stacks(input)) {
    DType wide = DType::Float32;
    TensorList results =
        rnn_cell(op, mode, to_dtype(input, wide), to_dtypes(states, wide), to_dtypes(params, wide));
    return to_dtypes(results, input.dtype());
  }
  check(input.dim() == 2, op, ": expected an input of 2 dimensions (batch, features), got ", input,
        ".");
  check(params[1].dim() == 2, op, ": expected w_hh of 2 dimensions, got ", params[1], ".");
  int64_t hidden = params[1].size(1);
  TensorList inputs = {input};
  for (const Tensor& x : states) {
    check_sizes(op, "states", x, {input.size(0), hidden});
    inputs.push_back(unsqueeze(x, 0));
  }
  for (size_t i = 0; i < (layer.has_biases ? 4 : 2); ++i) {
    bool is_missing = !params[i].defined();
    inputs.push_back(is_missing ? zeros({params[0].size(0)}, input.dtype(), input.device())
                                : params[i]);
  }
  check_params(op, mode, weights_of(layer, inputs, 0), input.size(1), hidden, hidden);
  layer.first_row = {0, input.size(0)};
  TensorList outputs = run_layer(layer, inputs);
  if (mode == RnnMode::Lstm) return {outputs[0], select(outputs[2], 0, 0)};
  return {outputs[0]};
}

// What the docstring of a network says; `params` is what follows the weights and biases.
struct RnnDoc {
  const char* sentence;
  const char* module;
  const char* state;
  const char* params;
};

std::string with_arguments(const RnnDoc& doc, const char* inputs, const char* last) {
  return std::string("\n\nThe function behind :class:`facula.nn.") + doc.module +
         "`, with the parameters in a flat list.\n\nArgs:\n" + inputs + "    hx: " + doc.state +
         ".\n    params: the weights of each layer and direction, ``w_ih, w_hh``, with biases "
         "``b_ih, b_hh``" +
         doc.params + R"(.
    has_biases: whether ``params`` has biases.
    num_layers: the number of layers.
    dropout: the probability with which elements between layers become zero.
    train: whether dropout is done.
    bidirectional: whether each layer also runs backwards.
)" + last;
}

std::string padded_doc(const RnnDoc& doc, const char* shape_and_example) {
  const char* inputs = "    input: the sequences, floating point.\n";
  const char* last =
      "    batch_first: whether the batch is the first dimension of input and output.\n\n";
  return std::string(doc.sentence) + " over sequences." + with_arguments(doc, inputs, last) +
         shape_and_example;
}

std::string packed_doc(const RnnDoc& doc) {
  const char* inputs = R"(    data: the rows of all steps below each other, floating point.
    batch_sizes: the number of rows of each step.
)";
  return std::string(doc.sentence) + " over packed sequences." + with_arguments(doc, inputs, "");
}

const TensorList& states_of(const TensorList& hx) { return hx; }
TensorList states_of(const Tensor& hx) { return {hx}; }

// The networks whose state is h alone, and the LSTM, whose states are a list.
template <class State, class Result>
void def_network(nb::module_& m, const char* name, RnnMode mode, const RnnDoc& doc,
                 const std::string& shape_and_example) {
  auto results = [](const TensorList& y) {
    if constexpr (std::is_same_v<State, Tensor>)
      return Result{y[0], y[1]};
    else
      return Result{y[0], y[1], y[2]};
  };
  m.def(
      name,
      [name, mode, results](const Tensor& x, const State& hx, const TensorList& params,
                            bool has_biases, int64_t num_layers, double dropout, bool train,
                            bool bidirectional, bool batch_first) {
        return results(rnn(name, mode, x, {}, states_of(hx), params,
                           {has_biases, num_layers, dropout, train, bidirectional, batch_first}));
      },
      "input"_a, "hx"_a, "params"_a, "has_biases"_a, "num_layers"_a, "dropout"_a, "train"_a,
      "bidirectional"_a, "batch_first"_a, padded_doc(doc, shape_and_example.c_str()).c_str());
  m.def(
      name,
      [name, mode, results](const Tensor& data, const Tensor& batch_sizes, const State& hx,
                            const TensorList& params, bool has_biases, int64_t num_layers,
                            double dropout, bool train, bool bidirectional) {
        return results(rnn(name, mode, data, batch_sizes, states_of(hx), params,
                           {has_biases, num_layers, dropout, train, bidirectional, false}));
      },
      "data"_a, "batch_sizes"_a, "hx"_a, "params"_a, "has_biases"_a, "num_layers"_a, "dropout"_a,
      "train"_a, "bidirectional"_a, packed_doc(doc).c_str());
}

// rnn_tanh, rnn_relu and gru.
void def_rnn(nb::module_& m, const char* name, RnnMode mode, const RnnDoc& doc,
             const char* example) {
  def_network<Tensor, std::pair<Tensor, Tensor>>(m, name, mode, doc, R"(Shape:
    input ``(T, N, I)``, h ``(layers * directions, N, H)``; results: outputs
    ``(T, N, directions * H)`` and the last h.

)" + std::string(example));
}

void def_cell(nb::module_& m, const char* name, RnnMode mode, const char* doc) {
  m.def(
      name,
      [name, mode](const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                   const OptionalTensor& b_ih, const OptionalTensor& b_hh) {
        return rnn_cell(name, mode, x, {hx}, {w_ih, w_hh, b_ih, b_hh})[0];
      },
      "input"_a, "hx"_a, "w_ih"_a, "w_hh"_a, "b_ih"_or_none, "b_hh"_or_none, doc);
}

void def_lstm(nb::module_& m) {
  RnnDoc doc{"Long short-term memory", "LSTM", "the first h and c", R"(,
        and with a projection ``w_hr``; the rows of a weight are the gates i, f, g, o)"};
  def_network<TensorList, std::tuple<Tensor, Tensor, Tensor>>(m, "lstm", RnnMode::Lstm, doc,
                                                              R"(Shape:
    input ``(T, N, I)``, h ``(layers * directions, N, P)``, c ``(layers * directions, N, H)``;
    results: outputs ``(T, N, directions * P)`` and the last h and c. P is H without a projection.

Example:
    >>> w = [facula.ones(4, 1), facula.ones(4, 1)]
    >>> h = facula.zeros(1, 1, 1)
    >>> y, h, c = facula.lstm(facula.ones(2, 1, 1), (h, h), w, False, 1, 0.0, False, False, False)
    >>> y.squeeze()
    tensor([0.3696, 0.6505])
)");
}

void def_lstm_cell(nb::module_& m) {
  m.def(
      "lstm_cell",
      [](const Tensor& x, const TensorList& hx, const Tensor& w_ih, const Tensor& w_hh,
         const OptionalTensor& b_ih, const OptionalTensor& b_hh) -> std::pair<Tensor, Tensor> {
        TensorList y = rnn_cell("lstm_cell", RnnMode::Lstm, x, hx, {w_ih, w_hh, b_ih, b_hh});
        return {y[0], y[1]};
      },
      "input"_a, "hx"_a, "w_ih"_a, "w_hh"_a, "b_ih"_or_none, "b_hh"_or_none,
      R"(One step of long short-term memory: the next h and c.
    input: the inputs of the step, floating point.
    hx: h and c before the step.
    w_ih: the weight of the inputs; its rows are the gates i, f, g, o.
    w_hh: the weight of h; its rows are the gates i, f, g, o.
    b_ih: the bias that goes with the inputs, or None.
    b_hh: the bias that goes with h, or None.

Shape:
    input ``(N, I)``, h and c ``(N, H)``, w_ih ``(4 H, I)``, w_hh ``(4 H, H)``, biases ``(4 H,)``;
    results ``(N, H)``.
    >>> w, h = facula.ones(4, 1), facula.zeros(1, 1)
    >>> facula.lstm_cell(facula.ones(1, 1), (h, h), w, w)
    (tensor([[0.3696]]), tensor([[0.5568]])))"_doc);
}

}  // namespace

FACULA_BINDINGS {
  def_lstm(m);
  def_lstm_cell(m);
  def_rnn(m, "gru", RnnMode::Gru, {"Gated recurrent units", "GRU", "the first h", R"(;
        the rows of a weight are the gates r, z, n)"},
          R"(Example:
    >>> w = [facula.ones(3, 1), facula.ones(3, 1)]
    >>> h = facula.zeros(1, 1, 1)
    >>> y, h = facula.gru(facula.ones(2, 1, 1), h, w, False, 1, 0.0, False, False, False)
    >>> y.squeeze()
    tensor([0.2048, 0.3468])
)");
  def_rnn(m, "rnn_tanh", RnnMode::Tanh, {"A recurrent network with tanh", "RNN", "the first h", ""},
          R"(Example:
    >>> w = [facula.ones(1, 1), facula.ones(1, 1)]
    >>> h = facula.zeros(1, 1, 1)
    >>> y, h = facula.rnn_tanh(facula.ones(2, 1, 1), h, w, False, 1, 0.0, False, False, False)
    >>> y.squeeze()
    tensor([0.7616, 0.9427])
)");
  def_rnn(m, "rnn_relu", RnnMode::Relu, {"A recurrent network with relu", "RNN", "the first h", ""},
          R"(Example:
    >>> w = [facula.ones(1, 1), facula.ones(1, 1)]
    >>> h = facula.zeros(1, 1, 1)
    >>> y, h = facula.rnn_relu(facula.ones(2, 1, 1), h, w, False, 1, 0.0, False, False, False)
    >>> y.squeeze()
    tensor([1., 2.])
)");
  def_cell(m, "gru_cell", RnnMode::Gru, R"(One step of gated recurrent units: the next h.
    input: the inputs of the step ``(N, I)``, floating point.
    hx: h before the step, ``(N, H)``.
    w_ih: the weight of the inputs, ``(3 H, I)``; its rows are the gates r, z, n.
    w_hh: the weight of h, ``(3 H, H)``; its rows are the gates r, z, n.
    b_ih: the bias that goes with the inputs, ``(3 H,)``, or None.
    b_hh: the bias that goes with h, ``(3 H,)``, or None.
    >>> w = facula.ones(3, 1)
    >>> facula.gru_cell(facula.ones(1, 1), facula.zeros(1, 1), w, w)
    tensor([[0.2048]]))"_doc);
  def_cell(m, "rnn_tanh_cell", RnnMode::Tanh, R"(One step of a recurrent network with tanh.
    input: the inputs of the step ``(N, I)``, floating point.
    hx: h before the step, ``(N, H)``.
    w_ih: the weight of the inputs, ``(H, I)``.
    w_hh: the weight of h, ``(H, H)``.
    b_ih: the bias that goes with the inputs, ``(H,)``, or None.
    b_hh: the bias that goes with h, ``(H,)``, or None.
    >>> w = facula.ones(1, 1)
    >>> facula.rnn_tanh_cell(facula.ones(1, 1), facula.zeros(1, 1), w, w)
    tensor([[0.7616]]))"_doc);
  def_cell(m, "rnn_relu_cell", RnnMode::Relu, R"(One step of a recurrent network with relu.
    input: the inputs of the step ``(N, I)``, floating point.
    hx: h before the step, ``(N, H)``.
    w_ih: the weight of the inputs, ``(H, I)``.
    w_hh: the weight of h, ``(H, H)``.
    b_ih: the bias that goes with the inputs, ``(H,)``, or None.
    b_hh: the bias that goes with h, ``(H,)``, or None.
    >>> w = facula.ones(1, 1)
    >>> facula.rnn_relu_cell(facula.ones(1, 1), facula.ones(1, 1), w, w)
    tensor([[2.]]))"_doc);
}

}  // namespace facula
