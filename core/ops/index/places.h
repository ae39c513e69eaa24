// Reading and writing at indices: what all operations that index by tensors are made of.
//
// Everything is one of two walks: read x at places, or write x at places. An operation only works
// out where the places apply: the indexed dimensions of x get stride 0, and the index carries what
// they would have added. An index is checked as it is used: what is written is a fresh tensor, or
// the index was checked() before.
#pragma once
#include "cpu/index/index.h"
#include "ops/shape/copy.h"

namespace facula {

using cpu::WriteMode;

// An index along a dimension with this size and stride, in elements. PyTorch raises an IndexError
// for some operations and a RuntimeError for others.
struct Places {
  Tensor index;
  int64_t size, stride;
  bool negative_allowed = false;
  ErrorKind kind = ErrorKind::Index;
  bool is_distinct = false;  // no two are the same
};

// index * stride, as int64 of the shape of `index`; every value is checked against the size.
Tensor offsets_of(const char* op, const Places& places);

// For every element of x that is not zero, in order, a column of the result: one number for each of
// `weights`, the sum of its coordinates times these.
Tensor weighted_positions(const Tensor& x, const std::vector<Dims>& weights);

// The same places, all of them checked: for writes to what was there before.
Places checked(const char* op, Places places);

// x as seen by a walk of the given shape: no check of bounds, because the offsets decide where it
// goes.
Tensor restrided(const Tensor& x, const Dims& sizes, const Dims& strides);

// The index expands to the shape of the walk.
void read_at(const char* op, const Tensor& out, const Tensor& x, Places places);
// The writes keep their order. With `is_apart`, elements of the tensor that was indexed never share
// memory, and threads may divide it among them.
void write_at(const char* op, const Tensor& target, const Tensor& values, Places places,
              WriteMode mode, bool is_apart = true);

// Whether sums are made in a copy of x in float32: of half precision they would stop growing at 256
// or 2048. A few additions are not worth the copy.
inline bool adds_in_float(const Tensor& x, int64_t n_additions) {
  return is_reduced_float(x.dtype()) && n_additions > 16;
}

// A 0-d tensor is indexed as if it had one dimension of size 1.
inline Tensor at_least_1d(const Tensor& x) { return x.dim() == 0 ? restrided(x, {1}, {1}) : x; }

inline Dims with_stride_zero(Dims strides, int64_t dim) {
  strides[dim] = 0;
  return strides;
}

// A copy to write to, without history.
Tensor copy_of(const Tensor& x, MemoryFormat format);

// Raises unless the slices of `source` along dim fit into x, one for each element of a 1-d index.
void check_source(const char* op, const Tensor& x, int64_t dim, const Tensor& index,
                  const Tensor& source, ErrorKind wrong_number = ErrorKind::Runtime);

}  // namespace facula
