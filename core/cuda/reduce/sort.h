// Sorting on a GPU. The order of equal elements is kept; NaN is the largest.
#pragma once
#include <optional>

#include "cuda/kernels/sort.h"
#include "cuda/workspace.h"
#include "tensor/tensor.h"

namespace facula::cuda {

// Of each line of x, which is contiguous and has lines of line_size elements, the first in order,
// as many as the lines of values and places (contiguous) have.
void sort_lines(const Tensor& values, const Tensor& places, const Tensor& x, int64_t line_size,
                bool is_descending);

// A sort by digits in passes over all of the memory.
class DigitSorter {
 public:
  // Lines of elements of a dtype.
  DigitSorter(Device device, DType dtype, int64_t n_lines, int64_t line_size);
  // One line of keys from 0 to below `limit`, which are put where keys() says.
  DigitSorter(Device device, int64_t n, int64_t limit);
  void sort(const Tensor& x, bool is_descending);
  void sort_keys();

  DType key_dtype() const { return key_dtype_; }
  DType order_dtype() const { return order_dtype_; }
  char* keys() const { return a_.keys[0]; }
  // After sort_keys().
  const char* sorted_keys() const { return a_.keys[a_.n_digits % 2]; }
  const char* order() const { return a_.order[a_.n_digits % 2]; }
  // After sort().
  const DigitArguments& sorted() const { return a_; }

 private:
  DigitSorter(Device device, DType key_dtype, int64_t n_lines, int64_t line_size, int n_digits);
  void run(DType dtype);

  Device device_;
  DType key_dtype_, order_dtype_;
  DigitArguments a_{};
  std::optional<Workspace> memory_;
  int64_t n_words_;  // of counts, which are zeros at first
};

}  // namespace facula::cuda
