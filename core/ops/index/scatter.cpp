// Gather and scatter: along one dimension, by an index of the result's or the source's shape.
#include <cmath>

#include "autograd/node.h"
#include "base/number.h"
#include "ops/index/binding.h"
#include "ops/index/places.h"
#include "ops/ops.h"

namespace facula {

namespace {

// An index without elements may be of any dtype and shape: it names no place.
void check_places(const char* op, const Tensor& x, int64_t dim, const Tensor& index,
                  const char* what) {
  check(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, op,
        ": expected an index of dtype int64 or int32, got ", index,
        ". Convert it with .long(). (Expected dtype int64 for index)");
  check(index.dim() == x.dim() || (x.dim() <= 1 && index.dim() <= 1), op,
        ": expected an index of as many dimensions as ", what, ", got ", index, " and ", x, ".");
  for (int64_t d = 0; d < std::min(index.dim(), x.dim()); ++d)
    check(d == dim || index.size(d) <= x.size(d), op, ": expected an index no larger than ", what,
          " but for dimension ", dim, ", got ", index.sizes(), " and ", x.sizes(), ".");
}

void check_scatter(const char* op, const Tensor& x, int64_t dim, const Tensor& index,
                   const Tensor& src) {
  if (index.numel() == 0) return;
  check_places(op, x, dim, index, "self");
  if (src->is_wrapped_number) return check_fits(op, "value", item(src), x.dtype());
  check(src.dtype() == x.dtype(), op, ": expected src of ", x.dtype(), ", got ", src, ".");
  check(src.dim() == index.dim() || (src.dim() <= 1 && index.dim() <= 1), op,
        ": expected an index of as many dimensions as src, got ", index, " and ", src, ".");
  for (int64_t d = 0; d < index.dim(); ++d)
    check(index.size(d) <= (src.dim() ? src.size(d) : 1), op,
          ": expected an index no larger than src, got ", index.sizes(), " and ", src.sizes(), ".");
}

// y, x or a copy of it: y[index[i]] op= src[i] along dim.
void scatter_into(const char* op, const Tensor& x, const Tensor& y, int64_t dim,
                  const Tensor& index, const Tensor& src, WriteMode mode,
                  ErrorKind out_of_range = ErrorKind::Runtime) {
  if (index.numel() == 0) return;
  NoGradGuard guard;
  if (mode == WriteMode::Add && adds_in_float(y, index.dim() ? index.size(dim) : 1)) {
    Tensor wide = to_dtype(y, DType::Float32);
    scatter_into(op, x, wide, dim, index, src, mode, out_of_range);
    return copy_into(y, wide);
  }
  Tensor target = at_least_1d(y), at = at_least_1d(index);
  Tensor from = at_least_1d(to_dtype(src, y.dtype()));
  Places places{at, target.size(dim), target.stride(dim), false, out_of_range};
  Dims strides = src->is_wrapped_number ? Dims(at.dim(), 0) : from.strides();
  write_at(op, restrided(target, at.sizes(), with_stride_zero(target.strides(), dim)),
           restrided(from, at.sizes(), strides), y.is_same(x) ? checked(op, places) : places, mode);
}

// The gradient of src: it may be larger than the index.
Tensor gather_to(const Tensor& g, int64_t dim, const Tensor& index, const Dims& sizes) {
  Tensor part = gather(g, dim, index);
  if (part.sizes() == sizes) return part;
  if (sizes.empty()) return sum(part);  // src is a single element, or not used at all
  Tensor whole = zeros(sizes, g.dtype(), g.device());
  Tensor corner = whole;
  for (int64_t d = 0; d < part.dim(); ++d) corner = narrow(corner, d, 0, part.size(d));
  copy_(corner, part);
  return whole;
}

}  // namespace

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  dim = wrap_dim("gather", dim, x.dim());
  Tensor y = empty(index.sizes(), x.dtype(), x.device());
  if (index.numel() != 0) {
    check_places("gather", x, dim, index, "input");
    Tensor in = at_least_1d(x), at = at_least_1d(index), out = at_least_1d(y);
    Places places{at, in.size(dim), in.stride(dim), false, ErrorKind::Runtime};
    read_at("gather", out, restrided(in, at.sizes(), with_stride_zero(in.strides(), dim)), places);
  }
  return record("GatherBackward0", y, {x},
                [sizes = x.sizes(), dim, index = save(index)](const Tensor& g) {
                  return scatter_add(zeros(sizes, g.dtype(), g.device()), dim, index, g);
                });
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
               const Into& into) {
  dim = wrap_dim("scatter", dim, x.dim());
  check_scatter("scatter", x, dim, index, src);
  Tensor y = target_for(into, x, MemoryFormat::Contiguous, {index, src});
  scatter_into("scatter", x, y, dim, index, src, WriteMode::Set);
  bool is_number = src->is_wrapped_number;
  return record(
      is_number ? "ScatterBackward1" : "ScatterBackward0", y, {x, src},
      [dim, index = save(index), sizes = src.sizes()](const Tensor& g, Needs need) -> TensorList {
        Tensor at = index;
        return {need[0] ? scatter(g, dim, at, wrapped_number(0)) : Tensor(),
                need[1] ? gather_to(g, dim, at, sizes) : Tensor()};
      });
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                   const Into& into) {
  dim = wrap_dim("scatter_add", dim, x.dim());
  check_scatter("scatter_add", x, dim, index, src);
  Tensor y = target_for(into, x, MemoryFormat::Contiguous, {index, src});
  scatter_into("scatter_add", x, y, dim, index, src, WriteMode::Add);
  return record(
      "ScatterAddBackward0", y, {x, src},
      [dim, index = save(index), sizes = src.sizes()](const Tensor& g, Needs need) -> TensorList {
        return {g, need[1] ? gather_to(g, dim, index, sizes) : Tensor()};
      });
}

namespace {

Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                      const std::string& reduce, bool include_self = true, const Into& into = {});

// How many values each element of the result was made of, itself included where it counts.
Tensor scatter_counts(const Tensor& like, int64_t dim, const Tensor& index, const Dims& src_sizes,
                      bool include_self) {
  Tensor ones = full(src_sizes, 1, like.dtype(), like.device());
  Tensor count = scatter_add(full(like.sizes(), include_self ? 1 : 0, like.dtype(), like.device()),
                             dim, index, ones);
  return masked_fill(count, eq(count, wrapped_number(0)), wrapped_number(1));
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

WriteMode mode_of(const char* op, const std::string& reduce) {
  if (reduce == "sum" || reduce == "mean" || reduce == "add") return WriteMode::Add;
  if (reduce == "prod" || reduce == "multiply") return WriteMode::Prod;
  check(reduce == "amax" || reduce == "amin", op,
        ": expected 'sum', 'prod', 'mean', 'amax' or 'amin' as reduce, got '", reduce, "'.");
  return reduce == "amax" ? WriteMode::AMax : WriteMode::AMin;
}

struct Reduction {
  const char* op;
  const char* node;
  ErrorKind out_of_range;
};

struct Gradients {
  Tensor x, src;
};

// The derivative by one factor is the product of the others: product / factor, or where the factor
// is the only zero, the product without it.
Gradients product_gradients(const Tensor& g, const Tensor& x, int64_t dim, const Tensor& index,
                            const Tensor& src, const Tensor& y, bool include_self) {
  auto product = [&](const Tensor& a, const Tensor& b) {
    return scatter_reduce(a, dim, index, b, "prod", include_self);
  };
  auto spread = [&](const Tensor& t) { return gather_to(t, dim, index, src.sizes()); };
  Tensor one = wrapped_number(1), zero = wrapped_number(0);
  Tensor x_or_one = masked_fill(x, eq(x, zero), one);
  Tensor is_zero = eq(src, zero);
  Tensor n_zeros = spread(scatter_add(zeros(x.sizes(), g.dtype(), g.device()), dim, index,
                                      to_dtype(is_zero, g.dtype())));
  Tensor is_only_zero = logical_and(is_zero, eq(n_zeros, one));
  return {g * product(x_or_one, src) / x_or_one,
          where(is_only_zero, spread(g * product(x, masked_fill(src, is_only_zero, one))),
                spread(g * y) / masked_fill(src, is_zero, one))};
}

// Those that equal the extremum share its gradient evenly.
Gradients extremum_gradients(const Tensor& g, const Tensor& x, int64_t dim, const Tensor& index,
                             const Tensor& src, const Tensor& y, bool include_self) {
  Tensor is_x = to_dtype(eq(x, y), g.dtype());
  Tensor is_src = to_dtype(eq(src, gather_to(y, dim, index, src.sizes())), g.dtype());
  Tensor counted = include_self ? is_x : zeros(x.sizes(), g.dtype(), g.device());
  Tensor n = scatter_add(counted, dim, index, is_src);
  Tensor share = g / maximum(n, full({}, 1, g.dtype(), g.device()));
  return {share * is_x, gather_to(share, dim, index, src.sizes()) * is_src};
}

Gradients reduce_gradients(const Tensor& g, const Tensor& x, int64_t dim, const Tensor& index,
                           const Tensor& src, const Tensor& y, const std::string& reduce,
                           bool include_self) {
  if (reduce == "prod") return product_gradients(g, x, dim, index, src, y, include_self);
  if (reduce == "amax" || reduce == "amin")
    return extremum_gradients(g, x, dim, index, src, y, include_self);
  Tensor share = reduce == "sum" ? g : g / scatter_counts(g, dim, index, src.sizes(), include_self);
  return {share, gather_to(share, dim, index, src.sizes())};
}

Tensor reduce_at(const Reduction& what, const Tensor& x, int64_t dim, const Tensor& index,
                 const Tensor& src, const std::string& reduce, bool include_self,
                 const Into& into) {
  WriteMode mode = mode_of(what.op, reduce);
  check_scatter(what.op, x, dim, index, src);
  Tensor y = reduce == "mean" ? copy_of(x, MemoryFormat::Contiguous)
                              : target_for(into, x, MemoryFormat::Contiguous, {index, src});
  {
    NoGradGuard guard;
    if (!include_self)
      scatter_into(what.op, x, y, dim, index, wrapped_number(identity_of(reduce, x.dtype())),
                   WriteMode::Set, what.out_of_range);
    scatter_into(what.op, x, y, dim, index, src, mode, what.out_of_range);
    if (reduce == "mean") {
      Tensor count = scatter_counts(x, dim, index, src.sizes(), include_self);
      y = is_differentiable(x.dtype()) ? y / count : floor_divide(y, count);
    }
  }
  check(!is_complex(x.dtype()) || !is_grad_enabled() || !(x.requires_grad() || src.requires_grad()),
        what.op, ": has no derivative for complex numbers, got ", x, ".");
  return record(what.node, y, {x, src},
                [x = save(x), src = save(src), y = save_output(y), dim, index = save(index), reduce,
                 include_self](const Tensor& g, Needs) -> TensorList {
                  Tensor at = index;
                  Gradients to = reduce_gradients(g, x, dim, at, src, y, reduce, include_self);
                  if (!include_self) to.x = scatter(to.x, dim, at, wrapped_number(0));
                  return {to.x, to.src};
                });
}

// By places, of single elements.
Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                      const std::string& reduce, bool include_self, const Into& into) {
  dim = wrap_dim("scatter_reduce", dim, x.dim());
  return reduce_at({"scatter_reduce", "ScatterReduceBackward0", ErrorKind::Runtime}, x, dim, index,
                   src, reduce, include_self, into);
}

// As scatter_reduce, by a 1-d index of whole slices.
Tensor index_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                    const std::string& reduce, bool include_self, const Into& into) {
  dim = wrap_dim("index_reduce", dim, x.dim());
  check(reduce != "sum", "index_reduce: expected reduce to be prod, mean, amax or amin, got sum.");
  check_source("index_reduce", x, dim, index, source);
  Dims shape(source.dim(), 1);
  if (source.dim() > 0) shape[dim] = index.numel();
  return reduce_at({"index_reduce", "IndexReduceBackward0", ErrorKind::Index}, x, dim,
                   expand(reshape(index, shape), source.sizes()), source, reduce, include_self,
                   into);
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> given) {
  check(index.dtype() == DType::Int64, "take_along_dim: expected int64 indices, got ", index, ".");
  if (!given) return gather(reshape(x, {-1}), 0, reshape(index, {-1}));
  check(x.dim() == index.dim(),
        "take_along_dim: expected indices of as many dimensions as input, got ", index, " and ", x,
        ".");
  check_index(x.dim() > 0, "take_along_dim: a 0-d tensor has no dimension ", *given, ".");
  int64_t dim = wrap_dim("take_along_dim", *given, x.dim());
  Dims in = x.sizes(), at = index.sizes();
  in[dim] = at[dim] = 1;
  in = at = broadcast_shapes("take_along_dim", in, at);
  in[dim] = x.size(dim);
  at[dim] = index.size(dim);
  // Indices count around the dimension: -1 is the last, and so is size - 1 + size.
  Tensor around = x.size(dim) ? remainder(index, wrapped_number(x.size(dim))) : index;
  return gather(expand(x, in), dim, expand(around, at));
}

// ---- bindings

Tensor gather_with(const Tensor& x, int64_t dim, const Tensor& index, bool) {
  return gather(x, dim, index);
}

// scatter's older reduce= argument: 'add' or 'multiply'.
Tensor scatter_with(const Tensor& x, int64_t dim, const Tensor& index, const Operand& value,
                    const std::optional<std::string>& reduce, const Into& into) {
  const Tensor& src = value;
  if (!reduce) return scatter(x, dim, index, src, into);
  check(*reduce == "add" || *reduce == "multiply",
        "scatter: expected 'add' or 'multiply' as reduce, got '", *reduce, "'.");
  if (src->is_wrapped_number) check_fits("scatter", "value", item(src), x.dtype());
  Tensor from = src->is_wrapped_number ? expand(to_dtype(src, x.dtype()), index.sizes()) : src;
  return scatter_reduce(x, dim, index, from, *reduce == "add" ? "sum" : "prod");
}

// A tensor of one element is a number here, whereas a src of one element fills one place.
Tensor scatter_value(const Tensor& x, int64_t dim, const Tensor& index, const Operand& value,
                     const std::optional<std::string>& reduce, const Into& into) {
  return scatter_with(x, dim, index, Operand{wrapped_number(item(value))}, reduce, into);
}

void bind_reductions(nb::module_& m) {
  def_writer_out(m, "scatter_reduce", "scatter_reduce_", &scatter_reduce, "dim"_a, "index"_a,
                 "src"_a, "reduce"_a, nb::kw_only(), "include_self"_a = true,
                 R"(Reduces src into the places ``index``: sum, prod, mean, amax or amin.
    input: what is copied and changed.
    dim: the dimension to index along.
    index: the place along the dimension for each element of ``src``.
    src: what is reduced.
    reduce: ``'sum'``, ``'prod'``, ``'mean'``, ``'amax'`` or ``'amin'``.
    include_self: whether the elements of the input take part.
    out: where to put the result.
    >>> facula.zeros(2).scatter_reduce(0, facula.tensor([0, 0]), facula.tensor([1., 3.]), "amax")
    tensor([3., 0.]))"_doc);
  def_writer_out(m, "index_reduce", "index_reduce_", &index_reduce, "dim"_a, "index"_a, "source"_a,
                 "reduce"_a, nb::kw_only(), "include_self"_a = true,
                 R"(Reduces source into the entries ``index``: prod, mean, amax or amin.
    input: what is copied and changed.
    dim: the dimension to index along.
    index: a vector of places along the dimension, int64 or int32.
    source: what is reduced, one slice for each place.
    reduce: ``'prod'``, ``'mean'``, ``'amax'`` or ``'amin'``.
    include_self: whether the elements of the input take part.
    out: where to put the result.
    >>> facula.ones(2).index_reduce(0, facula.tensor([1, 1]), facula.tensor([3., 2.]), "prod")
    tensor([1., 6.]))"_doc);
}

}  // namespace

FACULA_BINDINGS {
  def_chooser(m, "gather", &gather_with, "dim"_a, "index"_a, nb::kw_only(), "sparse_grad"_a = false,
              R"(Picks along a dimension: ``out[i][j] = input[index[i][j]][j]`` for dim 0.
    input: any tensor.
    dim: the dimension to index along.
    index: the place along the dimension for each element of the result.
    sparse_grad: has no effect.
    out: where to put the result.
    >>> facula.tensor([[1, 2], [3, 4]]).gather(1, facula.tensor([[0], [1]]))
    tensor([[1],
            [4]]))"_doc);
  def_writer_out(m, "scatter", "scatter_", &scatter_with, "dim"_a, "index"_a, "src"_a,
                 nb::kw_only(), "reduce"_or_none,
                 R"(Writes along a dimension: ``out[index[i][j]][j] = src[i][j]`` for dim 0.
    input: what is copied and changed.
    dim: the dimension to index along.
    index: the place along the dimension for each element of ``src``.
    src: what is written, a tensor or a number.
    value: a number to write in place of ``src``.
    reduce: ``'add'`` or ``'multiply'`` to combine with what is there; None to write over it.
    out: where to put the result.
    >>> facula.zeros(3).scatter(0, facula.tensor([2, 0]), facula.tensor([1., 2.]))
    tensor([2., 0., 1.]))"_doc);
  def_writer_out(m, "scatter", "scatter_", &scatter_value, "dim"_a, "index"_a, nb::kw_only(),
                 "value"_a, "reduce"_or_none);
  def_writer_out(m, "scatter_add", "scatter_add_", &scatter_add, "dim"_a, "index"_a, "src"_a,
                 R"(Adds along a dimension: ``out[index[i][j]][j] += src[i][j]`` for dim 0.
    input: what is copied and changed.
    dim: the dimension to index along.
    index: the place along the dimension for each element of ``src``.
    src: what is added.
    out: where to put the result.
    >>> facula.zeros(2).scatter_add(0, facula.tensor([0, 0, 1]), facula.ones(3))
    tensor([2., 1.]))"_doc);
  bind_reductions(m);
  def_stored(
      m, "take_along_dim", &take_along_dim, "indices"_a, "dim"_or_none,
      R"(Picks along a dimension as gather() does, with broadcasting; from all elements without dim.
    input: any tensor.
    indices: the place along the dimension for each element of the result.
    dim: the dimension to index along; None for the flattened input.
    out: where to put the result.
    >>> facula.take_along_dim(facula.tensor([[1, 2], [3, 4]]), facula.tensor([[1]]), 1)
    tensor([[2],
            [4]]))"_doc);
}

}  // namespace facula
