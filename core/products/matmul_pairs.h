// Products of bfloat16 in pairs whose second factor is packed already. Included by kernels.
#pragma once
#include "products/matmul_kernels.h"
#include "products/tile.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

#if defined(FACULA_AVX512)

// Of a panel of B, the last one of which has as many vectors as it needs.
constexpr int64_t kPairCols = kCols<float>;

// B lies in panels, which have a line of words for each pair of rows. x.b is not read.
void multiply_packed_pairs(const PairsProblem& x, const uint32_t* packed_b);

#endif

}  // namespace FACULA_ISA
}  // namespace facula::cpu
