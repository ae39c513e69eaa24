// The one place that chooses how a product or a convolution is computed, from its sizes, its dtype
// and the instruction set. Kernels are called only with what they can do; none says no.
//
// Ways that round differently are chosen by nothing else: see [order] in tuning.h.
#pragma once
#include "base/dtype.h"
#include "cpu/isa.h"
#include "products/conv_shape.h"
#include "products/matmul.h"

namespace facula::products {

using cpu::ConvShape;
using cpu::Isa;
using cpu::WindowShape;

enum class GemmWay {
  Widened,       // as a product of floats, which are rounded at the end
  Pairs,         // of bfloat16, by instructions that multiply pairs
  Complex,       // as a product of real matrices
  Dots,          // B is a vector of 16-bit floats or complex numbers: rows are read where they lie
  MatrixVector,  // B is a vector
  SlicesOfK,     // as a batch of products along k, which are added in order
  FewRows,       // each number of B is used once or a few times, where it lies
  Blocked,       // our kernels: panels of A and B are packed and shared by the threads
  SmallA,        // each thread packs panels of B for itself, all of A meets them there
  Exchanged,     // the same, of the transposes of B and A
};
// Of a product that has terms.
GemmWay plan_gemm(const GemmShape& s, DType dtype, Isa isa);

enum class ConvWay {
  Pointwise,    // as a product of w and each image
  TakenPixels,  // as the convolution without steps of the pixels that a kernel of one pixel takes
  Windows,      // the gradient of the input as sums over windows, see plan_windows()
  Direct,       // few rows read windows from copied lines
  Each,         // channels are last, and each is convolved by itself
  Winograd,     // 3x3 kernels with fewer multiplications
  Lines,        // as a product with windows that are read from copied lines
  Packed,       // as a product with windows that are packed from the images
  Pairs,        // of bfloat16, by instructions that multiply pairs
  Columns,      // as products with blocks of windows
};
// Whether ConvWay::Pairs computes a result of so many channels, of a group; no other way but
// Pointwise takes 16-bit floats.
bool suits_pairs(const ConvShape& s, int64_t n_channels, DType dtype, Isa isa);
// Whether there is a way, Pointwise, Each or Lines, for images whose channels are last.
bool suits_channels_last(const ConvShape& s, const std::vector<WindowShape>& parts, DType dtype);
// Of convolutions that have terms.
ConvWay plan_output(const ConvShape& s, DType dtype);
ConvWay plan_input(const ConvShape& s, bool has_bias, DType dtype);
ConvWay plan_weight(const ConvShape& s, DType dtype);
// Whether ConvWay::Lines sums all parts of the gradient of an input together.
bool suits_lines(const std::vector<WindowShape>& parts, DType dtype);
// Direct, Each, Winograd, Lines, Packed, Pairs or, where none of our kernels can, Columns.
ConvWay plan_windows(const WindowShape& s, DType dtype);

}  // namespace facula::products
