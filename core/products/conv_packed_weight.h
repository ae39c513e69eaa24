// The gradient of the weight by ConvWay::Packed, beside the sums of conv_packed.cpp in its table.
#pragma once
#include "cpu/isa.h"
#include "products/conv_shape.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

template <class T>
void packed_weight(const ConvShape& s, const T* x, const T* y, T* w);

}  // namespace FACULA_ISA
}  // namespace facula::cpu
