// Convolutions of our own in float32, float64 and bfloat16. Which of them is called is chosen in
// plan.cc.
#pragma once
#include "base/half.h"
#include "cpu/isa.h"
#include "products/conv_shape.h"

namespace facula::cpu {

// Null where the plan never chooses them.
template <class T>
struct ConvKernels {
  void (*sum)(const WindowSum<T>& s) = nullptr;
  // The gradient of the weight.
  void (*weight)(const ConvShape& s, const T* x, const T* y, T* w) = nullptr;
  // Of a way whose sums read packed weights: how many numbers these are, and how they are made from
  // the sum's groups, rows, channels and taps.
  int64_t (*packed_numel)(const WindowShape& s) = nullptr;
  void (*pack)(const WindowSum<T>& s, T* to) = nullptr;
};

// One for each of ConvWay::Direct, Each, Winograd and Packed.
struct ConvTable {
  ConvKernels<float> float32;
  ConvKernels<double> float64;
};
FACULA_KERNEL_TABLE(ConvTable, direct_table)
FACULA_KERNEL_TABLE(ConvTable, each_table)
FACULA_KERNEL_TABLE(ConvTable, winograd_table)
FACULA_KERNEL_TABLE(ConvTable, packed_table)

// ConvWay::Lines, which sums all parts of the gradient of an input together: they have the same x
// and y, and no other part writes to y.
template <class T>
struct LineKernels {
  void (*sum)(const std::vector<WindowSum<T>>& parts);
  int64_t (*packed_numel)(const WindowShape& s);  // as those of ConvKernels, for each part
  void (*pack)(const WindowSum<T>& s, T* to);
};
struct LinesTable {
  LineKernels<float> float32;
  LineKernels<double> float64;
};
FACULA_KERNEL_TABLE(LinesTable, lines_table)

// ConvWay::Pairs. Null where the instruction set has nothing for it.
struct PairsConvTable {
  ConvKernels<BFloat16> bfloat16;
};
FACULA_KERNEL_TABLE(PairsConvTable, pairs_conv_table)

inline namespace FACULA_ISA {
// Of packed_table, whose sums are in a file of their own. For float and double.
template <class T>
void packed_weight(const ConvShape& s, const T* x, const T* y, T* w);
}  // namespace FACULA_ISA

}  // namespace facula::cpu
