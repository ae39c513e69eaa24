#include "ops/reduce/extrema.h"

#include "autograd/node.h"
#include "ops/ops.h"
#include "ops/reduce/arguments.h"
#include "walk/lines.h"

namespace facula {

void check_ordered(const char* op, const Tensor& x) {
  check_not_implemented(!is_complex(x.dtype()), op, ": not defined for ", x,
                        ": complex numbers have no order.");
}

void check_not_empty(const char* op, const Tensor& x) {
  check(x.numel() > 0, op, ": expected an input with elements where there is no dim, got ", x, ".");
}

void check_dims_not_empty(const char* op, const Tensor& x, DimMask mask) {
  if (x.numel() > 0) return;
  for (int64_t d = 0; d < x.dim(); ++d)
    check_index(!is_in(mask, d) || x.size(d) > 0, op, ": expected elements along dimension ", d,
                ", got ", x, ".");
}

Tensor share_evenly(const Tensor& g, const Tensor& x, const Tensor& y) {
  Tensor is_there = to_dtype(eq(x, y), x.dtype()), n_there;
  {
    NoGradGuard guard;
    n_there = sum_to_size(is_there, y.sizes());
  }
  return g / n_there * is_there;
}

Tensor record_shared(const char* node, const Tensor& x, const Tensor& y) {
  return record(node, y, {x}, [x = save(x), y = save_output(y)](const Tensor& g) {
    return share_evenly(g, x, y);
  });
}

namespace {

// The gradient of the values goes to the elements that were picked.
Tensor record_picked(const char* node, const Tensor& x, int64_t dim, const Tensor& values,
                     const Tensor& indices) {
  return record(node, values, {x},
                [dim, indices = save(indices), sizes = x.sizes()](const Tensor& g) {
                  Dims kept = sizes;
                  if (!kept.empty()) kept[dim] = 1;
                  return put_along(reshape(g, kept), dim, reshape(indices, kept),
                                   sizes.empty() ? 1 : sizes[dim]);
                });
}

}  // namespace

ValuesAndIndices values_at(const char* node, const Tensor& x, int64_t dim, bool keepdim,
                           Tensor indices) {
  Tensor values;
  {
    NoGradGuard guard;
    values = gather(x, dim, indices);
    if (!keepdim && x.dim()) {
      Dims sizes = reduced_shape(x, DimMask(1) << dim, false);
      values = reshape(values, sizes);
      indices = reshape(indices, sizes);
    }
  }
  // What reshape() returns are views; the results of an operation are not.
  values = alias(values);
  indices = alias(indices);
  return {record_picked(node, x, dim, values, indices), indices};
}

namespace {

Tensor reduce_values(const char* op, ReduceOp which, const Tensor& x, DimMask mask, bool keepdim) {
  check_ordered(op, x);
  Tensor y = empty(reduced_shape(x, mask, keepdim), x.dtype(), x.device());
  if (y.numel() == 0) return y;
  run_reduction(op, which, x, mask, is_integral(x.dtype()) ? x.dtype() : wide_dtype(x.dtype()), y);
  return y;
}

Tensor most_of_all(const char* op, const char* node, ReduceOp which, const Tensor& x,
                   const Into& into) {
  check_not_empty(op, x);
  check_into(op, into, {}, x.dtype(), {x});
  return record_shared(node, x, reduce_values(op, which, x, ~DimMask(0), false));
}

// Values and indices along one dimension.
ValuesAndIndices find_along(const char* op, ReduceOp which, const Tensor& x, int64_t dim,
                            const Dims& shape) {
  DimMask mask = DimMask(1) << dim;
  Tensor values = empty(shape, x.dtype(), x.device()),
         indices = empty(shape, DType::Int64, x.device());
  run_reduction(op, which, x, mask, wide_dtype(x.dtype()), values, indices);
  return {values, indices};
}

ValuesAndIndices most_along(const char* op, const char* node, ReduceOp which, const Tensor& x,
                            int64_t dim, bool keepdim) {
  dim = wrap_dim(op, dim, x.dim());
  check_dims_not_empty(op, x, DimMask(1) << dim);
  check(!is_complex(x.dtype()), op, ": expected a real input, got ", x, ".");
  auto [values, indices] =
      find_along(op, which, x, dim, reduced_shape(x, DimMask(1) << dim, keepdim));
  return {record_picked(node, x, dim, values, indices), indices};
}

Tensor arg_most(const char* op, ReduceOp which, const Tensor& x, std::optional<int64_t> dim,
                bool keepdim) {
  check(!is_complex(x.dtype()) && x.dtype() != DType::Bool, op,
        ": expected a real input that is not bool, got ", x, ".");
  if (dim) {
    int64_t at = wrap_dim(op, *dim, x.dim());
    check_dims_not_empty(op, x, DimMask(1) << at);
    return find_along(op, which, x, at, reduced_shape(x, DimMask(1) << at, keepdim)).second;
  }
  check_index(x.numel() > 0, op, ": expected an input with elements where there is no dim, got ", x,
              ".");
  NoGradGuard guard;
  return find_along(op, which, reshape(x, {-1}), 0, keepdim ? Dims(x.dim(), 1) : Dims{}).second;
}

Tensor max(const Tensor& x, const Into& into) {
  return most_of_all("max", "MaxBackward1", ReduceOp::amax, x, into);
}
Tensor min(const Tensor& x, const Into& into) {
  return most_of_all("min", "MinBackward1", ReduceOp::amin, x, into);
}

ValuesAndIndices max(const Tensor& x, int64_t dim, bool keepdim) {
  return most_along("max", "MaxBackward0", ReduceOp::argmax, x, dim, keepdim);
}
ValuesAndIndices min(const Tensor& x, int64_t dim, bool keepdim) {
  return most_along("min", "MinBackward0", ReduceOp::argmin, x, dim, keepdim);
}

Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return arg_most("argmax", ReduceOp::argmax, x, dim, keepdim);
}
Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return arg_most("argmin", ReduceOp::argmin, x, dim, keepdim);
}

}  // namespace

std::pair<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  check(dim || x.numel() > 0,
        "aminmax: expected an input with elements where there is no dim, got ", x, ".");
  DimMask mask = dim ? DimMask(1) << wrap_dim("aminmax", *dim, x.dim()) : ~DimMask(0);
  check_dims_not_empty("aminmax", x, mask);
  Tensor low = reduce_values("aminmax", ReduceOp::amin, x, mask, keepdim),
         high = reduce_values("aminmax", ReduceOp::amax, x, mask, keepdim);
  record_all("AminmaxBackward0", {low, high}, {x},
             [mask, keepdim, x = save(x), low = save_output(low), high = save_output(high)](
                 const TensorList& gs, Needs) -> TensorList {
               Tensor input = x, total;
               auto share = [&](const Tensor& g, const Tensor& y) {
                 if (!g.defined()) return;
                 Tensor part = share_evenly(with_kept_dims(g, input.sizes(), mask, keepdim), input,
                                            with_kept_dims(y, input.sizes(), mask, keepdim));
                 total = total.defined() ? total + part : part;
               };
               share(gs[0], low);
               share(gs[1], high);
               return {total};
             });
  return {low, high};
}

namespace {

// max and min: of all elements, of two tensors, or along a dimension, which comes last: a tensor of
// one integer is another tensor, not the number of one.
void def_extremum(nb::module_& m, const char* name, Tensor (*full)(const Tensor&, const Into&),
                  Tensor (*binary)(const Tensor&, const Tensor&, const Into&),
                  ValuesAndIndices (*along)(const Tensor&, int64_t, bool), const char* doc) {
  def_op_out(m, name, full, doc);
  def_op_out(m, name, binary, "other"_a, doc);
  def_pair_out(m, name, along, "dim"_a, "keepdim"_a = false, doc);
}

template <Tensor (*f)(const Tensor&, OptionalDim, bool)>
void def_arg(nb::module_& m, const char* name, const char* doc) {
  m.def(
      name,
      [name](const Tensor& x, OptionalDim dim, bool keepdim, const Out& out) {
        return into_exact_out(name, f(x, dim, keepdim), out);
      },
      "input"_a, "dim"_or_none, "keepdim"_a = false, nb::kw_only(), "out"_or_none, doc);
  def_method(
      name, [](const Tensor& x, OptionalDim dim, bool keepdim) { return f(x, dim, keepdim); },
      "dim"_or_none, "keepdim"_a = false, doc);
}

// The Args of max and min, and of argmax and argmin.
constexpr const char* kExtremumArgs = R"(

Args:
    input: the elements, which are real.
    dim: the dimension to look along; then the result has values and indices.
    other: a second tensor, which broadcasts with the first.
    keepdim: whether to keep the dimension with size 1.
    out: where to put the result; with ``dim`` a pair of tensors.

)";
constexpr const char* kArgArgs = R"(

Args:
    input: the elements, real and not bool.
    dim: the dimension to look along; all elements, counted in order, by default.
    keepdim: whether to keep the reduced dimensions with size 1.
    out: where to put the result.

)";

}  // namespace

FACULA_BINDINGS {
  std::string max_doc =
      std::string(
          R"(The largest element: of all, along a dimension, or of two tensors at each place.

Of equal elements along a dimension the first counts; NaN is larger than everything.)") +
      kExtremumArgs + R"(Example:
    >>> facula.max(facula.tensor([1.0, 3.0, 2.0]))
    tensor(3.)
    >>> facula.max(facula.tensor([[1.0, 3.0], [4.0, 2.0]]), dim=1).indices
    tensor([1, 0])
)";
  def_extremum(m, "max", max, maximum, max, max_doc.c_str());
  std::string min_doc =
      std::string(
          R"(The smallest element: of all, along a dimension, or of two tensors at each place.

Of equal elements along a dimension the first counts; NaN is smaller than everything.)") +
      kExtremumArgs + R"(Example:
    >>> facula.min(facula.tensor([1.0, 3.0, 2.0]))
    tensor(1.)
)";
  def_extremum(m, "min", min, minimum, min, min_doc.c_str());
  std::string argmax_doc =
      std::string(
          "The index of the largest element, of all or along a dimension; the first of "
          "equal ones.") +
      kArgArgs + R"(Example:
    >>> facula.argmax(facula.tensor([1.0, 3.0, 2.0]))
    tensor(1)
)";
  def_arg<argmax>(m, "argmax", argmax_doc.c_str());
  std::string argmin_doc =
      std::string(
          "The index of the smallest element, of all or along a dimension; the first of "
          "equal ones.") +
      kArgArgs + R"(Example:
    >>> facula.argmin(facula.tensor([2.0, 1.0, 3.0]))
    tensor(1)
)";
  def_arg<argmin>(m, "argmin", argmin_doc.c_str());
  const char* aminmax_doc =
      R"(The smallest and the largest element, of all or along a dimension.
    input: the elements, which are real.
    dim: the dimension to look along; all elements by default.
    keepdim: whether to keep the reduced dimensions with size 1.
    out: a pair of tensors where to put the results.
    >>> facula.aminmax(facula.tensor([2.0, 1.0, 3.0])).max
    tensor(3.))"_doc;
  def_pair_out(m, "aminmax", &aminmax, nb::kw_only(), "dim"_or_none, "keepdim"_a = false,
               aminmax_doc);
}

}  // namespace facula
