#include "ops/reduce/reduce.h"

#include "autograd/node.h"
#include "cpu/reduce/reduce_walk.h"
#include "cuda/cuda.h"
#include "ops/ops.h"
#include "ops/reduce/arguments.h"
#include "ops/reduce/extrema.h"
#include "tables/mentions.h"

namespace facula {

void run_reduction(const char* op, ReduceOp kernel, const Tensor& x, DimMask mask, DType read_dtype,
                   const Tensor& values, const Tensor& seconds, const ReduceParams& params) {
  check_not_implemented(cpu::has_reduction(kernel, read_dtype), op, ": not defined for ", x, ".");
  if (x.is_cpu()) return cpu::run_reduction(kernel, x, mask, read_dtype, values, seconds, params);
  cuda::run_reduction(op, kernel, x, mask, read_dtype, values, seconds, params);
}

Tensor with_kept_dims(const Tensor& y, const Dims& sizes, DimMask mask, bool keepdim) {
  if (keepdim || y.dim() == static_cast<int64_t>(sizes.size()) || y.dim() == 0) return y;
  Dims kept = sizes;
  for (size_t d = 0; d < kept.size(); ++d)
    if (is_in(mask, d)) kept[d] = 1;
  return reshape(y, kept);
}

Tensor sum_to_size(const Tensor& x, const Dims& sizes) {
  if (x.sizes() == sizes) return x;
  check(is_expandable_to(sizes, x.sizes()), "sum_to_size: a tensor of shape ", x.sizes(),
        " cannot be summed to ", sizes, ".");
  Dims dims;
  int64_t extra = x.dim() - static_cast<int64_t>(sizes.size());
  for (int64_t i = 0; i < x.dim(); ++i)
    if (i < extra || (sizes[i - extra] == 1 && x.size(i) != 1)) dims.push_back(i);
  return reshape(dims.empty() ? x : sum(x, dims, true), sizes);
}

namespace {

enum class TakesOut { Always, WithDim };

// A row of tables/reduce.def, which explains the members.
struct Row {
  const char* name;
  ReduceOp op;
  ReduceResult result;
  Kinds kinds;
  const char* nodes[2];
  Tensor (*gradient)(const Tensor& g, const Tensor& x, const Tensor& y, double n);
  bool keeps_x, keeps_y;
  TakesOut takes_out;
  const char *sentence, *example, *shown;
};
#define REDUCTION(name, result, kinds, node, node_with_dim, element, Join, total, gradient, out, \
                  sentence, example, shown)                                                      \
  constexpr Row name##_row = {                                                                   \
      #name,                                                                                     \
      ReduceOp::name,                                                                            \
      ReduceResult::result,                                                                      \
      Kinds::kinds,                                                                              \
      {node, node_with_dim},                                                                     \
      [](const Tensor& g, [[maybe_unused]] const Tensor& x, [[maybe_unused]] const Tensor& y,    \
         [[maybe_unused]] double n) -> Tensor { return gradient; },                              \
      mentions(#gradient, 'x'),                                                                  \
      mentions(#gradient, 'y'),                                                                  \
      TakesOut::out,                                                                             \
      sentence,                                                                                  \
      example,                                                                                   \
      shown};
#include "tables/reduce.def"

void check_kinds(const Row& row, const Tensor& x, std::optional<DType> dtype) {
  if (row.kinds == Kinds::FCONLY)
    check(is_differentiable(dtype.value_or(x.dtype())), row.name,
          ": expected a floating-point or complex input, got ", x,
          ". Convert it with input.float(), or pass dtype=.");
  if (row.kinds == Kinds::ALL)
    check(!is_complex(x.dtype()), row.name, ": expected a real input, got ", x, ".");
}

DType read_dtype(const Row& row, DType dtype) {
  if (row.result == ReduceResult::Truth) return DType::Bool;
  return row.result == ReduceResult::Element && is_integral(dtype) ? dtype : wide_dtype(dtype);
}

DType result_dtype(const Row& row, DType dtype, std::optional<DType> wanted) {
  if (row.result == ReduceResult::Truth) return dtype == DType::UInt8 ? DType::UInt8 : DType::Bool;
  if (row.result == ReduceResult::Element || is_differentiable(dtype))
    return wanted.value_or(dtype);
  return wanted.value_or(DType::Int64);
}

// The row is known when this is compiled: small tensors feel every question that is asked of it.
template <const Row& row>
Tensor reduce(const Tensor& input, const Dims& dims, bool keepdim, std::optional<DType> dtype,
              const Into& into = {}) {
  constexpr bool is_element = row.result == ReduceResult::Element;
  // PyTorch refuses a dtype before a dimension here, and there after it.
  constexpr bool checks_kinds_first = row.kinds == Kinds::FCONLY;
  if (checks_kinds_first) check_kinds(row, input, dtype);
  // Kernels that take integers too are not given a copy in the dtype that they read anyway.
  bool is_cast = dtype && (row.kinds == Kinds::FCONLY || *dtype != wide_dtype(input.dtype()));
  Tensor x = is_cast ? to_dtype(input, *dtype) : input;
  if (!is_element && is_wide_unsigned(x.dtype())) {
    if (dtype) check_computed(*dtype);
    x = to_dtype(x, row.result == ReduceResult::Truth ? DType::Bool : DType::Int64);
  }
  DimMask mask = dim_mask(row.name, dims, x.dim());
  if (!checks_kinds_first && !is_element) check_kinds(row, input, dtype);
  if (is_element) {
    if (dims.empty()) check_not_empty(row.name, x);
    check_dims_not_empty(row.name, x, mask);
    check_into(row.name, into, reduced_shape(x, mask, keepdim), x.dtype(), {x}, OutDType::Same);
    check_ordered(row.name, x);
  }
  Tensor y =
      empty(reduced_shape(x, mask, keepdim), result_dtype(row, x.dtype(), dtype), x.device());
  ReduceParams params;
  params.divisor = static_cast<double>(reduced_numel(x, mask));
  run_reduction(row.name, row.op, x, mask, read_dtype(row, x.dtype()), y, {}, params);
  if (row.result == ReduceResult::Truth) return y;
  return record(row.nodes[!dims.empty()], y, {x},
                [mask, keepdim, n = params.divisor, sizes = x.sizes(), dtype = x.dtype(),
                 is_leaf = x.is_leaf(), x = SavedIf<row.keeps_x>(x, false),
                 y = SavedIf<row.keeps_y>(y, true)](const Tensor& g) {
                  Tensor kept_g = with_kept_dims(to_dtype(g, dtype), sizes, mask, keepdim), kept_y;
                  if (row.keeps_y) kept_y = with_kept_dims(y, sizes, mask, keepdim);
                  Tensor result = row.gradient(kept_g, x, kept_y, n);
                  if (result.sizes() == sizes) return result;
                  // A program may write to the gradient of a leaf: g / n then has memory for all
                  // elements, while g has not, as in PyTorch. Other nodes compute with the few.
                  Tensor whole = expand(result, sizes);
                  bool is_copied = is_leaf && !result.is_same(kept_g);
                  return is_copied ? clone(whole, MemoryFormat::Contiguous) : whole;
                });
}

}  // namespace

#define REDUCTION(name, ...)                                                                 \
  Tensor name(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype) { \
    return reduce<name##_row>(x, dims, keepdim, dtype);                                      \
  }
#include "tables/reduce.def"

namespace {

std::string docstring(const Row& row) {
  const char* input = row.result == ReduceResult::Truth     ? "the elements; all but zero are true."
                      : row.result == ReduceResult::Element ? "the elements, which are real."
                      : row.kinds == Kinds::FCONLY
                          ? "the elements, floating point or complex."
                          : "the elements; integers and bool are taken as int64.";
  std::string text = std::string(row.sentence) + "\n\nArgs:\n    input: " + input +
                     "\n    dim: the dimensions to reduce, an int or several; all by default."
                     "\n    keepdim: whether to keep the reduced dimensions with size 1.";
  if (row.result == ReduceResult::Total)
    text += "\n    dtype: dtype of the result; the elements are converted first.";
  return text + "\n    out: where to put the result.\n\nExample:\n    >>> facula." + row.name +
         "(" + row.example + ")\n    " + row.shown + "\n";
}

// The row as Python calls it.
template <const Row& row>
Tensor call(const Tensor& x, const OptionalDims& dim, bool keepdim, OptionalDType dtype,
            const Out& out) {
  check_type(row.takes_out == TakesOut::Always || dim || !out, row.name,
             ": out= is only taken together with dim.");
  if (row.result != ReduceResult::Truth)
    return with_out(row.name, out, [&](const Into& into) {
      return reduce<row>(x, dims_of(dim), keepdim, dtype, into);
    });
  // Of no dimensions, given as (), every element is a reduction of its own.
  if (!dim || !dim->empty())
    return into_exact_out(row.name, reduce<row>(x, dims_of(dim), keepdim, dtype), out);
  NoGradGuard guard;
  return into_exact_out(row.name, reduce<row>(unsqueeze(x, -1), {-1}, false, dtype), out);
}

template <const Row& row>
void def_reduction(nb::module_& m) {
  std::string doc = docstring(row);
  auto dim = "dim"_or_none, dtype = "dtype"_or_none, out = "out"_or_none;
  auto keepdim = "keepdim"_a = false;
  if constexpr (row.result == ReduceResult::Total) {
    m.def(row.name, call<row>, "input"_a, dim, keepdim, nb::kw_only(), dtype, out, doc.c_str());
    def_method(
        row.name,
        [](const Tensor& x, const OptionalDims& dim, bool keepdim, OptionalDType dtype) {
          return call<row>(x, dim, keepdim, dtype, {});
        },
        dim, keepdim, nb::kw_only(), dtype, doc.c_str());
  } else {
    m.def(
        row.name,
        [](const Tensor& x, const OptionalDims& dim, bool keepdim, const Out& out) {
          return call<row>(x, dim, keepdim, {}, out);
        },
        "input"_a, dim, keepdim, nb::kw_only(), out, doc.c_str());
    def_method(
        row.name,
        [](const Tensor& x, const OptionalDims& dim, bool keepdim) {
          return call<row>(x, dim, keepdim, {}, {});
        },
        dim, keepdim, doc.c_str());
  }
}

// For tests: the name, what it gives, and the dtypes that it takes.
nb::tuple describe(const Row& row) {
  constexpr const char* results[] = {"total", "element", "truth"};
  nb::list dtypes;
#define FACULA_TAKES(T, Name) \
  if (in_kinds<T>(row.kinds)) dtypes.append(dtype_name(DType::Name));
  FACULA_FORALL_DTYPES(FACULA_TAKES)
#undef FACULA_TAKES
  return nb::make_tuple(row.name, results[static_cast<int>(row.result)], dtypes);
}

nb::list describe_all() {
  nb::list rows;
#define REDUCTION(name, ...) rows.append(describe(name##_row));
#include "tables/reduce.def"
  return rows;
}

}  // namespace

FACULA_BINDINGS {
#define REDUCTION(name, ...) def_reduction<name##_row>(m);
#include "tables/reduce.def"
  m.def("_reduce_rows", describe_all);
}

}  // namespace facula
