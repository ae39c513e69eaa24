// The memory format that results take over from an input.
#pragma once
#include "tensor/tensor.h"

namespace facula {

// channels_last of 4 or 5 dimensions if x is so and not contiguous too, else contiguous. Strides of
// dimensions of size 1 count: they tell what was meant.
inline MemoryFormat format_of(const Tensor& x) {
  if (x.is_contiguous() || x.dim() < 4 || x.dim() > 5) return MemoryFormat::Contiguous;
  MemoryFormat format = x.dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
  bool is_in_order = x.stride(-2) >= x.stride(-1) * x.size(-1);
  return x.is_contiguous(format) && is_in_order ? format : MemoryFormat::Contiguous;
}

}  // namespace facula
