// How a tensor is reduced: which dimensions, the shape that is left, and what is asked of the
// kernels.
#pragma once
#include "tensor/tensor.h"
#include "walk/kinds.h"

namespace facula {

// The kernels, which are the rows of tables/reduce.def.
enum class ReduceOp : int {
#define FOLD(name, ...) name,
#define KERNEL(name, ...) name,
#include "tables/reduce.def"
  count
};

// What a reduction gives.
enum class ReduceResult {
  Total,    // of integers and bool int64; dtype= says otherwise
  Element,  // one of the elements, in their dtype; of none there is no result
  Truth,    // bool; uint8 of uint8
};

// Whether kernels of an operation with these results, for these kinds, read elements of type T.
// Others are converted on the way: see wide_dtype(). A result that is one of the elements is no
// larger than they are: there no integer has to be widened.
template <class T>
constexpr bool is_read_as(ReduceResult result, Kinds kinds) {
  if (result == ReduceResult::Truth) return std::is_same_v<T, bool>;
  // dtype= may make complex numbers of real ones.
  if (result == ReduceResult::Total && kinds == Kinds::ALL) kinds = Kinds::ALLC;
  if (std::is_same_v<T, bool> || is_reduced_float_v<T> || !in_kinds<T>(kinds)) return false;
  return !std::is_integral_v<T> || sizeof(T) == 8 || result == ReduceResult::Element;
}

// Whether elements have to come in the order of the dimensions, because they are counted.
constexpr bool keeps_order(ReduceOp op) {
  constexpr bool counts[] = {
#define FOLD(...) false,
#define KERNEL(name, Class, kinds, counts_elements) counts_elements,
#include "tables/reduce.def"
  };
  return counts[static_cast<int>(op)];
}

struct ReduceParams {
  double p = 2;             // the order of a norm
  double divisor = 1;       // of a mean or variance
  bool takes_root = false;  // of the variance
};

// Dimensions as bits. No dimensions named means all of them; naming one twice is an error.
using DimMask = uint64_t;
DimMask dim_mask(const char* op, const Dims& dims, int64_t n_dims);
inline bool is_in(DimMask mask, int64_t dim) { return (mask >> dim) & 1; }

Dims reduced_shape(const Tensor& x, DimMask mask, bool keepdim);
int64_t reduced_numel(const Tensor& x, DimMask mask);

// The dtype in which kernels read x: float32 for the 16-bit floats, int64 for integers and bool.
DType wide_dtype(DType dtype);

}  // namespace facula
