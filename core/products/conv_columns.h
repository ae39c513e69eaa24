// Windows of images as columns, and convolutions as products with blocks of them: the way that
// serves every dtype and size.
#pragma once
#include "products/conv_shape.h"

namespace facula::products {

using cpu::ConvShape;

// As conv.h's.
template <class T>
void columns_output(const ConvShape& s, const T* x, const T* w, const T* bias, T* y);
template <class T>
void columns_input(const ConvShape& s, const T* w, const T* y, const T* bias, T* x);
template <class T>
void columns_weight(const ConvShape& s, const T* x, const T* y, T* w);

// The windows of the images as columns: (n_batch, channels, in) and (n_batch, channels * taps,
// out). There is one group. The second adds up what the windows share. Floats and bools.
template <class T>
void im2col(const ConvShape& s, const T* x, T* columns);
template <class T>
void col2im(const ConvShape& s, const T* columns, T* x);

}  // namespace facula::products
