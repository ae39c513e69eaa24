#include "walk/walk.h"

#include <algorithm>

namespace facula {

namespace {

// How the dimensions of operands lie in memory: dimension numbers from the fastest to the slowest.
// Walks that read transposed inputs then go along memory, and results take the inputs' order.
// `strides[k]` may be null (operand ignored).
void order_dims(int n_dims, const int64_t* sizes, const int64_t* const* strides, int n_operands,
                int* order) {
  for (int i = 0; i < n_dims; ++i) order[i] = n_dims - 1 - i;
  // 1: a is slower than b, so they must be swapped; -1: in order; 0: this operand cannot tell.
  auto compare = [&](int a, int b) {
    for (int k = 0; k < n_operands; ++k) {
      if (!strides[k]) continue;
      int64_t sa = strides[k][a], sb = strides[k][b];
      if (sa == 0 || sb == 0) continue;
      if (sa < sb) return -1;
      if (sa > sb) return 1;
      if (sizes[a] > sizes[b]) return 1;
    }
    return 0;
  };
  for (int i = 1; i < n_dims; ++i) {
    int at = i;
    for (int j = i - 1; j >= 0; --j) {
      int c = compare(order[j], order[at]);
      if (c > 0) {
        std::swap(order[j], order[at]);
        at = j;
      } else if (c < 0) {
        break;
      }
    }
  }
}

void set_broadcast_strides(const Tensor& x, const Dims& shape, int64_t* strides, int64_t unit) {
  size_t n = shape.size(), missing = n - x.dim();
  for (size_t i = 0; i < n; ++i)
    strides[i] = i < missing || (x.sizes()[i - missing] == 1 && shape[i] != 1)
                     ? 0
                     : x.strides()[i - missing] * unit;
}

// Orders the dimensions for memory and merges neighbours that continue each other in every operand.
void merge_dims(Walk& walk, const Dims& shape, const int64_t (*strides)[kMaxDims]) {
  int n = static_cast<int>(shape.size());
  const int64_t* rows[kMaxOperands];
  for (int i = 0; i < walk.n_operands; ++i) rows[i] = strides[i];
  int order[kMaxDims];
  order_dims(n, shape.data(), rows, walk.n_operands, order);
  int m = 0;
  for (int j = 0; j < n; ++j) {
    int d = order[j];
    if (shape[d] == 1) continue;
    bool merge = m > 0;
    for (int i = 0; i < walk.n_operands && merge; ++i)
      merge = strides[i][d] == walk.strides[i][m - 1] * walk.sizes[m - 1];
    if (merge) {
      walk.sizes[m - 1] *= shape[d];
    } else {
      walk.sizes[m] = shape[d];
      for (int i = 0; i < walk.n_operands; ++i) walk.strides[i][m] = strides[i][d];
      ++m;
    }
  }
  if (m == 0) {
    walk.sizes[0] = walk.numel;  // 1, or 0 if a size is 0
    for (int i = 0; i < walk.n_operands; ++i) walk.strides[i][0] = 0;
    m = 1;
  }
  walk.n_dims = m;
}

// Numbers of the CPU that go with tensors of another device.
void mark_host_operands(Walk& walk, const Tensor* const* operands) {
  for (int i = 1; i < walk.n_operands; ++i)
    if (operands[i]->device() != walk.device) walk.strides[i][0] = kHostStride;
}

}  // namespace

Dims broadcast_shapes(const char* op, const Dims& a, const Dims& b) {
  if (a == b) return a;
  const Dims& big = a.size() >= b.size() ? a : b;
  const Dims& small = a.size() >= b.size() ? b : a;
  Dims shape = big;
  size_t missing = big.size() - small.size();
  for (size_t i = 0; i < small.size(); ++i) {
    int64_t& size = shape[i + missing];
    if (size == 1) {
      size = small[i];
    } else {
      check(small[i] == 1 || small[i] == size, op, ": the shapes ", a, " and ", b,
            " cannot be broadcast together: dimension ", i + missing, " has sizes ",
            a.size() >= b.size() ? size : small[i], " and ", a.size() >= b.size() ? small[i] : size,
            ". Sizes must be equal, or one of them 1. (The size of tensor a must match the size of "
            "tensor b at non-singleton dimension ",
            i + missing, ".)");
    }
  }
  return shape;
}

Walk make_walk(const char* op, const Tensor& out, std::initializer_list<TensorRef> inputs) {
  Walk walk;
  walk.n_operands = 1 + static_cast<int>(inputs.size());
  walk.numel = out.numel();
  walk.device = out.device();
  walk.data[0] = out.address();
  walk.item_bytes[0] = out.itemsize();
  const Tensor* operands[kMaxOperands] = {&out};
  bool flat = out.is_contiguous(), has_host_operands = false;
  int k = 1;
  for (const TensorRef& input : inputs) {
    const Tensor& x = *input;
    check(x.device() == out.device() || (x.is_cpu() && x.dim() == 0), op,
          ": expected tensors on one device, got ", x, " and ", out,
          ". Move one with .to(device). (Expected all tensors to be on the same device.)");
    has_host_operands = has_host_operands || x.device() != out.device();
    operands[k] = &x;
    walk.item_bytes[k] = x.itemsize();
    walk.data[k++] = x.address();
    flat = flat && (x.numel() == 1 || (x.is_contiguous() && x.numel() == out.numel()));
  }
  if (flat) {
    walk.n_dims = 1;
    walk.sizes[0] = walk.numel;
    for (int i = 0; i < walk.n_operands; ++i)
      walk.strides[i][0] =
          operands[i]->numel() == 1 && walk.numel != 1 ? 0 : operands[i]->itemsize();
    if (has_host_operands) mark_host_operands(walk, operands);
    return walk;
  }
  int64_t strides[kMaxOperands][kMaxDims];
  for (int i = 0; i < walk.n_operands; ++i)
    set_broadcast_strides(*operands[i], out.sizes(), strides[i], operands[i]->itemsize());
  merge_dims(walk, out.sizes(), strides);
  if (has_host_operands) mark_host_operands(walk, operands);
  return walk;
}

Walk make_walk(const Tensor& out, char* input, const Dims& input_strides) {
  Walk walk;
  walk.n_operands = 2;
  walk.numel = out.numel();
  walk.device = out.device();
  walk.data[0] = out.address();
  walk.data[1] = input;
  walk.item_bytes[0] = walk.item_bytes[1] = out.itemsize();
  int64_t strides[kMaxOperands][kMaxDims];
  for (int64_t i = 0; i < out.dim(); ++i) {
    strides[0][i] = out.stride(i) * out.itemsize();
    strides[1][i] = input_strides[i] * out.itemsize();
  }
  merge_dims(walk, out.sizes(), strides);
  return walk;
}

Tensor empty_for(const Dims& shape, DType dtype, std::initializer_list<TensorRef> inputs) {
  Device device;
  bool all_contiguous = true, all_same = true;
  const Tensor* first = nullptr;
  for (const TensorRef& input : inputs) {
    const Tensor& x = *input;
    if (!x.is_cpu()) device = x.device();
    if (x->is_wrapped_number || (x.dim() == 0 && !shape.empty())) continue;
    if (x.sizes() != shape) {
      all_contiguous = all_same = false;
      continue;
    }
    all_contiguous = all_contiguous && x.is_contiguous();
    if (!first) first = &x;
    all_same = all_same && x.strides() == first->strides();
  }
  if (all_contiguous || shape.size() <= 1) return empty(shape, dtype, device);
  if (all_same && first &&
      (first->numel() == 0 || is_non_overlapping_and_dense(first->sizes(), first->strides())))
    return empty_strided(shape, first->strides(), dtype, device);
  int n = static_cast<int>(shape.size()), k = 0;
  int64_t strides[kMaxOperands][kMaxDims];
  const int64_t* rows[kMaxOperands];
  for (const TensorRef& input : inputs) {
    set_broadcast_strides(*input, shape, strides[k], 1);
    rows[k] = strides[k];
    ++k;
  }
  int order[kMaxDims];
  order_dims(n, shape.data(), rows, k, order);
  Dims out(n);
  int64_t step = 1;
  for (int j = 0; j < n; ++j) {
    out[order[j]] = step;
    step *= shape[order[j]];
  }
  // Strides of dimensions of size 0 and 1 are those of a dense tensor, too.
  if (checked_numel(shape) == 0) out = contiguous_strides(shape);
  return empty_strided(shape, out, dtype, device);
}

DType result_type(std::initializer_list<TensorRef> inputs) {
  // In the order of priority: tensors with dimensions, 0-d tensors, Python numbers.
  int found[3] = {-1, -1, -1};
  for (const TensorRef& input : inputs) {
    const Tensor& x = *input;
    DType dtype = x.dtype();
    int rank = x.dim() > 0 ? 0 : 1;
    if (x->is_wrapped_number) {
      rank = 2;
      if (is_complex(dtype)) dtype = to_complex_dtype(get_default_dtype());
      if (is_floating(dtype)) dtype = get_default_dtype();
    }
    found[rank] = found[rank] < 0
                      ? static_cast<int>(dtype)
                      : static_cast<int>(promote_types(static_cast<DType>(found[rank]), dtype));
  }
  auto category = [](DType t) {
    return is_complex_kind(t) ? 3 : is_floating_kind(t) ? 2 : t == DType::Bool ? 0 : 1;
  };
  // A lower rank changes the result only by a higher category.
  auto combine = [&](int higher, int lower) {
    if (higher < 0) return lower;
    if (lower < 0) return higher;
    DType h = static_cast<DType>(higher), l = static_cast<DType>(lower);
    if (category(l) <= category(h)) return higher;
    if (is_complex_kind(l) && is_wide_unsigned(h)) return lower;
    // Not complex32, which is not computed with.
    if (is_complex(l) && is_floating(h))
      return static_cast<int>(h == DType::Float64 ? DType::Complex128 : DType::Complex64);
    return static_cast<int>(promote_types(h, l));
  };
  return static_cast<DType>(combine(combine(found[0], found[1]), found[2]));
}

void check_no_partial_overlap(const char* op, const Tensor& out, const Tensor& input) {
  if (out.storage() != input.storage() || out.numel() == 0 || input.numel() == 0) return;
  if (out.offset() == input.offset() && out.itemsize() == input.itemsize() &&
      out.sizes() == input.sizes() && out.strides() == input.strides())
    return;
  auto extent = [](const Tensor& x) {
    int64_t last = 0;
    for (int64_t i = 0; i < x.dim(); ++i) last += (x.size(i) - 1) * x.stride(i);
    return (last + 1) * x.itemsize();
  };
  bool apart = out.address() >= input.address() + extent(input) ||
               input.address() >= out.address() + extent(out);
  bool dense = is_non_overlapping_and_dense(out.sizes(), out.strides()) &&
               is_non_overlapping_and_dense(input.sizes(), input.strides());
  check(apart || !dense, op,
        ": the input and the tensor written to share some of their elements. Pass the clone() of "
        "one.");
}

void check_cpu(const char* op, const Tensor& x) {
  check_not_implemented(x.is_cpu() || x.is_meta(), op, ": not available on ", x.device(),
                        " yet, got ", x, ". Move it with .cpu() first.");
}

void check_same_device(const char* op, std::initializer_list<TensorRef> inputs) {
  const Tensor* first = nullptr;
  for (const TensorRef& input : inputs) {
    if (!input->defined()) continue;
    if (!first) first = input.tensor;
    check(input->device() == first->device(), op, ": expected tensors on one device, got ", *first,
          " and ", *input,
          ". Move one with .to(device). (Expected all tensors to be on the same device.)");
  }
}

}  // namespace facula
