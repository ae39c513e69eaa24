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
  const T* bias = nullptr;    // a number that is added to each row, or null
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
#else
constexpr int64_t kRows = tuning::kShortTileRows;
constexpr int64_t kColVectors = tuning::kShortTileVectors;
#endif

// Of the first n numbers only, or of all.
template <class T>
FACULA_FN Vec<T> load_first(const T* p, int n) {
  return n == kVector<T> ? Vec<T>::load(p) : Vec<T>::load(p, n);
}
template <class T>
FACULA_FN void store_first(T* p, int n, Vec<T> v) {
  n == kVector<T> ? v.store(p) : v.store(p, n);
}
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
