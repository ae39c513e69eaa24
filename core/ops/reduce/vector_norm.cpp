#include "ops/reduce/vector_norm.h"

#include <cmath>

#include "autograd/node.h"
#include "ops/linalg/linalg.h"
#include "ops/ops.h"
#include "ops/reduce/arguments.h"

namespace facula {

namespace {

ReduceOp norm_kernel(double p) {
  if (std::isinf(p)) return p > 0 ? ReduceOp::norm_max : ReduceOp::norm_min;
  return p == 0   ? ReduceOp::norm0
         : p == 1 ? ReduceOp::norm1
         : p == 2 ? ReduceOp::norm2
                  : ReduceOp::norm_p;
}

// a, and 0 where `condition` holds: the derivative of a norm at 0 is taken as 0.
Tensor zero_where(const Tensor& condition, const Tensor& a) {
  return where(condition, scalar_tensor(0, a.dtype()), a);
}

// The gradient of x; y and g have the reduced dimensions kept.
Tensor norm_backward(const Tensor& g, const Tensor& x, const Tensor& y, double p,
                     const Dims& dims) {
  Tensor zero = wrapped_number(0);
  if (p == 1) return g * sgn(x);
  if (p == 2) {
    // Not divided by zero: its derivative would be NaN, which where() does not take away.
    Tensor is_zero = eq(y, zero);
    return zero_where(is_zero, g / where(is_zero, scalar_tensor(1, y.dtype()), y)) * x;
  }
  if (std::isinf(p)) {
    Tensor is_there = to_dtype(eq(abs(x), y), y.dtype());
    return sgn(x) * (g / sum(is_there, dims, true) * is_there);
  }
  Tensor power = pow(abs(x), wrapped_number(p - 1));
  if (p < 1) power = zero_where(eq(x, zero), power);
  return sgn(x) * power * zero_where(eq(y, zero), g * pow(y, wrapped_number(1 - p)));
}

}  // namespace

Tensor vector_norm(const Tensor& input, double p, const Dims& dims, bool keepdim,
                   std::optional<DType> dtype) {
  const char* op = "linalg.vector_norm";
  check(is_differentiable(input.dtype()), op, ": expected a floating-point or complex input, got ",
        input, ".");
  check(!dtype || is_differentiable(*dtype), op,
        ": expected a floating-point or complex dtype, got ", dtype.value_or(input.dtype()), ".");
  Tensor x = dtype ? to_dtype(input, *dtype) : input;
  DimMask mask = dim_mask(op, dims, x.dim());
  if (reduced_numel(x, mask) == 0)
    check(p >= 0 && !std::isinf(p), op, ": the norm of order ", p,
          " is not defined for no elements, got ", x, ".");
  Tensor y = empty(reduced_shape(x, mask, keepdim), to_real_dtype(x.dtype()), x.device());
  ReduceParams params;
  params.p = p;
  run_reduction(op, norm_kernel(p), x, mask, wide_dtype(x.dtype()), y, {}, params);
  return record("LinalgVectorNormBackward0", y, {x},
                [p, dims, mask, keepdim, x = save(x), y = save_output(y)](const Tensor& g) {
                  Tensor input = x;
                  if (p == 0) return Tensor();
                  auto kept = [&](const Tensor& t) {
                    return with_kept_dims(t, input.sizes(), mask, keepdim);
                  };
                  return norm_backward(kept(g), input, kept(y), p, dims);
                });
}

namespace {

// The order p: a number, None or 'fro' (both 2).
double norm_order(nb::handle p) {
  if (p.is_none()) return 2;
  if (nb::isinstance<nb::str>(p)) {
    std::string name = nb::cast<std::string>(p);
    check(name == "fro", "norm: order '", name,
          "' is not supported: expected a number, 'fro' or 'nuc'.");
    return 2;
  }
  Scalar number;
  check_type(scalar_from_object(p.ptr(), number) && !number.is_complex(),
             "norm: p must be a number, 'fro' or 'nuc', got ", nb::repr(p).c_str(), ".");
  return number.to_double();
}

// The sum of the singular values of matrices along two dimensions.
Tensor nuclear_norm(const Tensor& input, const OptionalDims& dim, bool keepdim,
                    OptionalDType dtype) {
  Tensor x = dtype ? to_dtype(input, *dtype) : input;
  Dims dims = dim ? *dim : Dims{0, 1};
  check(dims.size() == 2 && (dim ? x.dim() >= 2 : x.dim() == 2),
        "norm: the nuclear norm is of matrices, along two dimensions, got ", x, " and dim=", dims,
        ".");
  check(!is_reduced_float(x.dtype()), "norm: low precision dtypes are not supported, got ", x,
        ". Convert it with .float().");
  for (int64_t& d : dims) d = wrap_dim("norm", d, x.dim());
  check(dims[0] != dims[1], "norm: expected two different dimensions, got ", dims, ".");
  Tensor y = sum(svd(movedim(x, dims, {-2, -1}), false, false).s, {-1});
  if (!keepdim) return y;
  return unsqueeze(unsqueeze(y, std::min(dims[0], dims[1])), std::max(dims[0], dims[1]));
}

Tensor norm(const Tensor& x, nb::handle p, const OptionalDims& dim, bool keepdim,
            OptionalDType dtype) {
  if (nb::isinstance<nb::str>(p) && nb::cast<std::string>(p) == "nuc")
    return told_as("norm", [&] { return nuclear_norm(x, dim, keepdim, dtype); });
  double order = norm_order(p);
  return told_as("norm", [&] { return vector_norm(x, order, dims_of(dim), keepdim, dtype); });
}

}  // namespace

FACULA_BINDINGS {
  const char* norm_doc =
      R"(The ``p``-norm of all elements, or along dimensions, taken as one vector.
    input: the elements, floating point or complex.
    p: the order: any number, infinite too; ``"fro"`` is 2, ``"nuc"`` the sum of the singular values of matrices.
    dim: the dimensions to reduce, an int or several; all by default.
    keepdim: whether to keep the reduced dimensions with size 1.
    out: where to put the result.
    dtype: dtype to which the elements are converted first.
    >>> facula.norm(facula.tensor([3.0, 4.0]))
    tensor(5.))"_doc;
  m.def(
      "norm",
      [](const Tensor& x, nb::handle p, const OptionalDims& dim, bool keepdim, const Out& out,
         OptionalDType dtype) {
        return with_out("norm", out, [&] { return norm(x, p, dim, keepdim, dtype); });
      },
      "input"_a, "p"_a.none() = "fro", "dim"_or_none, "keepdim"_a = false, "out"_or_none,
      "dtype"_or_none, norm_doc);
  def_method("norm", norm, "p"_a.none() = "fro", "dim"_or_none, "keepdim"_a = false,
             "dtype"_or_none, norm_doc);
  // The name that users know makes it an operation. Never freed, as in def_functional().
  static auto& linalg = *new nb::module_(nb::steal<nb::module_>(PyModule_New("facula.linalg")));
  linalg.def(
      "vector_norm",
      [](const Tensor& x, Scalar ord, const OptionalDims& dim, bool keepdim, OptionalDType dtype,
         const Out& out) {
        return with_out("linalg.vector_norm", out, [&] {
          return vector_norm(x, ord.to_double(), dims_of(dim), keepdim, dtype);
        });
      },
      "input"_a, "ord"_a = Scalar(2), "dim"_or_none, "keepdim"_a = false, nb::kw_only(),
      "dtype"_or_none, "out"_or_none,
      R"(The norm of order ``ord`` of all elements, or along dimensions, taken as one vector.
    input: the elements, floating point or complex.
    ord: the order of the norm: any number, infinite too.
    dim: the dimensions to reduce, an int or several; all by default.
    keepdim: whether to keep the reduced dimensions with size 1.
    dtype: dtype to which the elements are converted first.
    out: where to put the result.
    >>> facula.linalg.vector_norm(facula.tensor([3.0, 4.0]))
    tensor(5.))"_doc);
  m.attr("_linalg_vector_norm") = linalg.attr("vector_norm");
}

}  // namespace facula
