// Factorisations of matrices on raw memory, and what is solved with them. Matrices are column-major
// and those of a batch follow each other. Batches are shared out to the threads; work on one large
// matrix is cut by its size alone, so the bits depend neither on the threads nor on the batch.
#pragma once
#include <cstdint>

#include "products/lapack.h"

namespace facula::products {

// `info` has a number for each matrix: 0, or what LAPACK says of a failure. Defined for float,
// double and the complex types of both.

// a (m, n) = P L U, in place; `pivots` has min(m, n) for each matrix, counted from 1.
template <class T>
void lu(int64_t n_batch, int64_t m, int64_t n, T* a, int32_t* pivots, int32_t* info);

// b (n, n_rhs) becomes the solution of op(A) X = B; op is 'N', 'T' or 'C'.
template <class T>
void lu_solve(int64_t n_batch, int64_t n, int64_t n_rhs, const T* lu, const int32_t* pivots, T* b,
              char op);

// out (n, n), which is overwritten, becomes the inverse.
template <class T>
void lu_inverse(int64_t n_batch, int64_t n, const T* lu, const int32_t* pivots, T* out);

// a (n, n) = L L^H, in place; the upper triangle is neither read nor written.
template <class T>
void cholesky(int64_t n_batch, int64_t n, T* a, int32_t* info);

// out (n, n), which is overwritten, becomes the inverse of L L^H.
template <class T>
void cholesky_inverse(int64_t n_batch, int64_t n, const T* l, T* out);

struct Triangle {
  bool is_left, is_upper, is_unit;
  char op;  // 'N', 'T' or 'C'
};
// b (m, n) becomes the solution of op(A) X = B, or of X op(A) = B if A is not on the left.
template <class T>
void triangular_solve(int64_t n_batch, int64_t m, int64_t n, const T* a, T* b, Triangle form);

// a (n, n) = L D L^T, or L D L^H, in place, by its lower triangle.
template <class T>
void ldl(int64_t n_batch, int64_t n, T* a, int32_t* pivots, int32_t* info, bool is_hermitian);
template <class T>
void ldl_solve(int64_t n_batch, int64_t n, int64_t n_rhs, const T* ld, const int32_t* pivots, T* b,
               bool is_hermitian);

// a (m, n) becomes R and the reflectors below it, whose factors are tau (min(m, n)).
template <class T>
void qr(int64_t n_batch, int64_t m, int64_t n, T* a, T* tau);
// a (m, n), whose first k columns hold reflectors, becomes the first n columns of their product.
template <class T>
void reflectors_to_q(int64_t n_batch, int64_t m, int64_t n, int64_t k, T* a, const T* tau);
// c (m, n) becomes op(Q) C, or C op(Q), for the product Q of k reflectors; op is 'N', 'T' or 'C'.
template <class T>
void multiply_by_q(int64_t n_batch, int64_t m, int64_t n, int64_t k, const T* a, const T* tau, T* c,
                   bool is_left, char op);

// a (n, n), of which one triangle is read, becomes its eigenvectors if these are wanted.
template <class T>
void eigh(int64_t n_batch, int64_t n, T* a, RealOf<T>* values, int32_t* info, bool is_upper,
          bool with_vectors);
// a (n, n) is destroyed; `vectors` may be null.
template <class T>
void eig(int64_t n_batch, int64_t n, T* a, std::complex<RealOf<T>>* values,
         std::complex<RealOf<T>>* vectors, int32_t* info);

// a (m, n) is destroyed. u (m, m) and vh (n, n), or with `is_thin` min(m, n) columns and rows of
// them, may both be null.
template <class T>
void svd(int64_t n_batch, int64_t m, int64_t n, T* a, T* u, RealOf<T>* s, T* vh, int32_t* info,
         bool is_thin);

// The routines that solve least squares: y means a complete orthogonal factorisation, s and d
// singular values.
enum class LeastSquares { Gels, Gelsy, Gelsd, Gelss };
// a (m, n) is destroyed; b (max(m, n), n_rhs) becomes the solutions in its first n rows. `rank` and
// `s` (min(m, n)) are written by the routines that find them.
template <class T>
void least_squares(int64_t n_batch, int64_t m, int64_t n, int64_t n_rhs, T* a, T* b,
                   RealOf<T> rcond, LeastSquares way, int64_t* rank, RealOf<T>* s, int32_t* info);

}  // namespace facula::products
