#include "ops/nn/rnn_layer.h"

#include <algorithm>

#include "autograd/node.h"
#include "base/parallel.h"
#include "cuda/nn/rnn.h"
#include "ops/ops.h"

namespace facula {

RnnWeights weights_of(const RnnLayer& layer, const TensorList& inputs, int64_t direction) {
  const Tensor* p = &inputs[layer.first_param(direction)];
  return {p[0], p[1], layer.has_biases ? p[2] : Tensor(), layer.has_biases ? p[3] : Tensor(),
          layer.has_projection ? p[layer.n_params() - 1] : Tensor()};
}

// ---- composed of other operations: for devices without a kernel, and to differentiate twice

namespace {

Tensor affine(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return bias.defined() ? addmm(bias, x, t(weight)) : mm(x, t(weight));
}

// The states after a step, of those before it and the products of the input.
TensorList compose_step(RnnMode mode, const Tensor& of_x, const TensorList& states,
                        const RnnWeights& w) {
  Tensor of_h = affine(states[0], w.hh, w.bias_hh);
  switch (mode) {
    case RnnMode::Tanh:
      return {tanh(of_x + of_h)};
    case RnnMode::Relu:
      return {relu(of_x + of_h)};
    case RnnMode::Lstm: {
      TensorList gates = chunk(of_x + of_h, 4, 1, Pieces::Unsafe);
      Tensor c = sigmoid(gates[1]) * states[1] + sigmoid(gates[0]) * tanh(gates[2]);
      Tensor h = sigmoid(gates[3]) * tanh(c);
      return {w.hr.defined() ? mm(h, t(w.hr)) : h, c};
    }
    case RnnMode::Gru: {
      TensorList x = chunk(of_x, 3, 1, Pieces::Unsafe), h = chunk(of_h, 3, 1, Pieces::Unsafe);
      Tensor r = sigmoid(x[0] + h[0]), z = sigmoid(x[1] + h[1]), n = tanh(x[2] + r * h[2]);
      return {n + z * (states[0] - n)};
    }
  }
  fail(ErrorKind::Runtime, "rnn: unknown mode");
}

// The outputs of one direction, then its last states.
TensorList compose_direction(const RnnLayer& layer, const TensorList& inputs, int64_t direction) {
  RnnWeights w = weights_of(layer, inputs, direction);
  Tensor of_x = affine(reshape(inputs[0], {layer.n_rows(), inputs[0].size(-1)}), w.ih, w.bias_ih);
  TensorList first, now(layer.n_states()), outputs(static_cast<size_t>(layer.n_steps()));
  std::vector<TensorList> ended(layer.n_states());
  for (size_t i = 0; i < now.size(); ++i) first.push_back(select(inputs[1 + i], 0, direction));
  int64_t n_now = 0;
  for (int64_t step = 0; step < layer.n_steps(); ++step) {
    int64_t time = direction == 0 ? step : layer.n_steps() - 1 - step, n = layer.batch(time);
    for (size_t i = 0; i < now.size(); ++i) {
      if (step == 0) {
        now[i] = narrow(first[i], 0, 0, n);
      } else if (n > n_now) {  // backwards, shorter sequences begin later
        now[i] = cat({now[i], narrow(first[i], 0, n_now, n - n_now)});
      } else if (n < n_now) {
        ended[i].push_back(narrow(now[i], 0, n, n_now - n));
        now[i] = narrow(now[i], 0, 0, n);
      }
    }
    n_now = n;
    now = compose_step(layer.mode, narrow(of_x, 0, layer.first_row[time], n), now, w);
    outputs[static_cast<size_t>(time)] = now[0];
  }
  TensorList results = {cat(outputs)};
  for (size_t i = 0; i < now.size(); ++i) {
    ended[i].push_back(now[i]);
    std::reverse(ended[i].begin(), ended[i].end());
    results.push_back(cat(ended[i]));
  }
  return results;
}

Dims output_sizes(const RnnLayer& layer, const TensorList& inputs) {
  Dims sizes = inputs[0].sizes();
  sizes.back() = layer.n_directions * inputs[1].size(2);
  return sizes;
}

TensorList compose_layer(const RnnLayer& layer, const TensorList& inputs) {
  std::vector<TensorList> parts(1 + layer.n_states());
  for (int64_t d = 0; d < layer.n_directions; ++d) {
    TensorList results = compose_direction(layer, inputs, d);
    for (size_t i = 0; i < parts.size(); ++i) parts[i].push_back(results[i]);
  }
  TensorList outputs = {reshape(cat(parts[0], 1), output_sizes(layer, inputs))};
  for (size_t i = 1; i < parts.size(); ++i) outputs.push_back(stack(parts[i]));
  return outputs;
}

TensorList compose_stack(const RnnLayer& layer, int64_t n_layers, const TensorList& inputs) {
  if (n_layers == 1) return compose_layer(layer, inputs);
  size_t n_params = static_cast<size_t>(layer.n_directions) * layer.n_params();
  std::vector<TensorList> last(layer.n_states());
  Tensor x = inputs[0];
  for (int64_t i = 0; i < n_layers; ++i) {
    TensorList own = {x};
    for (size_t s = 1; s <= layer.n_states(); ++s)
      own.push_back(narrow(inputs[s], 0, i * layer.n_directions, layer.n_directions));
    auto first = inputs.begin() + static_cast<std::ptrdiff_t>(layer.first_param(0) +
                                                              static_cast<size_t>(i) * n_params);
    own.insert(own.end(), first, first + static_cast<std::ptrdiff_t>(n_params));
    TensorList outputs = compose_layer(layer, own);
    x = outputs[0];
    for (size_t s = 0; s < last.size(); ++s) last[s].push_back(outputs[1 + s]);
  }
  TensorList results = {x};
  for (const TensorList& each : last) results.push_back(cat(each));
  return results;
}

// Gradients with a history of their own, by way of the composed layers.
TensorList differentiable_gradients(const RnnLayer& layer, int64_t n_layers,
                                    const TensorList& inputs, const TensorList& grads, Needs need) {
  // Each input under a name of its own: the same tensor may be given twice.
  TensorList names, wanted;
  for (const Tensor& x : inputs) names.push_back(alias_view(x));
  for (size_t i = 0; i < names.size(); ++i)
    if (need[i]) wanted.push_back(names[i]);
  TensorList outputs = compose_stack(layer, n_layers, names), roots, root_grads;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!grads[i].defined() || !outputs[i].requires_grad()) continue;
    roots.push_back(outputs[i]);
    root_grads.push_back(grads[i]);
  }
  TensorList found = run_backward(roots, root_grads, true, true, wanted, false);
  TensorList results(inputs.size());
  for (size_t i = 0, at = 0; i < inputs.size(); ++i)
    if (need[i]) results[i] = found[at++];
  return results;
}

// ---- by the kernels

template <class T>
const cpu::RnnKernels<T>& kernels() {
  if constexpr (std::is_same_v<T, float>)
    return cpu::get_rnn_table().float32;
  else
    return cpu::get_rnn_table().float64;
}

// A factor of products over all steps, and such a product. In bfloat16, where the layer has that,
// they take half the time.
Tensor factor(const RnnLayer& layer, const Tensor& x) {
  return layer.is_bfloat16 ? to_dtype(x, DType::BFloat16) : x;
}
Tensor product(const RnnLayer& layer, const Tensor& a, const Tensor& b) {
  Tensor y = mm(a, b);
  return layer.is_bfloat16 ? to_dtype(y, DType::Float32) : y;
}

// Raw memory of tensors, which are kept alive, and made contiguous where they are not.
template <class T>
class Memory {
 public:
  T* of(const Tensor& x) {
    if (!x.defined()) return nullptr;
    kept_.push_back(contiguous(x));
    return kept_.back().template data_as<T>();
  }

 private:
  TensorList kept_;
};

template <class T>
cpu::RnnDirection<T> direction_of(const RnnLayer& layer, const TensorList& inputs, const Tensor& y,
                                  const TensorList& tape, int64_t direction, Memory<T>& memory) {
  RnnWeights w = weights_of(layer, inputs, direction);
  int64_t hidden = w.hh.size(0) / cpu::n_gates(layer.mode), state = w.hh.size(1);
  cpu::RnnDirection<T> x = {};
  x.mode = layer.mode;
  x.is_reverse = direction == 1;
  x.hidden = hidden;
  x.state = state;
  x.weight_hh = memory.of(w.hh);
  x.weight_hr = memory.of(w.hr);
  x.h0 = memory.of(select(inputs[1], 0, direction));
  if (layer.mode == RnnMode::Lstm) x.c0 = memory.of(select(inputs[2], 0, direction));
  size_t first = static_cast<size_t>(direction) * 2;
  if (tape[first].defined()) x.gates = memory.of(tape[first]);
  x.cells = memory.of(tape[first + 1]);
  x.ld_y = layer.n_directions * state;
  if (y.defined()) x.y = memory.of(y) + direction * state;
  int64_t numel = cpu::scratch_numel(layer.mode, hidden, state, layer.batch(0));
  x.scratch = memory.of(empty({numel}, inputs[0].dtype()));
  return x;
}

// The biases as the kernel wants them: a GRU has that of h in n apart.
template <class T>
void set_biases(cpu::RnnDirection<T>& x, const RnnWeights& w, Memory<T>& memory) {
  if (!w.bias_ih.defined()) return;
  if (x.mode != RnnMode::Gru) {
    x.bias = memory.of(w.bias_ih + w.bias_hh);
    return;
  }
  Tensor bias = clone(w.bias_ih, MemoryFormat::Contiguous),
         first = narrow(bias, 0, 0, 2 * x.hidden);
  add_(first, narrow(w.bias_hh, 0, 0, 2 * x.hidden));
  x.bias = memory.of(bias);
  x.bias_hidden = memory.of(narrow(w.bias_hh, 0, 2 * x.hidden, x.hidden));
}

// The outputs. `tape` gets the gates and the cells of each direction.
template <class T>
TensorList run_forward(const RnnLayer& layer, const TensorList& inputs, TensorList& tape) {
  NoGradGuard guard;
  DType dtype = inputs[0].dtype();
  Tensor rows = factor(layer, reshape(inputs[0], {layer.n_rows(), inputs[0].size(-1)}));
  TensorList outputs = {empty(output_sizes(layer, inputs), dtype)};
  for (size_t i = 0; i < layer.n_states(); ++i)
    outputs.push_back(empty(inputs[1 + i].sizes(), dtype));
  Memory<T> memory;
  std::vector<cpu::RnnDirection<T>> directions;
  for (int64_t d = 0; d < layer.n_directions; ++d) {
    RnnWeights w = weights_of(layer, inputs, d);
    bool has_cells = layer.mode == RnnMode::Lstm || layer.mode == RnnMode::Gru;
    int64_t hidden = w.hh.size(0) / cpu::n_gates(layer.mode);
    tape.push_back(product(layer, rows, t(factor(layer, w.ih))));
    tape.push_back(has_cells ? empty({layer.n_rows(), hidden}, dtype) : Tensor());
    cpu::RnnDirection<T> x = direction_of(layer, inputs, outputs[0], tape, d, memory);
    set_biases(x, w, memory);
    x.hn = outputs[1].data_as<T>() + d * layer.batch(0) * x.state;
    if (layer.mode == RnnMode::Lstm) x.cn = outputs[2].data_as<T>() + d * layer.batch(0) * x.hidden;
    // To pack the weights would cost more than one product does.
    if (layer.n_steps() == 1) x.recurrent = memory.of(mm(select(inputs[1], 0, d), t(w.hh)));
    directions.push_back(x);
  }
  run_blocking([&] { kernels<T>().forward(directions.data(), layer.n_directions, layer.steps()); });
  // The derivative of the plain cell needs its result only.
  for (size_t i = 0; i < tape.size(); i += 2)
    if (!tape[i + 1].defined()) tape[i] = Tensor();
  return outputs;
}

// The rows of the first step of every sequence.
Tensor first_rows(const RnnLayer& layer, const Tensor& x, int64_t direction) {
  int64_t n = layer.batch(0);
  if (direction == 0) return narrow(x, 0, 0, n);
  Tensor rows = empty({n}, DType::Int64);
  for (int64_t i = 0, time = layer.n_steps() - 1; i < n; ++i) {
    while (layer.batch(time) <= i) --time;
    rows.data_as<int64_t>()[i] = layer.first_row[time] + i;
  }
  return index_select(x, 0, rows);
}

Tensor or_zeros(const Tensor& x, const Tensor& like) {
  return x.defined() ? contiguous(x) : zeros(like.sizes(), like.dtype());
}

template <class T>
TensorList run_gradients(const RnnLayer& layer, const TensorList& inputs, const Tensor& y,
                         const TensorList& tape, const TensorList& grads, Needs need) {
  NoGradGuard guard;
  DType dtype = inputs[0].dtype();
  int64_t n_rows = layer.n_rows();
  Tensor rows = factor(layer, reshape(inputs[0], {n_rows, inputs[0].size(-1)}));
  Tensor dy = grads[0].defined() ? contiguous(grads[0]) : Tensor();
  Tensor dhn = or_zeros(grads[1], inputs[1]), carry;
  if (layer.mode == RnnMode::Lstm) carry = clone(or_zeros(grads[2], inputs[2]));
  if (layer.mode == RnnMode::Gru) carry = clone(dhn);

  struct Buffers {
    Tensor input, hidden, previous, dstate, unprojected;
  };
  std::vector<Buffers> buffers;
  std::vector<cpu::RnnDirection<T>> directions;
  std::vector<cpu::RnnGradients<T>> gradients;
  Memory<T> memory;
  for (int64_t d = 0; d < layer.n_directions; ++d) {
    cpu::RnnDirection<T> x = direction_of(layer, inputs, y, tape, d, memory);
    Dims gates = {n_rows, cpu::n_gates(layer.mode) * x.hidden};
    Buffers b = {empty(gates, dtype), {}, empty({n_rows, x.state}, dtype), {}, {}};
    b.hidden = layer.mode == RnnMode::Gru ? empty(gates, dtype) : b.input;
    if (layer.has_projection) {
      b.dstate = empty({n_rows, x.state}, dtype);
      b.unprojected = empty({n_rows, x.hidden}, dtype);
    }
    cpu::RnnGradients<T> g = {};
    if (dy.defined()) g.dy = dy.data_as<T>() + d * x.state;
    g.dhn = memory.of(select(dhn, 0, d));
    if (carry.defined()) g.carry = memory.of(select(carry, 0, d));
    g.dgates_input = memory.of(b.input);
    g.dgates_hidden = memory.of(b.hidden);
    g.previous = memory.of(b.previous);
    g.dstate = memory.of(b.dstate);
    g.unprojected = memory.of(b.unprojected);
    buffers.push_back(b);
    directions.push_back(x);
    gradients.push_back(g);
  }
  run_blocking([&] {
    kernels<T>().backward(directions.data(), gradients.data(), layer.n_directions, layer.steps());
  });

  TensorList results(inputs.size()), dh;
  for (int64_t d = 0; d < layer.n_directions; ++d) {
    RnnWeights w = weights_of(layer, inputs, d);
    const Buffers& b = buffers[static_cast<size_t>(d)];
    size_t at = layer.first_param(d);
    Tensor input = factor(layer, b.input), weight = factor(layer, w.ih);
    Tensor hidden = layer.mode == RnnMode::Gru ? factor(layer, b.hidden) : input;
    if (need[0] && d == 0) results[0] = product(layer, input, weight);
    if (need[0] && d == 1)
      results[0] = layer.is_bfloat16 ? results[0] + product(layer, input, weight)
                                     : addmm(results[0], input, weight);
    if (need[1]) dh.push_back(mm(first_rows(layer, b.hidden, d), w.hh));
    if (need[at]) results[at] = product(layer, t(input), rows);
    if (need[at + 1]) results[at + 1] = product(layer, t(hidden), factor(layer, b.previous));
    if (layer.has_biases && need[at + 2]) results[at + 2] = sum(b.input, {0});
    if (layer.has_biases && need[at + 3]) results[at + 3] = sum(b.hidden, {0});
    size_t last = at + layer.n_params() - 1;
    if (layer.has_projection && need[last]) results[last] = mm(t(b.dstate), b.unprojected);
  }
  if (need[0]) results[0] = view(results[0], inputs[0].sizes());
  if (need[1]) results[1] = stack(dh);
  if (need[1] && layer.mode == RnnMode::Gru) add_(results[1], carry);
  if (layer.mode == RnnMode::Lstm && need[2]) results[2] = carry;
  return results;
}

}  // namespace

bool has_stacks(const Tensor& input) {
  return input.device().is_cuda() && cuda::can_run_rnn(input.dtype());
}

TensorList run_stack(const RnnLayer& layer, int64_t n_layers, const TensorList& inputs) {
  RnnWeights w = weights_of(layer, inputs, 0);
  cuda::RnnStack stack = {layer.mode,         n_layers,
                          layer.n_directions, layer.has_biases,
                          inputs[0].size(-1), w.hh.size(0) / cpu::n_gates(layer.mode),
                          w.hh.size(1),       layer.first_row};
  bool is_training = false;
  for (const Tensor& x : inputs) is_training = is_training || x.requires_grad();
  is_training = is_training && is_grad_enabled();
  TensorList outputs = {empty(output_sizes(layer, inputs), inputs[0].dtype(), inputs[0].device())};
  for (size_t i = 1; i <= layer.n_states(); ++i)
    outputs.push_back(empty(inputs[i].sizes(), inputs[i].dtype(), inputs[i].device()));
  cuda::RnnTape tape;
  auto dense = [](const TensorList& list) {
    NoGradGuard guard;
    TensorList all;
    for (const Tensor& x : list) all.push_back(x.defined() ? contiguous(x) : x);
    return all;
  };
  tape = cuda::rnn(stack, dense(inputs), outputs, is_training);
  Tensor y = outputs[0];
  record_all("CudnnRnnBackward0", outputs, inputs,
             [layer, n_layers, stack, dense, inputs = save(inputs), y = save_output(y),
              weights = save(tape.weights),
              reserve = save(tape.reserve)](const TensorList& grads, Needs need) -> TensorList {
               TensorList given = inputs.unpack();
               if (is_grad_enabled())
                 return differentiable_gradients(layer, n_layers, given, grads, need);
               TensorList up = dense(grads);
               Tensor result = y;
               if (!up[0].defined()) up[0] = zeros(result.sizes(), result.dtype(), result.device());
               TensorList results = cuda::rnn_backward(stack, dense(given), contiguous(result),
                                                       {weights, reserve}, up);
               for (size_t i = 0; i < results.size(); ++i)
                 if (!need[i]) results[i] = Tensor();
               return results;
             });
  return outputs;
}

TensorList run_layer(const RnnLayer& layer, const TensorList& inputs) {
  if (has_stacks(inputs[0])) return run_stack(layer, 1, inputs);
  if (!inputs[0].is_cpu() || is_complex(inputs[0].dtype())) return compose_layer(layer, inputs);
  TensorList tape;
  bool is_float = inputs[0].dtype() == DType::Float32;
  TensorList outputs =
      is_float ? run_forward<float>(layer, inputs, tape) : run_forward<double>(layer, inputs, tape);
  // A single step with gates has all it needs in them.
  bool needs_y = layer.n_steps() > 1 || cpu::n_gates(layer.mode) == 1;
  Tensor y = needs_y ? outputs[0] : Tensor();
  record_all("RnnLayerBackward0", outputs, inputs,
             [layer, inputs = save(inputs), y = save_output(y), tape = save(tape)](
                 const TensorList& grads, Needs need) -> TensorList {
               TensorList given = inputs.unpack();
               if (is_grad_enabled()) return differentiable_gradients(layer, 1, given, grads, need);
               auto run = given[0].dtype() == DType::Float32 ? run_gradients<float>
                                                             : run_gradients<double>;
               return run(layer, given, y, tape.unpack(), grads, need);
             });
  return outputs;
}

}  // namespace facula
