// The gradient of a convolution's weight, for the instruction set that includes this.
#pragma once
#include "cpu/conv.h"
#include "cpu/vec.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

#if defined(FACULA_AVX512)
// As ConvKernels::weight; for float and double.
template <class T>
bool conv_weight(const ConvShape& s, const T* x, const T* y, T* w);
#endif

}  // namespace FACULA_ISA
}  // namespace facula::cpu
