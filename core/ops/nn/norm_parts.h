// What the files of the norm family share: checks, numbers per channel, and the norms by tensor
// operations, for what is differentiated again and for devices without kernels.
#pragma once
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "autograd/node.h"
#include "cpu/nn/norm.h"
#include "cuda/nn/nn.h"
#include "ops/ops.h"
#include "ops/result_binding.h"

namespace facula::norm {

// The result, the means, and 1 / standard deviation. The statistics have no derivative.
using NormResult = std::tuple<Tensor, Tensor, Tensor>;

constexpr int64_t kGrain = 32768;  // elements of a task

// How many rows of so many elements a task gets.
inline int64_t rows_of_task(int64_t n_elements) {
  return std::max<int64_t>(1, kGrain / n_elements);
}

inline const cpu::NormKernels& kernels_of(const Tensor& x) {
  check_computed(x.dtype());
  return cpu::get_norm_table().kernels[static_cast<int>(x.dtype())];
}

void check_floating(const char* op, const Tensor& x);
// Parameters are of the input's dtype, or all float32 for one of 16 bits: their dtype.
DType check_parameters(const char* op, const Tensor& x,
                       std::initializer_list<std::pair<const char*, TensorRef>> parameters);
void check_per_channel(const char* op, const char* name, const Tensor& parameter, const Tensor& x,
                       int64_t n_channels);

using Doubles = std::vector<double>;

// f(i, number) for the numbers of a vector, in place.
template <class F>
void visit_numbers(const Tensor& x, const F& f) {
  visit_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_floating_v<T>)
      for (int64_t i = 0; i < x.numel(); ++i) f(i, x.data_as<T>()[i * x.stride(0)]);
  });
}
Doubles doubles_of(const Tensor& x);
Doubles doubles_of(const Tensor& x, int64_t n, double otherwise);  // n times that if undefined
Tensor tensor_of(const Doubles& values, const Dims& sizes, DType dtype = DType::Float64);

// How an input is seen: dimensions that share statistics, those that share a weight, and the
// weight's shape there.
struct View {
  Dims sizes;
  Dims over, shared;
  Dims weight_sizes;
};

struct Statistics {
  Tensor mean, rstd;  // an undefined mean is 0
};
Statistics statistics_of(const Tensor& x, const Dims& over, double eps, bool is_centered);

Tensor composed_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const View& view,
                     const Statistics& s);
// The gradients of input, weight and bias. Statistics that do not come from x are constants.
TensorList composed_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                             const Tensor& bias, const View& view, const Statistics& s,
                             bool is_from_input, Needs need);
// A parameter in the type that kernels compute in; undefined if it is.
Tensor wide_parameter(const Tensor& parameter, DType wide);
// As the kernels of a GPU read it: a floating dtype is left as it is.
Tensor dense_parameter(const Tensor& parameter, DType wide);
// The gradients of input, weight and bias of rows on a GPU. weight and bias are the originals.
TensorList row_norm_gradients(const cuda::RowNorm& norm, const Tensor& g, const Tensor& weight,
                              const Tensor& bias, Needs need);
// Whether the derivative is itself to be differentiated.
bool wants_history(const Tensor& g, const Tensor& x, const Tensor& weight);

}  // namespace facula::norm
