// Recurrent networks by cuDNN: all layers, directions and steps in one call.
#pragma once
#include <vector>

#include "cpu/nn/rnn.h"
#include "tensor/tensor.h"

namespace facula::cuda {

// Rows of a step are those of the sequences that take it, longest first. The parameters are those
// of each layer and direction, in the order of PyTorch.
struct RnnStack {
  cpu::RnnMode mode;
  int64_t n_layers, n_directions;
  bool has_biases;
  int64_t input_size, hidden, state;  // a state that is not as large as `hidden` is projected
  std::vector<int64_t> first_row;     // of each step, and one more
};

bool can_run_rnn(DType dtype);

// What backward needs beside inputs and outputs; the second is there in training only.
struct RnnTape {
  Tensor weights, reserve;
};
// Inputs: x, h, for an LSTM c, and the parameters; outputs: y, h and c. All are contiguous.
RnnTape rnn(const RnnStack& stack, const TensorList& inputs, const TensorList& outputs,
            bool is_training);
// grads: of the outputs; that of y is there, others may be undefined. Returns those of the inputs.
TensorList rnn_backward(const RnnStack& stack, const TensorList& inputs, const Tensor& y,
                        const RnnTape& tape, const TensorList& grads);

}  // namespace facula::cuda
