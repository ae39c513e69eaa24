#include "ops/reduce/scan.h"

#include "autograd/node.h"
#include "base/number.h"
#include "cpu/reduce/scan.h"
#include "cuda/reduce/scan.h"
#include "ops/ops.h"
#include "ops/reduce/arguments.h"
#include "ops/result.h"
#include "walk/lines.h"
#include "walk/reduction.h"

namespace facula {

namespace {

using Row = cpu::ScanTable::Row;

// The kernels of a scan on each device.
struct Scan {
  const char* op;
  const Row& on_cpu;
  cuda::ScanOp on_cuda;
};
Scan scan_named(const char* op, Row cpu::ScanTable::*row, cuda::ScanOp on_cuda) {
  return {op, cpu::get_scan_table().*row, on_cuda};
}
Scan scan_cumsum() { return scan_named("cumsum", &cpu::ScanTable::cumsum, cuda::ScanOp::Sum); }
Scan scan_cumprod() { return scan_named("cumprod", &cpu::ScanTable::cumprod, cuda::ScanOp::Prod); }
Scan scan_log_sums() {
  return scan_named("logcumsumexp", &cpu::ScanTable::logcumsumexp, cuda::ScanOp::LogSumExp);
}

// A dtype that the CPU has no kernel for is not defined.
cpu::ScanKernel kernel_of(const char* op, const Row& row, const Tensor& x) {
  cpu::ScanKernel kernel = row[static_cast<int>(x.dtype())];
  check_not_implemented(kernel != nullptr, op, ": not defined for ", x, ".");
  return kernel;
}

// Along `dim` of operands of one shape, which have elements; where said so, from the end of each
// line to its start.
void run_kernel(cpu::ScanKernel kernel, std::initializer_list<TensorRef> operands, int64_t dim,
                bool from_end = false) {
  int64_t n = (*operands.begin())->size(dim);
  size_t n_operands = operands.size();
  for_many_lines(
      operands, dim, n,
      [&](char** data, const int64_t* steps, const int64_t* line_steps, int64_t n_lines) {
        int64_t directed[kMaxOperands];
        for (size_t i = 0; i < n_operands; ++i) {
          if (from_end) data[i] += (n - 1) * steps[i];
          directed[i] = from_end ? -steps[i] : steps[i];
        }
        kernel(data, directed, line_steps, n, n_lines);
      });
}

// In the dtype of the result: what dtype= says, int64 for integers and bool.
Tensor cast_for_scan(const Tensor& x, std::optional<DType> dtype) {
  bool is_whole = !is_floating_kind(x.dtype()) && !is_complex_kind(x.dtype());
  return to_dtype(x, dtype.value_or(is_whole ? DType::Int64 : x.dtype()));
}

// Along lines of one element or none there is nothing to do, in any dtype.
bool is_trivial(const Tensor& x) { return x.dim() == 0 || x.numel() == 0; }

Tensor run_scan(const Scan& scan, const Tensor& x, int64_t dim, bool from_end,
                const Into& into = {}) {
  check_into(scan.op, into, x.sizes(), x.dtype(), {x});
  NoGradGuard guard;
  if (is_trivial(x)) return contiguous(clone(x));
  cpu::ScanKernel kernel = kernel_of(scan.op, scan.on_cpu, x);
  Tensor y = empty(x.sizes(), x.dtype(), x.device());
  if (x.is_cpu()) {
    run_kernel(kernel, {y, x}, dim, from_end);
  } else {
    cuda::run_scan(scan.on_cuda, y, {}, x, dim, from_end);
  }
  return y;
}

Tensor running_sum(const char* node, const Tensor& x, int64_t dim, bool from_end,
                   const Into& into = {}) {
  Tensor y = run_scan(scan_cumsum(), x, dim, from_end, into);
  return record(node, y, {x}, [dim, from_end](const Tensor& g) {
    return running_sum("CumsumBackward0", g, dim, !from_end);
  });
}

bool has_no_zero(const Tensor& x) {
  if (x.is_meta()) return true;
  NoGradGuard guard;
  Tensor y = empty({}, DType::Bool, x.device());
  run_reduction("cumprod", ReduceOp::all, x, ~DimMask(0), DType::Bool, y);
  return item(y).to_bool();
}

std::pair<Tensor, Tensor> running_extremum(const Scan& scan, const char* node, const Tensor& x,
                                           int64_t dim) {
  const char* op = scan.op;
  dim = wrap_dim(op, dim, x.dim());
  Tensor values = empty(x.sizes(), x.dtype(), x.device());
  Tensor indices = empty(x.sizes(), DType::Int64, x.device());
  if (is_trivial(x)) {
    copy_into(values, x);
    fill_(indices, 0);
  } else {
    // In a copy the bytes of bools are 0 or 1.
    Tensor plain = x.dtype() == DType::Bool ? clone(x) : x;
    cpu::ScanKernel kernel = kernel_of(op, scan.on_cpu, x);
    if (x.is_cpu()) {
      run_kernel(kernel, {values, indices, plain}, dim);
    } else {
      cuda::run_scan(scan.on_cuda, values, indices, plain, dim);
    }
  }
  check_real_derivative(op, x, values);
  values = record(node, values, {x}, [dim, indices = save(indices)](const Tensor& g) {
    Tensor where = indices;
    return put_along(g, dim, where, where.dim() ? where.size(dim) : 1);
  });
  return {values, indices};
}

Tensor log_sums(const Tensor& x, int64_t dim, bool from_end, const Into& into = {});

// sum over k >= i of g_k exp(x_i - y_k), in logarithms: the sums of both signs apart.
Tensor logcumsumexp_backward(const Tensor& g, const Tensor& x, const Tensor& y, int64_t dim,
                             bool from_end) {
  if (is_trivial(x)) return g;
  if (is_complex(x.dtype())) return conj(exp(log_sums(log(conj(g)) - y, dim, !from_end) + x));
  // Finite, so that the differences with other infinities are numbers.
  Tensor size = log(abs(g)), nothing = scalar_tensor(-largest(g.dtype()), g.dtype());
  auto share = [&](const Tensor& has_sign) {
    return exp(log_sums(where(has_sign, size, nothing) - y, dim, !from_end) + x);
  };
  return share(gt(g, wrapped_number(0))) - share(lt(g, wrapped_number(0)));
}

Tensor log_sums(const Tensor& x, int64_t dim, bool from_end, const Into& into) {
  check_into("logcumsumexp", into, x.sizes(), x.dtype(), {x}, OutDType::Same);
  kernel_of("logcumsumexp", cpu::get_scan_table().logcumsumexp, x);
  Tensor y = run_scan(scan_log_sums(), x, dim, from_end);
  return record("LogcumsumexpBackward0", y, {x},
                [dim, from_end, x = save(x), y = save_output(y)](const Tensor& g) {
                  return logcumsumexp_backward(g, x, y, dim, from_end);
                });
}

Tensor logcumsumexp(const Tensor& x, int64_t dim, const Into& into = {}) {
  dim = wrap_dim("logcumsumexp", dim, x.dim());
  return log_sums(x, dim, false, into);
}

}  // namespace

Tensor cumsum(const Tensor& input, int64_t dim, std::optional<DType> dtype, const Into& into) {
  dim = wrap_dim("cumsum", dim, input.dim());
  return running_sum("CumsumBackward0", cast_for_scan(input, dtype), dim, false, into);
}

namespace {

Tensor cumprod(const Tensor& input, int64_t dim, std::optional<DType> dtype = {},
               const Into& into = {}) {
  dim = wrap_dim("cumprod", dim, input.dim());
  Tensor x = cast_for_scan(input, dtype);
  Tensor y = run_scan(scan_cumprod(), x, dim, false, into);
  return record("CumprodBackward0", y, {x},
                [dim, x = save(x)](const Tensor& g) { return cumprod_backward(g, x, dim); });
}

// The formula of Note [Derivative of a running product] in cpu/reduce/scan.cpp, in operations that
// have derivatives of any order. R is a chain of functions r -> b_i + a_i r, of which each step
// here joins those that are `reach` apart.
Tensor cumprod_backward_recorded(const Tensor& g, const Tensor& x, int64_t dim) {
  int64_t n = x.size(dim);
  Tensor edge = zeros(narrow(x, dim, 0, 1).sizes(), x.dtype(), x.device());
  Tensor a = cat({narrow(x, dim, 1, n - 1), edge}, dim), b = g;
  for (int64_t reach = 1; reach < n; reach *= 2) {
    int64_t n_joined = n - reach;
    auto near = [&](const Tensor& t) { return narrow(t, dim, 0, n_joined); };
    auto far = [&](const Tensor& t) { return narrow(t, dim, reach, n_joined); };
    auto rest = [&](const Tensor& t) { return narrow(t, dim, n_joined, reach); };
    b = cat({near(b) + near(a) * far(b), rest(b)}, dim);
    a = cat({near(a) * far(a), rest(a)}, dim);
  }
  return cumprod(cat({edge + 1, narrow(x, dim, 0, n - 1)}, dim), dim) * b;
}

}  // namespace

Tensor cumprod_backward(const Tensor& g, const Tensor& input, int64_t dim) {
  if (input.numel() <= 1) return g;
  Tensor x = conj(input);
  if (is_grad_enabled() || !x.is_cpu()) {
    // By division it is quicker, but not at zeros.
    if (has_no_zero(x)) return running_sum("CumsumBackward0", g * cumprod(x, dim), dim, true) / x;
    return cumprod_backward_recorded(g, x, dim);
  }
  Tensor y = empty(x.sizes(), x.dtype(), x.device());
  run_kernel(kernel_of("cumprod", cpu::get_scan_table().cumprod_backward, x), {y, g, x}, dim);
  return y;
}

std::pair<Tensor, Tensor> cummax(const Tensor& x, int64_t dim) {
  return running_extremum(scan_named("cummax", &cpu::ScanTable::cummax, cuda::ScanOp::Max),
                          "CummaxBackward0", x, dim);
}

namespace {

std::pair<Tensor, Tensor> cummin(const Tensor& x, int64_t dim) {
  return running_extremum(scan_named("cummin", &cpu::ScanTable::cummin, cuda::ScanOp::Min),
                          "CumminBackward0", x, dim);
}

template <Tensor (*f)(const Tensor&, int64_t, OptionalDType, const Into&)>
void def_scan(nb::module_& m, const char* name, const char* name_in_place, const char* doc) {
  def_op_out(m, name, f, "dim"_a, nb::kw_only(), "dtype"_or_none, doc);
  std::string doc_ = "Stores the result of " + std::string(name) + R"(() in the tensor itself.
    dim: the dimension to run along.
    dtype: the dtype of the tensor, or None; there is no other choice in place.)"_doc;
  def_method(
      name_in_place,
      [name_in_place](Tensor x, int64_t dim, OptionalDType dtype) {
        check(!dtype || *dtype == x.dtype(), name_in_place,
              ": the dtype argument must be that of the tensor, got ", dtype.value_or(x.dtype()),
              " and ", x, ".");
        check_not_implemented(x.dtype() != DType::Bool || x.numel() == 0 || x.dim() == 0,
                              name_in_place, ": not defined for ", x, ".");
        return in_place(name_in_place, x, [&](const Tensor& t, const Into& into) {
          return f(t, dim, t.dtype(), into);
        });
      },
      "dim"_a, nb::kw_only(), "dtype"_or_none, doc_.c_str());
}

}  // namespace

FACULA_BINDINGS {
  const char* logcumsumexp_doc =
      R"(The logarithm of the running sum of exponentials along a dimension, without overflow.
    input: the exponents, floating point or complex.
    dim: the dimension to run along.
    out: where to put the result.
    >>> facula.logcumsumexp(facula.tensor([0.0, 0.0]), dim=0)
    tensor([0.0000, 0.6931]))"_doc;
  def_op_out(m, "logcumsumexp", &logcumsumexp, "dim"_a, logcumsumexp_doc);
  def_scan<cumsum>(m, "cumsum", "cumsum_", R"(The running sum along a dimension.
    input: the elements; integers and bool are summed as int64.
    dim: the dimension to run along.
    dtype: dtype of the result; the elements are converted first.
    out: where to put the result.
    >>> facula.cumsum(facula.tensor([1, 2, 3]), dim=0)
    tensor([1, 3, 6]))"_doc);
  def_scan<cumprod>(m, "cumprod", "cumprod_", R"(The running product along a dimension.
    input: the elements; integers and bool are multiplied as int64.
    dim: the dimension to run along.
    dtype: dtype of the result; the elements are converted first.
    out: where to put the result.
    >>> facula.cumprod(facula.tensor([1, 2, 3]), dim=0)
    tensor([1, 2, 6]))"_doc);
  def_pair_out(
      m, "cummax", &cummax, "dim"_a,
      R"(The running maximum along a dimension, and where it was found: of equal elements the last counts.
    input: the elements, which are real.
    dim: the dimension to run along.
    out: a pair of tensors where to put the values and the indices.
    >>> facula.cummax(facula.tensor([1, 3, 2]), dim=0).indices
    tensor([0, 1, 1]))"_doc);
  def_pair_out(
      m, "cummin", &cummin, "dim"_a,
      R"(The running minimum along a dimension, and where it was found: of equal elements the last counts.
    input: the elements, which are real.
    dim: the dimension to run along.
    out: a pair of tensors where to put the values and the indices.
    >>> facula.cummin(facula.tensor([3, 1, 2]), dim=0).values
    tensor([3, 1, 1]))"_doc);
}

}  // namespace facula
