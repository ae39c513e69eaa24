// Losses.
#pragma once
#include <vector>

#include "tensor/tensor.h"

namespace facula {

enum class Reduction { None, Mean, Sum };

// ---- by element: input and target have one shape. `p0` is beta of smooth_l1_loss, delta of
// huber_loss
#define LOSS(name, ...) \
  Tensor name(const Tensor& x, const Tensor& target, Reduction reduction, double p0 = 0);
#include "tables/loss.def"
#undef LOSS

// ---- by class: an input (C,), (N, C) or (N, C, ...) and class indices without the C. weight, one
// number a class, may be undefined; targets that equal ignore_index count nothing.
Tensor nll_loss(const Tensor& log_probs, const Tensor& target, const Tensor& weight,
                Reduction reduction, int64_t ignore_index);
// Of logits: log_softmax and nll_loss as one.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const Tensor& weight,
                     Reduction reduction, int64_t ignore_index);

// Connectionist temporal classification, of log probabilities (T, N, C). Targets are rows (N, S) or
// all behind each other; the result has one loss a sequence.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets,
                const std::vector<int64_t>& input_lengths,
                const std::vector<int64_t>& target_lengths, int64_t blank, bool zero_infinity);

}  // namespace facula
