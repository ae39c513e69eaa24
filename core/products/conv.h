// Convolutions on raw, contiguous memory. One form, the sum of x * w * y over all terms, gives each
// of its three tensors from the other two. Work is cut by the sizes alone and every sum has a fixed
// order: the results have the same bits for any number of threads.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "products/conv_shape.h"
#include "tensor/storage.h"

namespace facula::products {

using cpu::ConvShape;

// Whether these are convolved as they are: of the 16-bit floats bfloat16 is, if the machine and the
// sizes suit it. Others are to be converted to floats. `n_channels`: of the result, in a group.
bool convolves_pairs(const ConvShape& s, int64_t n_channels, DType dtype);

// Whether the channels of images may come last (ConvShape): in conv_output(), conv_input().
bool output_takes_channels_last(const ConvShape& s, DType dtype);
bool input_takes_channels_last(const ConvShape& s, DType dtype);

// Defined for every dtype but bool and float16; for bfloat16, where convolves_pairs() says so.
// `bias` has one number per channel of the result, or is null. `keeper` is the storage of w if it
// shall keep the packed weight for the next call, else null: see Note [Kept forms].
template <class T>
void conv_output(const ConvShape& s, const T* x, const T* w, const T* bias, T* y, Storage* keeper);
template <class T>
void conv_input(const ConvShape& s, const T* w, const T* y, const T* bias, T* x, Storage* keeper);
template <class T>
void conv_weight(const ConvShape& s, const T* x, const T* y, T* w);

}  // namespace facula::products
