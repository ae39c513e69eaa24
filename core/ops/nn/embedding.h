// Rows of a table by index, and sums of them.
#pragma once
#include <array>
#include <optional>

#include "tensor/tensor.h"

namespace facula {

// Row padding_idx, where it is at least 0, gets no gradient. With scale_by_freq the gradient of a
// row is divided by how often it was asked for.
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx,
                 bool scale_by_freq);

enum class BagMode : int64_t { Sum, Mean, Max };

struct BagOptions {
  BagMode mode;
  bool scale_by_freq;
  bool has_last_offset;  // offsets end with the number of indices
  int64_t padding_idx;   // left out of all bags; none where negative
};

// A sum, mean or maximum of rows for each bag, which begins at its offset; the bag of each index;
// the number of indices in each bag; and the row of each maximum. What a mode does not need is
// empty or zero.
std::array<Tensor, 4> embedding_bag(const Tensor& weight, const Tensor& indices,
                                    const Tensor& offsets, const Tensor& per_sample_weights,
                                    const BagOptions& options);

}  // namespace facula
