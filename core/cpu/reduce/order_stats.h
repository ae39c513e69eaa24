// Order statistics of one line: places of elements, by value. NaN counts as the largest.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "cpu/isa.h"

namespace facula::cpu {

enum class Pick {
  Kth,
  Median,     // the lower of two; the first NaN where there is one
  NanMedian,  // of the elements that are not NaN
  Mode,       // the smallest of the most frequent values, where it is last
};

struct OrderTable {
  // The place of the element asked for among n > 0 real numbers `step` bytes apart; k counts from
  // 0.
  int64_t (*pick_index)(Pick pick, DType dtype, const char* x, int64_t step, int64_t n, int64_t k);

  // Where n_values numbers of int32, int64, float32 or float64 belong in n others that are in
  // order: before those that are equal, or behind.
  void (*search_sorted)(DType dtype, const char* ordered, int64_t n, const char* values,
                        int64_t n_values, bool is_right, int64_t* places);

  // Adds to counts[b] how many of n elements fall into interval b of `bins` equal ones from low to
  // high, which belongs to the last.
  void (*count_floats)(const float* x, int64_t n, int64_t bins, float low, float high, float width,
                       int64_t* counts);
  void (*count_doubles)(const double* x, int64_t n, int64_t bins, double low, double high,
                        double width, int64_t* counts);
};
FACULA_KERNEL_TABLE(OrderTable, order_table)

}  // namespace facula::cpu
