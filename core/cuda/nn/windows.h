// Windows of images as columns on a GPU, and the sum of such columns.
#pragma once
#include "cuda/kernels/windows.h"
#include "tensor/tensor.h"

namespace facula::cuda {

// Both contiguous: images of these axes, and their windows.
void take_windows(const Tensor& columns, const Tensor& images, const WindowAxis& y,
                  const WindowAxis& x);
void add_windows(const Tensor& images, const Tensor& columns, const WindowAxis& y,
                 const WindowAxis& x);

}  // namespace facula::cuda
