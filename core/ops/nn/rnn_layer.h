// One layer of a recurrent network over sequences.
#pragma once
#include "cpu/nn/rnn.h"
#include "tensor/tensor.h"

namespace facula {

using cpu::RnnMode;

// One layer, both directions. Its inputs come as one list: x, h, for an LSTM c, and the parameters
// of each direction. All matrices with a row per step and sequence are as in cpu/nn/rnn.h.
struct RnnLayer {
  RnnMode mode;
  int64_t n_directions;
  bool has_biases, has_projection;
  std::vector<int64_t> first_row;
  // x and the parameters are bfloat16 that have been widened: products over all steps may round
  // their factors and results to it.
  bool is_bfloat16 = false;

  int64_t n_steps() const { return static_cast<int64_t>(first_row.size()) - 1; }
  int64_t batch(int64_t t) const { return first_row[t + 1] - first_row[t]; }
  int64_t n_rows() const { return first_row.back(); }
  size_t n_states() const { return mode == RnnMode::Lstm ? 2 : 1; }
  size_t n_params() const { return (has_biases ? 4 : 2) + (has_projection ? 1 : 0); }
  size_t first_param(int64_t direction) const {
    return 1 + n_states() + static_cast<size_t>(direction) * n_params();
  }
  cpu::RnnSteps steps() const { return {n_steps(), first_row.data()}; }
};

struct RnnWeights {
  Tensor ih, hh, bias_ih, bias_hh, hr;
};
RnnWeights weights_of(const RnnLayer& layer, const TensorList& inputs, int64_t direction);

// The outputs and the last states, recorded.
TensorList run_layer(const RnnLayer& layer, const TensorList& inputs);

// Several layers as one, where a GPU has them: whether it does, and the same for the inputs of all
// of them, the states and the parameters of each layer behind those of the one before.
bool has_stacks(const Tensor& input);
TensorList run_stack(const RnnLayer& layer, int64_t n_layers, const TensorList& inputs);

}  // namespace facula
