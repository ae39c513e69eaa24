// The inner loop that products of matrices and convolutions share, and vectors as it takes them.
// See Note [Blocked product] in matmul_blocked.cpp. Included by kernels, once per instruction set.
#pragma once
#include "cpu/vec.h"
#include "products/matmul_kernels.h"
#include "products/tuning.h"

namespace facula::cpu {
inline namespace FACULA_ISA {
// Up to kRows rows of A times up to kCols columns of B give alpha * product + beta * old in C.
template <class T>
struct Tile {
  MatrixView<T> a;
  const T* b;
  int64_t b_step;  // from one row of B to the next
  int64_t depth;
  T* c;
  int64_t ldc;
  T alpha = 1, beta = 0;
  int64_t n_sums = 1;         // of which each has every n_sums-th term; see n_sums_of()
  bool is_padded = true;      // rows of B are whole vectors
  const T* next_a = nullptr;  // the rows of A that come next, if these are needed no more
};
template <class T>
void multiply_tile(const Tile<T>& x, int64_t n_rows, int64_t n_cols);

namespace {

template <class T>
constexpr int64_t kVector = Vec<T>::kLanes;

#if defined(FACULA_AVX512)

constexpr int64_t kRows = tuning::kTileRows;
constexpr int64_t kColVectors = tuning::kTileVectors;

inline __m512 load(const float* p) { return _mm512_loadu_ps(p); }
inline __m512d load(const double* p) { return _mm512_loadu_pd(p); }
inline void store(float* p, __m512 v) { _mm512_storeu_ps(p, v); }
inline void store(double* p, __m512d v) { _mm512_storeu_pd(p, v); }
// Of the first n numbers only.
inline __m512 load_first(const float* p, int n) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p);
}
inline __m512d load_first(const double* p, int n) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1), p);
}
inline void store_first(float* p, int n, __m512 v) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), v);
}
inline void store_first(double* p, int n, __m512d v) {
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1), v);
}
// Of those whose bit is set.
inline __m512 load_masked(const float* p, uint32_t mask) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), p);
}
inline __m512d load_masked(const double* p, uint32_t mask) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), p);
}
inline __m512 broadcast(float x) { return _mm512_set1_ps(x); }
inline __m512d broadcast(double x) { return _mm512_set1_pd(x); }
inline __m512 fma(__m512 x, __m512 y, __m512 z) { return _mm512_fmadd_ps(x, y, z); }
inline __m512d fma(__m512d x, __m512d y, __m512d z) { return _mm512_fmadd_pd(x, y, z); }
inline __m512 multiply(__m512 x, __m512 y) { return _mm512_mul_ps(x, y); }
inline __m512d multiply(__m512d x, __m512d y) { return _mm512_mul_pd(x, y); }
inline __m512 add(__m512 x, __m512 y) { return _mm512_add_ps(x, y); }
inline __m512d add(__m512d x, __m512d y) { return _mm512_add_pd(x, y); }

#else

constexpr int64_t kRows = tuning::kShortTileRows;
constexpr int64_t kColVectors = tuning::kShortTileVectors;

template <class T>
FACULA_FN Vec<T> load(const T* p) {
  return Vec<T>::load(p);
}
template <class T>
FACULA_FN void store(T* p, Vec<T> v) {
  v.store(p);
}
template <class T>
FACULA_FN Vec<T> load_first(const T* p, int n) {
  return n == kVector<T> ? Vec<T>::load(p) : Vec<T>::load(p, n);
}
template <class T>
FACULA_FN void store_first(T* p, int n, Vec<T> v) {
  n == kVector<T> ? v.store(p) : v.store(p, n);
}
template <class T>
FACULA_FN Vec<T> broadcast(T x) {
  return Vec<T>(x);
}
template <class T>
FACULA_FN Vec<T> multiply(Vec<T> x, Vec<T> y) {
  return x * y;
}
template <class T>
FACULA_FN Vec<T> add(Vec<T> x, Vec<T> y) {
  return x + y;
}

#endif

template <class T>
constexpr int64_t kCols = kColVectors* kVector<T>;

// Sums that the terms of an element of a slice of k go to in turns. As many as there are numbers in
// 16 bytes: that is what a single row of A needs to be multiplied as fast as B can be read, without
// turning B over (matmul_few_rows.cpp). All other ways keep to it, so that all give the same bits.
template <class T>
int64_t n_sums_of(int64_t depth) {
  return depth >= tuning::kMinInterleaved ? 16 / static_cast<int64_t>(sizeof(T)) : 1;
}

}  // namespace
}  // namespace FACULA_ISA
}  // namespace facula::cpu
