// Products that packed panels would not serve: see matmul_few_rows.cpp. Included by kernels, once
// per instruction set.
#pragma once
#include "products/matmul_kernels.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// For up to tuning::kRowsByColumns rows of A; one where B lies by rows.
template <class T>
void multiply_few_rows(const GemmProblem<T>& x);

// B has one column.
template <class T>
void multiply_matrix_vector(const GemmProblem<T>& x);

}  // namespace FACULA_ISA
}  // namespace facula::cpu
