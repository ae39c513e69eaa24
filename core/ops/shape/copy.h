// Copies: between layouts, dtypes and devices.
#pragma once
#include "tensor/tensor.h"

namespace facula {

struct Walk;

// The elements only: no history, no version. src broadcasts to dst.
void copy_into(const Tensor& dst, const Tensor& src);
// The same for the two operands of a walk on the CPU, both of this dtype.
void copy_elements(const Walk& walk, DType dtype);
Tensor& copy_(Tensor& dst, const Tensor& src);  // recorded
Tensor& fill_(Tensor& x, const Tensor& value);
Tensor& fill_(Tensor& x, Scalar value);
Tensor& zero_(Tensor& x);

Tensor clone(const Tensor& x, MemoryFormat format = MemoryFormat::Preserve);
// A copy that stands for x in the graph: the same edge, other memory, and no marks.
Tensor clone_with_history(const Tensor& x);
Tensor contiguous(const Tensor& x,
                  MemoryFormat format = MemoryFormat::Contiguous);  // x itself if it is so already
// x in this dtype, x itself where it has it; not recorded.
Tensor cast_to(const Tensor& x, DType dtype);
Tensor to_dtype(const Tensor& x, DType dtype);  // x itself if it has it already
Tensor to(const Tensor& x, Device device, DType dtype, bool copy,
          MemoryFormat format = MemoryFormat::Preserve);
// x in main memory; on meta, where nothing can be copied from, x itself.
inline Tensor on_host(const Tensor& x) {
  return x.is_meta() ? x : to(x, Device{}, x.dtype(), /*copy=*/false);
}

// A fresh tensor of x's form: memory order kept where x is dense.
Tensor empty_like(const Tensor& x);
Tensor empty_like(const Tensor& x, DType dtype, Device device,
                  MemoryFormat format = MemoryFormat::Preserve);

// The same in page-locked memory of the CPU.
Tensor empty_pinned_like(const Tensor& x, DType dtype,
                         MemoryFormat format = MemoryFormat::Preserve);

bool has_nan(const Tensor& x);

// Gives x another shape and the strides of a format; its storage grows where it must and keeps what
// it held. Without a format it becomes contiguous, and stays as it is if it has the shape already.
void resize_(const Tensor& x, const Dims& sizes, MemoryFormat format);
void resize_(const Tensor& x, const Dims& sizes);

}  // namespace facula
