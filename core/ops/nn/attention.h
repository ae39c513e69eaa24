// Attention as one operation.
#pragma once
#include <optional>

#include "tensor/tensor.h"

namespace facula {

struct AttentionOptions {
  double dropout_p = 0;
  bool is_causal = false;
  std::optional<double> scale;  // 1 / sqrt(width of the query) where none is given
  bool enable_gqa = false;      // several heads of queries share one head of keys and values
};

// softmax(query key^T * scale + mask) value. The mask may be undefined, bool (false: left out) or
// floating.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, const AttentionOptions& options);

}  // namespace facula
