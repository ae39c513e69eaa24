// Everything here is one of two walks: read x at offsets, or write x at offsets. An operation only
// works out where the offsets apply: the indexed dimensions of x get stride 0, and the offsets
// carry what they would have added.
#include "ops/index.h"

#include <cstring>

#include <cmath>

#include "autograd/node.h"
#include "cpu/index.h"
#include "ops/inplace.h"
#include "ops/ops.h"

namespace facula {

using cpu::WriteMode;

namespace {

void check_index_dtype(const char* op, const Tensor& index) {
  check(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, op,
        ": expected an index of dtype int64 or int32, got ", index, ".");
}

// index * step in bytes, as int64 of the shape of `index`; every value is checked against the size.
// PyTorch raises an IndexError for some operations and a RuntimeError for others.
Tensor byte_offsets(const char* op, const Tensor& index, int64_t size, int64_t step,
                    bool negative_allowed, ErrorKind kind = ErrorKind::Index) {
  Tensor offsets = empty(index.sizes(), DType::Int64);
  copy_into(offsets, index);
  int64_t* at = offsets.data_as<int64_t>();
  int64_t low = negative_allowed ? -size : 0;
  for (int64_t i = 0; i < offsets.numel(); ++i) {
    int64_t value = at[i];
    if (value < low || value >= size)
      fail(kind, op, ": index ", value, " (at position ", i,
           ") is out of bounds for dimension with size ", size, ".");
    at[i] = (value < 0 ? value + size : value) * step;
  }
  return offsets;
}

// x as seen by a walk of the given shape: no check of bounds, because the offsets decide where it
// goes.
Tensor restrided(const Tensor& x, const Dims& sizes, const Dims& strides) {
  Tensor y = alias(x);
  set_geometry(y, sizes, strides, x.offset());
  return y;
}

void read_at(const char* op, const Tensor& out, const Tensor& x, const Tensor& offsets) {
  run_cpu(make_walk(op, out, {x, offsets}), cpu::read_at_loop(out.dtype()));
}

void write_at(const char* op, const Tensor& target, const Tensor& values, const Tensor& offsets,
              WriteMode mode) {
  check_not_implemented(
      !is_complex(target.dtype()) || (mode != WriteMode::AMin && mode != WriteMode::AMax), op,
      ": not defined for ", target, ".");
  run_cpu_in_order(make_walk(op, target, {values, offsets}),
                   cpu::write_at_loop(target.dtype(), mode));
}

// A 0-d tensor is indexed as if it had one dimension of size 1.
Tensor at_least_1d(const Tensor& x) { return x.dim() == 0 ? restrided(x, {1}, {1}) : x; }

Dims with_stride_zero(Dims strides, int64_t dim) {
  strides[dim] = 0;
  return strides;
}

// ---- advanced indexing

struct IndexPlan {
  Tensor x;        // restrided to the result's shape
  Tensor offsets;  // expands to it
  Dims shape;
};

// Masks become one index tensor per dimension.
TensorList expand_masks(const Tensor& x, const TensorList& indices) {
  TensorList out;
  for (const Tensor& index : indices) {
    if (!index.defined() || (index.dtype() != DType::Bool && index.dtype() != DType::UInt8)) {
      if (index.defined())
        check_index(index.dtype() == DType::Int64 || index.dtype() == DType::Int32 ||
                        index.dtype() == DType::Int16 || index.dtype() == DType::Int8,
                    "index: tensors used as indices must be long, int, byte or bool tensors, got ",
                    index, ".");
      out.push_back(index);
      continue;
    }
    for (int64_t d = 0; d < index.dim(); ++d) {
      int64_t at = static_cast<int64_t>(out.size()) + d;
      check_index(at < x.dim() && index.size(d) == x.size(at), "index: The shape of the mask ",
                  index.sizes(), " at index ", d,
                  " does not match the shape of the indexed tensor ", x.sizes(), " at index ", at,
                  ".");
    }
    Tensor positions = nonzero(index);
    for (int64_t d = 0; d < index.dim(); ++d) out.push_back(select(positions, 1, d));
  }
  check_index(static_cast<int64_t>(out.size()) <= x.dim(),
              "index: too many indices for tensor of dimension ", x.dim(), ".");
  out.resize(x.dim());
  return out;
}

// Index dimensions that stand apart move to the front, as in NumPy.
bool are_adjacent(const TensorList& indices) {
  int changes = 0;
  for (size_t i = 1; i < indices.size(); ++i)
    changes += indices[i].defined() != indices[i - 1].defined();
  bool starts = !indices.empty() && indices[0].defined();
  return changes <= (starts ? 1 : 2);
}

IndexPlan plan_index(const char* op, Tensor x, const TensorList& given) {
  NoGradGuard guard;
  check_cpu(op, x);
  TensorList indices = expand_masks(x, given);
  if (!are_adjacent(indices)) {
    Dims order;
    TensorList sorted;
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t d = 0; d < x.dim(); ++d) {
        if (indices[d].defined() != (pass == 0)) continue;
        order.push_back(d);
        sorted.push_back(indices[d]);
      }
    }
    x = permute(x, order);
    indices = sorted;
  }
  Dims index_shape;
  bool any = false;
  for (const Tensor& index : indices) {
    if (!index.defined()) continue;
    check(index.is_cpu(), op, ": indices should be on the same device as the indexed tensor (",
          x.device(), ").");
    if (any && !is_expandable_to(index.sizes(), index_shape) &&
        !is_expandable_to(index_shape, index.sizes())) {
      Dims a = index_shape, b = index.sizes();
      bool fits = true;
      for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        int64_t s = a[a.size() - 1 - i], t = b[b.size() - 1 - i];
        fits &= s == t || s == 1 || t == 1;
      }
      check_index(fits, op,
                  ": shape mismatch: indexing tensors could not be broadcast together with shapes ",
                  a, ", ", b, ".");
    }
    index_shape = any ? broadcast_shapes(op, index_shape, index.sizes()) : index.sizes();
    any = true;
  }
  Tensor offsets;
  Dims shape, strides, offset_shape;
  bool placed = false;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (!indices[d].defined()) {
      shape.push_back(x.size(d));
      strides.push_back(x.stride(d));
      offset_shape.push_back(1);
      continue;
    }
    Tensor step = byte_offsets("index", indices[d], x.size(d), x.stride(d) * x.itemsize(), true);
    offsets = offsets.defined() ? offsets + step : step;
    if (placed) continue;
    placed = true;
    for (int64_t size : index_shape) {
      shape.push_back(size);
      strides.push_back(0);
      offset_shape.push_back(size);
    }
  }
  if (offsets.defined()) {
    offsets = reshape(contiguous(expand(offsets, index_shape)), offset_shape);
  } else {
    offsets = zeros({}, DType::Int64);
  }
  return {restrided(x, shape, strides), offsets, shape};
}

}  // namespace

Tensor index(const Tensor& x, const TensorList& indices) {
  IndexPlan plan = plan_index("index", x, indices);
  Tensor y = empty_for(plan.shape, x.dtype(), {plan.x, plan.offsets});
  read_at("index", y, plan.x, plan.offsets);
  return record("IndexBackward0", y, {x},
                [indices = save(indices), sizes = x.sizes()](const Tensor& g) {
                  return index_put(zeros(sizes, g.dtype(), g.device()), indices.unpack(), g, true);
                });
}

namespace {

void check_put(const Tensor& x, const Tensor& values) {
  check(x.dtype() == values.dtype(),
        "index_put: Index put requires the source and destination dtypes match, got ", x.dtype(),
        " for the destination and ", values.dtype(), " for the source.");
}

void put_at(const Tensor& x, const TensorList& indices, const Tensor& values, bool accumulate) {
  NoGradGuard guard;
  IndexPlan plan = plan_index("index_put_", x, indices);
  check(is_expandable_to(values.sizes(), plan.shape),
        "index_put_: shape mismatch: value tensor of shape ", values.sizes(),
        " cannot be broadcast to indexing result of shape ", plan.shape, ".");
  write_at("index_put_", plan.x, expand(values, plan.shape), plan.offsets,
           accumulate ? WriteMode::Add : WriteMode::Set);
}

}  // namespace

Tensor index_put(const Tensor& x, const TensorList& indices, const Tensor& values,
                 bool accumulate) {
  check_put(x, values);
  Tensor y = empty_like(x);
  copy_into(y, x);
  put_at(y, indices, values, accumulate);
  return record("IndexPutBackward0", y, {x, values},
                [indices = save(indices), sizes = values.sizes(), accumulate](
                    const Tensor& g, Needs need) -> TensorList {
                  TensorList at = indices.unpack();
                  Tensor to_x, to_values;
                  if (need[0])
                    to_x = accumulate ? g : index_put(g, at, zeros({}, g.dtype(), g.device()));
                  if (need[1]) to_values = sum_to_size(index(g, at), sizes);
                  return {to_x, to_values};
                });
}

Tensor& index_put_(Tensor& x, const TensorList& indices, const Tensor& values, bool accumulate) {
  if (!is_grad_enabled() || !(x.requires_grad() || values.requires_grad())) {
    // PyTorch lets this one write to expanded tensors.
    check(
        !x->is_inference || is_inference_mode_enabled(),
        "index_put_: inplace update to an inference tensor outside inference mode is not allowed.");
    check_put(x, values);
    put_at(x, indices, x.storage() == values.storage() ? clone(values) : values, accumulate);
    bump_version(x);
    return x;
  }
  return in_place("index_put_", x,
                  [&](const Tensor& t) { return index_put(t, indices, values, accumulate); });
}

// ---- by one dimension

namespace {

// Offsets of a 1-d index along `dim`, shaped to broadcast over the other dimensions.
Tensor dim_offsets(const char* op, const Tensor& x, int64_t dim, const Tensor& index) {
  check_index_dtype(op, index);
  check_index(index.dim() <= 1, op, ": index should have dimension 1 or 0, got ", index, ".");
  bool adds = std::strncmp(op, "index_add", 9) == 0;
  Tensor offsets = byte_offsets(op, index, x.size(dim), x.stride(dim) * x.itemsize(), false,
                                adds ? ErrorKind::Runtime : ErrorKind::Index);
  Dims shape(x.dim(), 1);
  shape[dim] = index.numel();
  return reshape(offsets, shape);
}

void check_source(const char* op, const Tensor& x, int64_t dim, const Tensor& index,
                  const Tensor& source) {
  check(x.dtype() == source.dtype(), op, ": expected self and source of the same dtype, got ", x,
        " and ", source, ".");
  check(source.dim() == x.dim() || (x.dim() <= 1 && source.dim() <= 1), op,
        ": expected a source with ", x.dim(), " dimensions, got ", source, ".");
  if (source.dim() == 0) {
    check_index(index.numel() == 1, op, ": expected one index for a 0-d source, got ", index, ".");
    return;
  }
  check_index(source.size(dim) == index.numel(), op, ": Number of indices (", index.numel(),
              ") should be equal to source.size(dim) (", source.size(dim), ").");
  for (int64_t d = 0; d < std::min(x.dim(), source.dim()); ++d)
    check(d == dim || x.size(d) == source.size(d), op, ": source ", source.sizes(),
          " does not match self ", x.sizes(), " at dimension ", d, ".");
}

// y, a fresh copy, written along dim: y[index[i]] op= source[i].
void write_dim(const char* op, const Tensor& y, int64_t dim, const Tensor& index,
               const Tensor& source, WriteMode mode) {
  NoGradGuard guard;
  check_cpu(op, y);
  Tensor target = at_least_1d(y);
  Tensor offsets = dim_offsets(op, target, dim, index);
  Dims shape = target.sizes();
  shape[dim] = index.numel();
  write_at(op, restrided(target, shape, with_stride_zero(target.strides(), dim)),
           expand(source.dim() == 0 && shape.size() == 1 ? reshape(source, {1}) : source, shape),
           offsets, mode);
}

Tensor copy_of(const Tensor& x) {
  Tensor y = empty_like(x);
  copy_into(y, x);
  return y;
}

}  // namespace

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  dim = wrap_dim("index_select", dim, x.dim());
  check(x.dim() > 0 || index.numel() == 1,
        "index_select: Index to scalar can have only 1 value, got ", index.numel(), " value(s).");
  check_cpu("index_select", x);
  Tensor in = at_least_1d(x);
  Tensor offsets = dim_offsets("index_select", in, dim, index);
  Dims shape = in.sizes();
  shape[dim] = index.numel();
  Tensor y = empty(shape, x.dtype(), x.device());
  read_at("index_select", y, restrided(in, shape, with_stride_zero(in.strides(), dim)), offsets);
  if (x.dim() == 0) set_geometry(y, {}, {}, 0);
  return record("IndexSelectBackward0", y, {x},
                [sizes = x.sizes(), dim, index = save(index)](const Tensor& g) {
                  return index_add(zeros(sizes, g.dtype(), g.device()), dim, index, g);
                });
}

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                 Scalar alpha) {
  dim = wrap_dim("index_add", dim, x.dim());
  check_source("index_add", x, dim, index, source);
  Tensor y = copy_of(x);
  {
    NoGradGuard guard;
    bool is_scaled = alpha.is_complex() || alpha.to_double() != 1.0;
    write_dim("index_add", y, dim, index, is_scaled ? to_dtype(source * alpha, x.dtype()) : source,
              WriteMode::Add);
  }
  return record(
      "IndexAddBackward0", y, {x, source},
      [dim, index = save(index), sizes = source.sizes(), alpha](const Tensor& g,
                                                                Needs need) -> TensorList {
        return {g, need[1] ? reshape(index_select(g, dim, index) * alpha, sizes) : Tensor()};
      });
}

Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  dim = wrap_dim("index_copy", dim, x.dim());
  check_source("index_copy", x, dim, index, source);
  Tensor y = copy_of(x);
  write_dim("index_copy", y, dim, index, source, WriteMode::Set);
  return record("IndexCopyBackward0", y, {x, source},
                [dim, index = save(index), sizes = source.sizes()](const Tensor& g,
                                                                   Needs need) -> TensorList {
                  Tensor at = index;
                  return {need[0] ? index_fill(g, dim, at, wrapped_number(0)) : Tensor(),
                          need[1] ? reshape(index_select(g, dim, at), sizes) : Tensor()};
                });
}

namespace {

// The gradient of a value that was written to all the places `index`.
Tensor filled_gradient(const Tensor& g, int64_t dim, const Tensor& index) {
  return index.numel() == 0 ? zeros({}, g.dtype(), g.device()) : sum(index_select(g, dim, index));
}

}  // namespace

Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value) {
  dim = wrap_dim("index_fill", dim, x.dim());
  check(value.dim() == 0,
        "index_fill_: index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
        value.dim(), " dimension(s).");
  check(is_complex(x.dtype()) || !is_complex(value.dtype()),
        "index_fill_: a complex value cannot fill ", x, ".");
  Tensor y = copy_of(x);
  {
    NoGradGuard guard;
    write_dim("index_fill_", y, dim, index, to_dtype(value, x.dtype()), WriteMode::Set);
  }
  return record("IndexFillBackward0", y, {x, value},
                [dim, index = save(index)](const Tensor& g, Needs need) -> TensorList {
                  Tensor at = index;
                  return {need[0] ? index_fill(g, dim, at, wrapped_number(0)) : Tensor(),
                          need[1] ? filled_gradient(g, dim, at) : Tensor()};
                });
}

// ---- by an index of the result's shape

namespace {

void check_index_shape(const char* op, const Tensor& x, int64_t dim, const Tensor& index,
                       const char* what) {
  check(index.dim() == x.dim() || (x.dim() <= 1 && index.dim() <= 1), op,
        ": Index tensor must have the same number of dimensions as ", what, " tensor, got ", index,
        " and ", x, ".");
  for (int64_t d = 0; d < std::min(index.dim(), x.dim()); ++d)
    check(d == dim || index.size(d) <= x.size(d), op, ": Expected index ", index.sizes(),
          " to be no larger than ", what, " ", x.sizes(), " apart from dimension ", dim, ".");
}

struct ScatterPlan {
  Tensor target, values, offsets;
};

ScatterPlan plan_scatter(const char* op, const Tensor& y, int64_t dim, const Tensor& index,
                         const Tensor& src) {
  check_cpu(op, y);
  Tensor target = at_least_1d(y), at = at_least_1d(index);
  Tensor offsets = byte_offsets(op, at, target.size(dim), target.stride(dim) * target.itemsize(),
                                false, ErrorKind::Runtime);
  Tensor values = src->is_wrapped_number || src.dim() == 0
                      ? expand(src, at.sizes())
                      : restrided(at_least_1d(src), at.sizes(), at_least_1d(src).strides());
  return {restrided(target, at.sizes(), with_stride_zero(target.strides(), dim)), values, offsets};
}

void check_scatter(const char* op, const Tensor& x, int64_t dim, const Tensor& index,
                   const Tensor& src) {
  check(index.dtype() == DType::Int64 || index.numel() == 0, op,
        ": Expected dtype int64 for index, got ", index, ".");
  if (index.numel() == 0) return;
  check_index_shape(op, x, dim, index, "self");
  if (src->is_wrapped_number) return;
  check(src.dtype() == x.dtype(), op, ": Expected self.dtype to be equal to src.dtype, got ", x,
        " and ", src, ".");
  check(src.dim() == index.dim() || (src.dim() <= 1 && index.dim() <= 1), op,
        ": Index tensor must have the same number of dimensions as src tensor, got ", index,
        " and ", src, ".");
  for (int64_t d = 0; d < std::min(index.dim(), src.dim()); ++d)
    check(index.size(d) <= src.size(d), op, ": Expected index ", index.sizes(),
          " to be no larger than src ", src.sizes(), ".");
}

void scatter_into(const char* op, const Tensor& y, int64_t dim, const Tensor& index,
                  const Tensor& src, WriteMode mode) {
  NoGradGuard guard;
  if (index.numel() == 0) return;
  ScatterPlan plan = plan_scatter(op, y, dim, index, to_dtype(src, y.dtype()));
  write_at(op, plan.target, plan.values, plan.offsets, mode);
}

// The gradient of src: it may be larger than the index.
Tensor gather_to(const Tensor& g, int64_t dim, const Tensor& index, const Dims& sizes) {
  Tensor part = gather(g, dim, index);
  if (part.sizes() == sizes) return part;
  Tensor whole = zeros(sizes, g.dtype(), g.device());
  Tensor corner = whole;
  for (int64_t d = 0; d < part.dim(); ++d) corner = narrow(corner, d, 0, part.size(d));
  copy_(corner, part);
  return whole;
}

}  // namespace

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  dim = wrap_dim("gather", dim, x.dim());
  check(index.dtype() == DType::Int64 || index.dtype() == DType::Int32,
        "gather: Expected dtype int64 for index, got ", index, ".");
  check_cpu("gather", x);
  if (index.numel() != 0) check_index_shape("gather", x, dim, index, "input");
  Tensor y = empty(index.sizes(), x.dtype(), x.device());
  if (index.numel() != 0) {
    Tensor in = at_least_1d(x), at = at_least_1d(index), out = at_least_1d(y);
    Tensor offsets = byte_offsets("gather", at, in.size(dim), in.stride(dim) * in.itemsize(), false,
                                  ErrorKind::Runtime);
    read_at("gather", out, restrided(in, at.sizes(), with_stride_zero(in.strides(), dim)), offsets);
  }
  return record(
      "GatherBackward0", y, {x}, [sizes = x.sizes(), dim, index = save(index)](const Tensor& g) {
        Tensor at = index;
        return scatter_add(zeros(sizes, g.dtype(), g.device()), dim, to_dtype(at, DType::Int64), g);
      });
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  dim = wrap_dim("scatter", dim, x.dim());
  check_scatter("scatter", x, dim, index, src);
  Tensor y = copy_of(x);
  scatter_into("scatter", y, dim, index, src, WriteMode::Set);
  bool is_number = src->is_wrapped_number;
  return record(
      is_number ? "ScatterBackward1" : "ScatterBackward0", y, {x, src},
      [dim, index = save(index), sizes = src.sizes()](const Tensor& g, Needs need) -> TensorList {
        Tensor at = index;
        return {need[0] ? scatter(g, dim, at, wrapped_number(0)) : Tensor(),
                need[1] ? gather_to(g, dim, at, sizes) : Tensor()};
      });
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  dim = wrap_dim("scatter_add", dim, x.dim());
  check_scatter("scatter_add", x, dim, index, src);
  Tensor y = copy_of(x);
  scatter_into("scatter_add", y, dim, index, src, WriteMode::Add);
  return record(
      "ScatterAddBackward0", y, {x, src},
      [dim, index = save(index), sizes = src.sizes()](const Tensor& g, Needs need) -> TensorList {
        return {g, need[1] ? gather_to(g, dim, index, sizes) : Tensor()};
      });
}

namespace {

// How many values each element of the result was made of, itself included where it counts.
Tensor scatter_counts(const Tensor& like, int64_t dim, const Tensor& index, const Dims& src_sizes,
                      bool include_self) {
  Tensor ones = full(src_sizes, 1, like.dtype(), like.device());
  Tensor count = scatter_add(full(like.sizes(), include_self ? 1 : 0, like.dtype(), like.device()),
                             dim, index, ones);
  return maximum(count, full({}, 1, like.dtype(), like.device()));
}

// What an element starts from where it does not count itself.
Scalar identity_of(const std::string& reduce, DType dtype) {
  if (reduce == "sum" || reduce == "mean") return 0;
  if (reduce == "prod") return 1;
  bool smallest = reduce == "amax";
  if (is_floating(dtype)) return smallest ? -INFINITY : INFINITY;
  switch (dtype) {
    case DType::Bool:
      return !smallest;
    case DType::UInt8:
      return smallest ? 0 : 255;
    case DType::Int8:
      return smallest ? INT8_MIN : INT8_MAX;
    case DType::Int16:
      return smallest ? INT16_MIN : INT16_MAX;
    case DType::Int32:
      return smallest ? INT32_MIN : INT32_MAX;
    default:
      return smallest ? INT64_MIN : INT64_MAX;
  }
}

WriteMode mode_of(const std::string& reduce) {
  if (reduce == "sum" || reduce == "mean" || reduce == "add") return WriteMode::Add;
  if (reduce == "prod" || reduce == "multiply") return WriteMode::Prod;
  check(reduce == "amax" || reduce == "amin",
        "scatter_reduce: reduce argument must be one of sum, prod, mean, amax, amin, got ", reduce,
        ".");
  return reduce == "amax" ? WriteMode::AMax : WriteMode::AMin;
}

}  // namespace

Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                      const std::string& reduce, bool include_self) {
  dim = wrap_dim("scatter_reduce", dim, x.dim());
  WriteMode mode = mode_of(reduce);
  check_scatter("scatter_reduce", x, dim, index, src);
  Tensor y = copy_of(x);
  {
    NoGradGuard guard;
    if (!include_self)
      scatter_into("scatter_reduce", y, dim, index, wrapped_number(identity_of(reduce, x.dtype())),
                   WriteMode::Set);
    scatter_into("scatter_reduce", y, dim, index, src, mode);
    if (reduce == "mean") {
      Tensor count = scatter_counts(x, dim, index, src.sizes(), include_self);
      y = is_differentiable(x.dtype()) ? y / count : floor_divide(y, count);
    }
  }
  return record("ScatterReduceBackward0", y, {x, src},
                [x = save(x), src = save(src), y = save_output(y), dim, index = save(index), reduce,
                 include_self](const Tensor& g, Needs) -> TensorList {
                  Tensor in = x, from = src, out = y, at = index;
                  Tensor to_x, to_src;
                  if (reduce == "sum") {
                    to_x = g;
                    to_src = gather_to(g, dim, at, from.sizes());
                  } else if (reduce == "mean") {
                    Tensor shared = g / scatter_counts(g, dim, at, from.sizes(), include_self);
                    to_x = shared;
                    to_src = gather_to(shared, dim, at, from.sizes());
                  } else if (reduce == "prod") {
                    // Where there is no zero, the product of the others is result / value.
                    to_x = g * (out / in);
                    to_src = gather_to(g * out, dim, at, from.sizes()) / from;
                  } else {
                    // Ties share the gradient evenly.
                    Tensor chosen_x = to_dtype(eq(in, out), g.dtype());
                    Tensor chosen_src =
                        to_dtype(eq(from, gather_to(out, dim, at, from.sizes())), g.dtype());
                    Tensor n = include_self ? scatter_add(chosen_x, dim, at, chosen_src)
                                            : scatter_add(zeros(in.sizes(), g.dtype(), g.device()),
                                                          dim, at, chosen_src);
                    Tensor shared = g / maximum(n, full({}, 1, g.dtype(), g.device()));
                    to_x = shared * chosen_x;
                    to_src = gather_to(shared, dim, at, from.sizes()) * chosen_src;
                  }
                  if (!include_self)
                    to_x = scatter(reduce == "sum" || reduce == "mean" ? g : to_x, dim, at,
                                   wrapped_number(0));
                  return {to_x, to_src};
                });
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, int64_t dim) {
  dim = wrap_dim("take_along_dim", dim, x.dim());
  check(x.dim() == index.dim(),
        "take_along_dim: input and indices should have the same number of dimensions, but got ",
        x.dim(), " dimensions for input, and ", index.dim(), " dimensions for indices.");
  check(index.dtype() == DType::Int64, "take_along_dim: dtype of indices should be Long but got ",
        index, ".");
  Dims a = x.sizes(), b = index.sizes();
  a[dim] = b[dim] = 1;
  Dims shape = broadcast_shapes("take_along_dim", a, b);
  Dims in = shape, at = shape;
  in[dim] = x.size(dim);
  at[dim] = index.size(dim);
  return gather(expand(x, in), dim, expand(index, at));
}

// ---- flat

Tensor take(const Tensor& x, const Tensor& index) {
  check(index.dtype() == DType::Int64, "take: Expected a long tensor for index, but got ", index,
        ".");
  check_index(x.numel() != 0 || index.numel() == 0, "take: tried to take from an empty tensor.");
  check_cpu("take", x);
  Tensor y;
  {
    NoGradGuard guard;
    Tensor flat = reshape(x, {-1});
    Tensor offsets = byte_offsets("take", index, std::max<int64_t>(flat.numel(), 1),
                                  flat.stride(0) * flat.itemsize(), true);
    y = empty(index.sizes(), x.dtype(), x.device());
    read_at("take", y, restrided(flat, index.sizes(), Dims(index.dim(), 0)), offsets);
  }
  return record("TakeBackward0", y, {x}, [sizes = x.sizes(), index = save(index)](const Tensor& g) {
    return put(zeros(sizes, g.dtype(), g.device()), index, g, true);
  });
}

Tensor put(const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate) {
  check(index.dtype() == DType::Int64, "put_: Expected a long tensor for index, but got ", index,
        ".");
  check(x.dtype() == source.dtype(),
        "put_: self and source expected to have the same dtype, but got ", x, " and ", source, ".");
  check(index.numel() == source.numel(),
        "put_: Expected source and index to have the same number of elements, but got ",
        source.numel(), " and ", index.numel(), ".");
  check_index(x.numel() != 0 || index.numel() == 0,
              "put_: Tried to put elements into an empty tensor.");
  check_cpu("put_", x);
  Tensor y = empty(x.sizes(), x.dtype(), x.device());
  copy_into(y, x);
  {
    NoGradGuard guard;
    Tensor offsets =
        byte_offsets("put_", index, std::max<int64_t>(y.numel(), 1), y.itemsize(), true);
    write_at("put_", restrided(y, index.sizes(), Dims(index.dim(), 0)),
             reshape(source, index.sizes()), offsets, accumulate ? WriteMode::Add : WriteMode::Set);
  }
  return record("PutBackward0", y, {x, source},
                [index = save(index), sizes = source.sizes(), accumulate](
                    const Tensor& g, Needs need) -> TensorList {
                  Tensor at = index;
                  Tensor to_x = !need[0]     ? Tensor()
                                : accumulate ? g
                                             : put(g, at, zeros(at.sizes(), g.dtype(), g.device()));
                  return {to_x, need[1] ? reshape(take(g, at), sizes) : Tensor()};
                });
}

// ---- masks

namespace {

void check_mask(const char* op, const Tensor& mask) {
  check(mask.dtype() == DType::Bool, op, ": expected a mask of dtype bool, got ", mask,
        ". Convert it with mask.bool().");
}

}  // namespace

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) {
  check_mask("masked_fill", mask);
  check(value.dim() == 0,
        "masked_fill: masked_fill only supports a 0-dimensional value tensor, but got tensor with ",
        value.dim(), " dimension(s).");
  check(can_cast(value.dtype(), x.dtype()) || value->is_wrapped_number,
        "masked_fill: value of type ", value.dtype(), " cannot be converted to ", x.dtype(),
        " without overflow.");
  check(is_complex(x.dtype()) || !is_complex(value.dtype()),
        "masked_fill: a complex value cannot fill ", x, ".");
  broadcast_shapes("masked_fill", x.sizes(), mask.sizes());
  Tensor y;
  {
    NoGradGuard guard;
    y = contiguous(where(mask, to_dtype(value, x.dtype()), x));
  }
  return record(value->is_wrapped_number ? "MaskedFillBackward0" : "MaskedFillBackward1", y,
                {x, value}, [mask = save(mask)](const Tensor& g, Needs need) -> TensorList {
                  Tensor m = mask;
                  Tensor zero = zeros({}, g.dtype(), g.device());
                  return {need[0] ? where(m, zero, g) : Tensor(),
                          need[1] ? sum(where(m, g, zero)) : Tensor()};
                });
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  check_mask("masked_select", mask);
  Dims shape = broadcast_shapes("masked_select", x.sizes(), mask.sizes());
  Tensor m = expand(mask, shape), in = expand(x, shape);
  Tensor y;
  {
    NoGradGuard guard;
    y = shape.empty() ? index(unsqueeze(in, 0), {unsqueeze(m, 0)}) : index(in, {m});
  }
  return record("MaskedSelectBackward0", y, {x},
                [shape, sizes = x.sizes(), mask = save(mask)](const Tensor& g) {
                  return sum_to_size(masked_scatter(zeros(shape, g.dtype(), g.device()), mask, g),
                                     sizes);
                });
}

Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  check_mask("masked_scatter", mask);
  check(x.dtype() == source.dtype(),
        "masked_scatter: expected self and source to have same dtypes but got ", x, " and ", source,
        ".");
  Dims shape = broadcast_shapes("masked_scatter", x.sizes(), mask.sizes());
  Tensor y = empty(shape, x.dtype(), x.device());
  copy_into(y, x);
  {
    NoGradGuard guard;
    Tensor positions = nonzero(reshape(expand(mask, shape), {-1}));
    int64_t n = positions.size(0);
    check(n <= source.numel(), "masked_scatter: expected at least ", n,
          " elements in source, one for each true element of the mask, got ", source, ".");
    Tensor flat = reshape(y, {-1});
    put_at(flat, {reshape(positions, {-1})}, narrow(reshape(source, {-1}), 0, 0, n), false);
  }
  return record(
      "MaskedScatterBackward0", y, {x, source},
      [shape, in = x.sizes(), sizes = source.sizes(), mask = save(mask)](const Tensor& g,
                                                                         Needs need) -> TensorList {
        Tensor m = mask, to_source;
        if (need[1]) {
          Tensor used = masked_select(g, m);
          int64_t n = 1;
          for (int64_t s : sizes) n *= s;
          to_source = reshape(cat({used, zeros({n - used.numel()}, g.dtype(), g.device())}), sizes);
        }
        return {need[0] ? sum_to_size(where(m, zeros({}, g.dtype(), g.device()), g), in) : Tensor(),
                to_source};
      });
}

Tensor nonzero(const Tensor& x) {
  check_cpu("nonzero", x);
  NoGradGuard guard;
  Tensor in = contiguous(x);
  int64_t n = cpu::count_nonzero(in.dtype(), in.data(), in.numel());
  Tensor flat = empty({n}, DType::Int64);
  cpu::find_nonzero(in.dtype(), in.data(), in.numel(), flat.data_as<int64_t>());
  // Column by column in memory, as PyTorch stores it.
  Tensor y = empty_strided({n, x.dim()}, {1, std::max<int64_t>(n, 1)}, DType::Int64);
  const int64_t* from = flat.data_as<int64_t>();
  int64_t* to = y.data_as<int64_t>();
  int64_t inner = 1;
  for (int64_t d = x.dim() - 1; d >= 0; --d) {
    for (int64_t i = 0; i < n; ++i) to[d * n + i] = from[i] / inner % x.size(d);
    inner *= std::max<int64_t>(x.size(d), 1);
  }
  return y;
}

Tensor one_hot(const Tensor& x, int64_t num_classes) {
  check(x.dtype() == DType::Int64, "one_hot: expected class indices of dtype int64, got ", x, ".");
  check_cpu("one_hot", x);
  check(x.numel() > 0 || num_classes > 0,
        "one_hot: Can not infer total number of classes from empty tensor.");
  NoGradGuard guard;
  Tensor flat = contiguous(x);
  int64_t largest = -1;
  for (int64_t i = 0; i < flat.numel(); ++i) {
    int64_t value = flat.data_as<int64_t>()[i];
    check(value >= 0, "one_hot: Class values must be non-negative, got ", value, " at position ", i,
          ".");
    largest = std::max(largest, value);
  }
  if (num_classes == -1) num_classes = largest + 1;
  check(num_classes >= 1, "one_hot: num_classes should be positive, got ", num_classes, ".");
  check(largest < num_classes, "one_hot: Class values must be smaller than num_classes: there is ",
        largest, ", but num_classes is ", num_classes, ".");
  Dims shape = x.sizes();
  shape.push_back(num_classes);
  return scatter(zeros(shape, DType::Int64), -1, unsqueeze(x, -1), wrapped_number(1));
}

}  // namespace facula
