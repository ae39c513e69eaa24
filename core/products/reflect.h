// Reflections I - tau v v^H of one column-major matrix, one after the other: what the
// factorisations of small matrices are made of. Reflectors lie where LAPACK puts them, so that its
// routines can go on with them, and ours with its: v is 1 and then the elements below.
#pragma once
#include <cstdint>

#include "products/lapack.h"

namespace facula::products {

// Of the absolute values of the numbers.
template <class T>
RealOf<T> sum_of_squares(int64_t n, const T* x);

// a (m, n) becomes R and min(m, n) reflectors below it.
template <class T>
void reflect_to_triangle(int64_t m, int64_t n, T* a, int64_t lda, T* tau);

// a (m, n), whose first k columns hold such reflectors, becomes the first n columns of their
// product.
template <class T>
void reflectors_to_columns(int64_t m, int64_t n, int64_t k, T* a, int64_t lda, const T* tau);

// c (m, n) becomes Q C, or Q^H C, for the product Q of the k reflectors in `a`.
template <class T>
void reflect(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* tau, T* c,
             int64_t ldc, bool is_adjoint);

// a (n, n), Hermitian, becomes tridiagonal: `diagonal` (n) and `beside` (n - 1). The reflectors,
// n - 1, lie from the second row on.
template <class T>
void reflect_to_tridiagonal(int64_t n, T* a, RealOf<T>* diagonal, RealOf<T>* beside, T* tau);

// a (m, n), m >= n, becomes upper bidiagonal: `diagonal` (n) and `above` (n - 1), with n reflectors
// from the left as of a triangle. Those from the right, n - 1, lie to the right of the bidiagonal,
// as conjugated rows.
template <class T>
void reflect_to_bidiagonal(int64_t m, int64_t n, T* a, RealOf<T>* diagonal, RealOf<T>* above,
                           T* tau_left, T* tau_right);

}  // namespace facula::products
