#include "cuda/nn/windows.h"

#include "cuda/kernel.h"

namespace facula::cuda {

namespace {

FACULA_KERNEL(take_windows, "windows.h", WindowArguments, kWordDTypes)
FACULA_KERNEL(add_windows, "windows.h", WindowArguments,
              kFloatDTypes | kComplexDTypes | only(DType::Bool))

}  // namespace

void take_windows(const Tensor& columns, const Tensor& images, const WindowAxis& y,
                  const WindowAxis& x) {
  take_windows_kernel.for_each(columns.device(), {word_dtype(columns.itemsize())}, columns.numel(),
                               {images.address(), columns.address(), columns.numel(), y, x});
}

void add_windows(const Tensor& images, const Tensor& columns, const WindowAxis& y,
                 const WindowAxis& x) {
  add_windows_kernel.for_each(images.device(), {images.dtype()}, images.numel(),
                              {columns.address(), images.address(), images.numel(), y, x});
}

}  // namespace facula::cuda
