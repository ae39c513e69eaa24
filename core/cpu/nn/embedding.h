// Sums of rows of a table. Sums are of the wide type: float for rows of 16-bit elements.
#pragma once
#include <array>

#include "base/dtype.h"
#include "cpu/isa.h"

namespace facula::cpu {

struct EmbeddingKernels {
  void (*add_scaled)(char* sum, const char* row, double factor, int64_t n);  // sum += row * factor
  // The same of the rows of a table at `index`, but for those whose bag is negative; without
  // factors they count once.
  void (*add_rows)(char* sum, const char* table, const int64_t* index, const int64_t* bag_of,
                   const double* factors, int64_t n_rows, int64_t n);
  void (*store_scaled)(char* row, const char* sum, double factor, int64_t n);
  double (*dot)(const char* row, const char* other, int64_t n);
};

struct EmbeddingTable {
  std::array<EmbeddingKernels, kNumDTypes> kernels;  // of the floating dtypes
};

FACULA_KERNEL_TABLE(EmbeddingTable, embedding_table)

}  // namespace facula::cpu
