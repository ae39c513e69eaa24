// Normalisation: statistics, the map and its derivative, for rows (contiguous runs of elements of
// one mean) and for the columns of a matrix (elements of one mean lie a row apart). 16-bit types
// are computed in float; statistics are joined in double.
#pragma once
#include <array>

#include "base/dtype.h"
#include "cpu/isa.h"

namespace facula::cpu {

// The mean, and the sum of the squared distances from it.
struct Moments {
  double mean, squares;
};
// y = (x - mean) * scale + shift.
struct NormMap {
  double mean, scale, shift;
};
// The sum of g, and that of g * (x - mean).
struct GradSums {
  double sum, dot;
};
// gx = g * of_grad + (x - mean) * of_input + constant.
struct GradMap {
  double mean, of_grad, of_input, constant;
};

// Rows that have a weight and a bias for each of their elements. Numbers are of the wide type.
struct LayerNorm {
  int64_t size;
  double eps;
  const char *weight, *bias;  // null: 1 and 0
  char *mean, *rstd;          // one per row; without a mean the rows are divided by their size only
};

struct NormKernels {
  Moments (*row_moments)(const char* x, int64_t n);
  void (*row_map)(char* y, const char* x, int64_t n, NormMap map);
  GradSums (*row_sums)(const char* g, const char* x, int64_t n, double mean);
  void (*row_grad)(char* gx, const char* g, const char* x, int64_t n, GradMap map);

  // One result, or one map, for each of the n_columns; rows follow each other.
  void (*column_moments)(Moments* out, const char* x, int64_t n_rows, int64_t n_columns);
  void (*column_map)(char* y, const char* x, int64_t n_rows, int64_t n_columns,
                     const NormMap* maps);
  void (*column_sums)(GradSums* out, const char* g, const char* x, int64_t n_rows,
                      int64_t n_columns, const double* means);
  void (*column_grad)(char* gx, const char* g, const char* x, int64_t n_rows, int64_t n_columns,
                      const GradMap* maps);

  // Rows [begin, end). The gradients of weight and bias, sums over these rows, are written to
  // `weight_grad` and `bias_grad`; these two and gx may be null.
  void (*layer_norm)(const LayerNorm& norm, char* y, const char* x, int64_t begin, int64_t end);
  void (*layer_norm_backward)(const LayerNorm& norm, char* gx, const char* g, const char* x,
                              char* weight_grad, char* bias_grad, int64_t begin, int64_t end);
};

struct NormTable {
  std::array<NormKernels, kNumDTypes> kernels;  // of the floating dtypes
};

FACULA_KERNEL_TABLE(NormTable, norm_table)

}  // namespace facula::cpu
