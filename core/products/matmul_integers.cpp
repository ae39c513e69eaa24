// Products of integers, which wrap around.
#include <algorithm>

#include "base/integers.h"
#include "base/parallel.h"
#include "cpu/vec.h"
#include "math/arithmetic.h"
#include "products/matmul_kernels.h"
#include "products/tuning.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// With panels of B all lanes but one would be idle.
template <class T>
void multiply_vector(const GemmProblem<T>& x) {
  using Word = math::Wrapping<T>;
  int64_t a_step = x.a.col_stride, b_step = x.b.row_stride;
  parallel_for(x.m, ceil_div(tuning::kTaskWork, x.k), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T *a = x.a.data + i * x.a.row_stride, *b = x.b.data;
      Word sum = 0;
      if (a_step == 1 && b_step == 1) {
        for (int64_t p = 0; p < x.k; ++p) sum += static_cast<Word>(a[p]) * static_cast<Word>(b[p]);
      } else {
        for (int64_t p = 0; p < x.k; ++p)
          sum += static_cast<Word>(a[p * a_step]) * static_cast<Word>(b[p * b_step]);
      }
      T& c = x.c[i * x.ldc];
      Word before = x.beta == 0 ? 0 : static_cast<Word>(x.beta) * static_cast<Word>(c);
      c = static_cast<T>(before + static_cast<Word>(x.alpha) * sum);
    }
  });
}

// Panels of B are widened to words.
template <class T>
void multiply(const GemmProblem<T>& x) {
  using Word = math::Wrapping<T>;
  constexpr int64_t lanes = Vec<Word>::kLanes, n_vectors = tuning::kIntegerVectors,
                    width = n_vectors * lanes;
  constexpr int64_t depth = tuning::kIntegerDepth, height = tuning::kIntegerRows;
  int64_t tiles_m = ceil_div(x.m, height), tiles_n = ceil_div(x.n, width);
  int64_t work = std::min(height, x.m) * width * x.k;
  parallel_for(
      tiles_m * tiles_n, ceil_div(tuning::kTaskWork, work), [&](int64_t begin, int64_t end) {
        Word panel[depth * width], sums[width];
        for (int64_t tile = begin; tile < end; ++tile) {
          int64_t first_row = tile / tiles_n * height, first_col = tile % tiles_n * width;
          int64_t last_row = std::min(first_row + height, x.m);
          int64_t n_cols = std::min(width, x.n - first_col);
          for (int64_t first = 0; first < x.k; first += depth) {
            int64_t n = std::min(depth, x.k - first);
            const T* b = x.b.data + first * x.b.row_stride + first_col * x.b.col_stride;
            if (x.b.col_stride == 1) {
              for (int64_t p = 0; p < n; ++p, b += x.b.row_stride)
                for (int64_t j = 0; j < width; ++j)
                  panel[p * width + j] = j < n_cols ? static_cast<Word>(b[j]) : 0;
            } else {
              // Columns one after the other: all at once may fall into one set of the cache.
              for (int64_t j = 0; j < width; ++j, b += x.b.col_stride)
                for (int64_t p = 0; p < n; ++p)
                  panel[p * width + j] = j < n_cols ? static_cast<Word>(b[p * x.b.row_stride]) : 0;
            }
            for (int64_t i = first_row; i < last_row; ++i) {
              const T* a = x.a.data + i * x.a.row_stride + first * x.a.col_stride;
              Vec<Word> parts[n_vectors] = {Word(0), Word(0), Word(0), Word(0)};
              for (int64_t p = 0; p < n; ++p) {
                Vec<Word> factor(static_cast<Word>(a[p * x.a.col_stride]));
                for (int64_t v = 0; v < n_vectors; ++v)
                  parts[v] += factor * Vec<Word>::load(panel + p * width + v * lanes);
              }
              for (int64_t v = 0; v < n_vectors; ++v) parts[v].store(sums + v * lanes);
              T* c = x.c + i * x.ldc + first_col;
              Word beta = first == 0 ? static_cast<Word>(x.beta) : 1;
              for (int64_t j = 0; j < n_cols; ++j) {
                Word before = beta == 0 ? 0 : beta * static_cast<Word>(c[j]);
                c[j] = static_cast<T>(before + static_cast<Word>(x.alpha) * sums[j]);
              }
            }
          }
        }
      });
}

template <class T>
constexpr MatmulKernels<T> kernels{multiply<T>, nullptr, nullptr, nullptr, multiply_vector<T>};

}  // namespace

extern const IntegersTable integers_table;
const IntegersTable integers_table = {kernels<uint8_t>, kernels<int8_t>, kernels<int16_t>,
                                      kernels<int32_t>, kernels<int64_t>};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
