// The memory format that results take over from an input.
#pragma once
#include "tensor/tensor.h"

namespace facula {

// channels_last of 4 or 5 dimensions if the strides are in its order, else contiguous. There may be
// gaps: some channels of such a tensor have the format, too. Strides of dimensions of size 1 count:
// they tell what was meant.
inline MemoryFormat format_of(const Tensor& x) {
  int64_t n = x.dim(), least = 0;
  if (n < 4 || n > 5 || x.stride(1) == 0 || x.numel() == 0) return MemoryFormat::Contiguous;
  for (int64_t i = 0; i < n; ++i) {
    int64_t d = i == 0 ? 1 : i == n - 1 ? 0 : n - i;  // from the channels out to the batch
    // A batch of single elements lies as in both formats.
    bool is_either = d == 0 && least == x.stride(1);
    if (x.stride(d) < least || is_either) return MemoryFormat::Contiguous;
    least = x.stride(d) * x.size(d);
  }
  return n == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
}

}  // namespace facula
