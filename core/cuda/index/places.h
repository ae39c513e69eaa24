// Reading and writing at indices on a GPU, and positions of elements. Indices are int64. One that
// is out of bounds is left out, and raised when the device is next waited for.
#pragma once
#include "base/scalar.h"
#include "cuda/kernels/index.h"
#include "tensor/tensor.h"

namespace facula::cuda {

struct PlaceBounds {
  const char* op;
  ErrorKind kind;
  int64_t size;
  bool negative_allowed;
};

// offsets[i] = index[i] * stride, both contiguous.
void find_offsets(const Tensor& offsets, const Tensor& index, const PlaceBounds& bounds,
                  int64_t stride);
// y = x at places, and y at places = x: the index expands to the shape of y; the stride is that of
// the indexed dimension, in elements.
void read_at(const Tensor& y, const Tensor& x, const Tensor& index, const PlaceBounds& bounds,
             int64_t stride);
// Elements with the same place are joined in their order. Where all places are known to differ, or
// the elements of y to share no memory, there is less to do.
void write_at(const Tensor& y, const Tensor& x, const Tensor& index, const PlaceBounds& bounds,
              int64_t stride, IndexWrite mode, bool is_distinct, bool is_apart);

// Where a contiguous tensor of bool is true, as numbers of elements.
Tensor find_nonzero(const Tensor& mask);
// sums[i]: the coordinates of element places[i] of a contiguous tensor of these sizes, times the
// weights, added up.
void sum_positions(int64_t* sums, const Tensor& places, const Dims& sizes, const Dims& weights);

// As cpu::count_bins and cpu::search_sorted, of contiguous tensors.
void count_bins(const Tensor& x, double low, double high, const Tensor& counts);
// How often each number from 0 on, of int64, occurs; all are below counts.numel().
void count_numbers(const Tensor& x, const Tensor& counts);
void search_sorted(const Tensor& places, const Tensor& ordered, const Tensor& values,
                   int64_t line_size, int64_t width, bool is_right);

// y[i] = start + i * step, of a contiguous vector of a real dtype but bool.
void make_range(const Tensor& y, Scalar start, Scalar step);
// As math::EvenlySpaced, of a contiguous vector of any dtype but bool; one of meta stays as it is.
void make_evenly_spaced(const Tensor& y, int64_t n_from_first, Complex128 first, Complex128 last,
                        Complex128 step);

// Zeros above a diagonal of the matrices of contiguous y, or below it.
void clear_triangle(const Tensor& y, int64_t diagonal, bool keeps_lower);

// The rows of the elements of a triangle, then their columns, in a contiguous matrix of integers.
void list_triangle(const Tensor& y, const math::Triangle& triangle);

}  // namespace facula::cuda
