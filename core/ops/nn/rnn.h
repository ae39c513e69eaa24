// Recurrent layers: RNN, LSTM and GRU over sequences, and their single steps.
#pragma once
#include "cpu/nn/rnn.h"
#include "tensor/tensor.h"

namespace facula {

using cpu::RnnMode;

struct RnnOptions {
  bool has_biases;
  int64_t num_layers;
  double dropout;  // between layers, while training
  bool is_training;
  bool is_bidirectional;
  bool is_batch_first;
};

// `states` are h, and c of an LSTM, (layers * directions, batch, size); `params` those of each
// layer and direction: w_ih, w_hh, with biases b_ih and b_hh, with a projection w_hr. The input is
// (steps, batch, size); with batch_sizes, the rows of all steps below each other. The results are
// the outputs of the last layer and the last states.
TensorList rnn(const char* op, RnnMode mode, const Tensor& input, const Tensor& batch_sizes,
               const TensorList& states, const TensorList& params, const RnnOptions& options);

// One step of one layer: (batch, size) and states of (batch, hidden). Biases may be undefined. The
// results are the new states.
TensorList rnn_cell(const char* op, RnnMode mode, const Tensor& input, const TensorList& states,
                    const TensorList& params);

}  // namespace facula
