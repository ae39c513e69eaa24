#include "ops/linalg/matmul.h"

#include "autograd/node.h"
#include "base/number.h"
#include "cuda/cuda.h"
#include "ops/ops.h"
#include "ops/result_binding.h"
#include "products/matmul.h"

namespace facula {

namespace {

void check_operands(const char* op, const Tensor& a, const Tensor& b) {
  check(a.dtype() == b.dtype(), op, ": expected both operands of one dtype, got ", a, " and ", b,
        ". (expected m1 and m2 to have the same dtype)");
  check_same_device(op, {a, b});
}

// A matrix as BLAS reads it: rows or columns at unit distance, else a copy.
struct Matrix {
  Tensor tensor;
  products::Trans trans;
  int64_t ld;
};

Matrix as_matrix(const Tensor& x) {
  int64_t rows = x.size(-2), cols = x.size(-1), by_row = x.stride(-2), by_col = x.stride(-1);
  if (by_col == 1 && (by_row >= std::max<int64_t>(cols, 1) || rows <= 1))
    return {x, products::Trans::No, std::max({by_row, cols, int64_t{1}})};
  if (by_row == 1 && (by_col >= std::max<int64_t>(rows, 1) || cols <= 1))
    return {x, products::Trans::Yes, std::max({by_col, rows, int64_t{1}})};
  if (cols == 1 && by_row >= 1) return {x, products::Trans::No, by_row};
  return {contiguous(x), products::Trans::No, std::max<int64_t>(cols, 1)};
}

// out = alpha a b + beta out, for (m, k), (k, n) or batches of them. out has rows at unit distance.
// On a GPU a bias, one number a column, may be added in the same go.
void run_matmul(const char* op, const Tensor& out, const Tensor& a, const Tensor& b, Scalar beta,
                Scalar alpha, const Tensor& bias = {}) {
  NoGradGuard guard;
  if (out.dtype() == DType::Bool) {
    check_not_implemented(out.numel() == 0 || a.size(-1) == 0, op, ": not defined for bool.");
    if (!beta.to_bool()) copy_into(out, wrapped_number(false));
    return;
  }
  check_factor(op, "alpha", alpha, out.dtype());
  check_factor(op, "beta", beta, out.dtype());
  if (out.is_meta()) return;
  Matrix ma = as_matrix(a), mb = as_matrix(b);
  visit_dtype(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      products::Gemm<T> gemm;
      gemm.trans_a = ma.trans;
      gemm.trans_b = mb.trans;
      gemm.m = out.size(-2);
      gemm.n = out.size(-1);
      gemm.k = a.size(-1);
      gemm.alpha = alpha.to<Wide<T>>();
      gemm.beta = beta.to<Wide<T>>();
      gemm.a = ma.tensor.template address_as<T>();
      gemm.lda = ma.ld;
      gemm.b = mb.tensor.template address_as<T>();
      gemm.ldb = mb.ld;
      gemm.c = out.address_as<T>();
      gemm.ldc = std::max<int64_t>(out.size(-1), 1);
      if (out.dim() == 3) {
        gemm.n_batch = out.size(0);
        gemm.stride_a = ma.tensor.stride(0);
        gemm.stride_b = mb.tensor.stride(0);
        gemm.stride_c = out.stride(0);
      }
      if (out.is_cpu()) {
        products::gemm(gemm);
      } else {
        cuda::gemm(gemm, out.device(), bias.defined() ? bias.address_as<T>() : nullptr);
      }
    }
  });
}

Tensor product(const char* op, const Tensor& a, const Tensor& b) {
  Dims sizes = a.sizes();
  sizes.back() = b.size(-1);
  Tensor y = empty(sizes, a.dtype(), a.device());
  run_matmul(op, y, a, b, 0, 1);
  return y;
}

bool is_zero(Scalar s) { return !s.is_complex() && s.to_double() == 0; }
bool is_one(Scalar s) { return !s.is_complex() && s.to_double() == 1; }

Tensor scaled(const Tensor& x, Scalar by) { return is_one(by) ? x : x * by; }
Scalar conj_of(Scalar s) { return s.is_complex() ? Scalar(std::conj(s.to_complex())) : s; }
Tensor conj_t(const Tensor& x) { return conj(transpose(x, -2, -1)); }

// Whether cuBLAS adds c to the rows of y itself.
bool is_bias_on_gpu(const Tensor& c, const Tensor& y) {
  return !y.is_cpu() && y.dim() == 2 && c.dim() == 1 && c.size(0) == y.size(1) &&
         (c.stride(0) == 1 || c.size(0) == 1) && is_floating(c.dtype()) &&
         c.dtype() != DType::Float64 && reinterpret_cast<uintptr_t>(c.address()) % 16 == 0;
}

// beta c + alpha a b, where c broadcasts to the product's shape.
Tensor add_product(const char* op, const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta,
                   Scalar alpha) {
  check(c.dtype() == a.dtype(), op, ": expected input to have the dtype of the matrices, got ", c,
        " and ", a, ".");
  check_same_device(op, {c, a});
  Dims sizes = a.sizes();
  sizes.back() = b.size(-1);
  check(is_expandable_to(c.sizes(), sizes), op, ": expected an input that broadcasts to ", sizes,
        ", got ", c.sizes(), ".");
  Tensor y = empty(sizes, a.dtype(), a.device());
  if (a.size(-1) == 0 && y.numel() > 0) {
    // Only beta c remains, whose dtype must be that of the result.
    DType dtype = result_type({c, wrapped_number(beta)});
    check(can_cast(dtype, c.dtype()), op, ": the result of beta and input is ", dtype,
          " and cannot be stored in ", c.dtype(), ".");
  }
  if (is_bias_on_gpu(c, y) && is_one(beta) && is_one(alpha) && a.size(-1) > 0) {
    run_matmul(op, y, a, b, 0, 1, c);
    return y;
  }
  if (!is_zero(beta)) copy_into(y, c);
  run_matmul(op, y, a, b, beta, alpha);
  return y;
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) {
  check(a.dim() == 2 && b.dim() == 2, "mm: expected two matrices (2 dimensions each), got ", a,
        " and ", b, ".");
  check_operands("mm", a, b);
  check(a.size(1) == b.size(0),
        "mm: expected as many columns in the first matrix as rows in the second, got ", a, " and ",
        b, ".");
  return record(
      "MmBackward0", product("mm", a, b), {a, b},
      [a = save(b.requires_grad() ? a : Tensor()), b = save(a.requires_grad() ? b : Tensor())](
          const Tensor& g, Needs need) -> TensorList {
        return {need[0] ? mm(g, conj_t(b)) : Tensor(), need[1] ? mm(conj_t(a), g) : Tensor()};
      });
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  check(a.dim() == 3 && b.dim() == 3,
        "bmm: expected two batches of matrices (3 dimensions each), got ", a, " and ", b, ".");
  check_operands("bmm", a, b);
  check(a.size(0) == b.size(0) && a.size(2) == b.size(1),
        "bmm: expected (b, m, k) and (b, k, n), got ", a.sizes(), " and ", b.sizes(),
        ". (Expected size for first two dimensions of batch2 tensor to be: [", a.size(0), ", ",
        a.size(2), "])");
  return record(
      "BmmBackward0", product("bmm", a, b), {a, b},
      [a = save(b.requires_grad() ? a : Tensor()), b = save(a.requires_grad() ? b : Tensor())](
          const Tensor& g, Needs need) -> TensorList {
        return {need[0] ? bmm(g, conj_t(b)) : Tensor(), need[1] ? bmm(conj_t(a), g) : Tensor()};
      });
}

Tensor mv(const Tensor& a, const Tensor& x) {
  check(a.dim() == 2 && x.dim() == 1, "mv: expected a matrix and a vector, got ", a, " and ", x,
        ".");
  check_operands("mv", a, x);
  check(a.size(1) == x.size(0),
        "mv: expected as many columns in the matrix as elements in the vector, got ", a, " and ", x,
        ".");
  Tensor y = empty({a.size(0)}, a.dtype(), a.device());
  {
    NoGradGuard guard;
    run_matmul("mv", unsqueeze(y, 1), a, unsqueeze(x, 1), 0, 1);
  }
  return record(
      "MvBackward0", y, {a, x},
      [a = save(x.requires_grad() ? a : Tensor()), x = save(a.requires_grad() ? x : Tensor())](
          const Tensor& g, Needs need) -> TensorList {
        return {need[0] ? outer(g, conj(x)) : Tensor(), need[1] ? mv(conj_t(a), g) : Tensor()};
      });
}

Tensor dot(const Tensor& x, const Tensor& y) {
  check(x.dim() == 1 && y.dim() == 1, "dot: expected two vectors, got ", x, " and ", y,
        ". (1D tensors expected)");
  check(x.dtype() == y.dtype(), "dot: expected vectors of one dtype, got ", x, " and ", y, ".");
  check_operands("dot", x, y);
  check(x.size(0) == y.size(0), "dot: expected vectors of one length, got ", x.size(0), " and ",
        y.size(0), ".");
  check_not_implemented(x.dtype() != DType::Bool, "dot: not defined for bool.");
  Tensor out = empty({}, x.dtype(), x.device());
  {
    NoGradGuard guard;
    run_matmul("dot", as_strided(out, {1, 1}, {1, 1}, 0), unsqueeze(x, 0), unsqueeze(y, 1), 0, 1);
  }
  return record(
      "DotBackward0", out, {x, y},
      [x = save(y.requires_grad() ? x : Tensor()), y = save(x.requires_grad() ? y : Tensor())](
          const Tensor& g, Needs need) -> TensorList {
        return {need[0] ? g * conj(y) : Tensor(), need[1] ? g * conj(x) : Tensor()};
      });
}

Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  check(a.dim() == 2 && b.dim() == 2,
        "addmm: expected mat1 and mat2 to be matrices (2 dimensions each), got ", a, " and ", b,
        ".");
  check_operands("addmm", a, b);
  check(a.size(1) == b.size(0), "addmm: expected as many columns in mat1 as rows in mat2, got ", a,
        " and ", b, ".");
  Tensor y = add_product("addmm", c, a, b, beta, alpha);
  return record(
      "AddmmBackward0", y, {c, a, b},
      [a = save(b.requires_grad() ? a : Tensor()), b = save(a.requires_grad() ? b : Tensor()), beta,
       alpha, sizes = c.sizes()](const Tensor& g, Needs need) -> TensorList {
        Scalar by = conj_of(alpha);
        return {need[0] ? scaled(sum_to_size(g, sizes), conj_of(beta)) : Tensor(),
                need[1] ? scaled(mm(g, conj_t(b)), by) : Tensor(),
                need[2] ? scaled(mm(conj_t(a), g), by) : Tensor()};
      });
}

namespace {

// PyTorch looks for a dimension that is not there before it counts them.
void check_batches(const char* op, const Tensor& a, const Tensor& b) {
  const char* text = ": expected batch1 and batch2 of 3 dimensions, got ";
  check_index(a.dim() >= 2 && b.dim() >= 3, op, text, a, " and ", b, ".");
  check(a.dim() == 3 && b.dim() == 3, op, text, a, " and ", b, ".");
}

}  // namespace

Tensor baddbmm(const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  check_batches("baddbmm", a, b);
  check_operands("baddbmm", a, b);
  check(a.size(0) == b.size(0) && a.size(2) == b.size(1),
        "baddbmm: expected (b, m, k) and (b, k, n), got ", a.sizes(), " and ", b.sizes(), ".");
  Tensor y = add_product("baddbmm", c, a, b, beta, alpha);
  return record(
      "BaddbmmBackward0", y, {c, a, b},
      [a = save(b.requires_grad() ? a : Tensor()), b = save(a.requires_grad() ? b : Tensor()), beta,
       alpha, sizes = c.sizes()](const Tensor& g, Needs need) -> TensorList {
        Scalar by = conj_of(alpha);
        return {need[0] ? scaled(sum_to_size(g, sizes), conj_of(beta)) : Tensor(),
                need[1] ? scaled(bmm(g, conj_t(b)), by) : Tensor(),
                need[2] ? scaled(bmm(conj_t(a), g), by) : Tensor()};
      });
}

Tensor addmv(const Tensor& c, const Tensor& a, const Tensor& x, Scalar beta, Scalar alpha) {
  check(a.dim() == 2 && x.dim() == 1, "addmv: expected a matrix and a vector, got ", a, " and ", x,
        ".");
  check_operands("addmv", a, x);
  check(a.size(1) == x.size(0), "addmv: size mismatch, got mat ", a.sizes(), " and vec ", x.sizes(),
        ".");
  check(is_expandable_to(c.sizes(), {a.size(0)}), "addmv: input ", c.sizes(),
        " does not broadcast to the product's shape ", Dims{a.size(0)}, ".");
  Tensor y;
  {
    NoGradGuard guard;
    Tensor column = c.dim() == 0 ? c : unsqueeze(c, 1);
    if (c.dtype() == DType::Bool) beta = beta.to_bool();
    y = alias(squeeze(add_product("addmv", column, a, unsqueeze(x, 1), beta, alpha), 1));
  }
  return record(
      "AddmvBackward0", y, {c, a, x},
      [a = save(x.requires_grad() ? a : Tensor()), x = save(a.requires_grad() ? x : Tensor()), beta,
       alpha, sizes = c.sizes()](const Tensor& g, Needs need) -> TensorList {
        Scalar by = conj_of(alpha);
        return {need[0] ? scaled(sum_to_size(g, sizes), conj_of(beta)) : Tensor(),
                need[1] ? scaled(outer(g, conj(x)), by) : Tensor(),
                need[2] ? scaled(mv(conj_t(a), g), by) : Tensor()};
      });
}

Tensor addbmm(const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  check_batches("addbmm", a, b);
  check_operands("addbmm", a, b);
  check(a.size(0) == b.size(0) && a.size(2) == b.size(1),
        "addbmm: expected (b, m, k) and (b, k, n), got ", a.sizes(), " and ", b.sizes(), ".");
  Tensor y;
  {
    // The sum over the batch is part of the sum over the inner dimension of one product.
    NoGradGuard guard;
    int64_t n_inner = a.size(0) * a.size(2);
    Tensor left = reshape(transpose(a, 0, 1), {a.size(1), n_inner});
    y = add_product("addbmm", c, left, reshape(b, {n_inner, b.size(2)}), beta, alpha);
  }
  return record(
      "AddbmmBackward0", y, {c, a, b},
      [a = save(b.requires_grad() ? a : Tensor()), b = save(a.requires_grad() ? b : Tensor()), beta,
       alpha, n_batch = a.size(0), sizes = c.sizes()](const Tensor& g, Needs need) -> TensorList {
        Scalar by = conj_of(alpha);
        Tensor each = expand(g, {n_batch, g.size(0), g.size(1)});
        return {need[0] ? scaled(sum_to_size(g, sizes), conj_of(beta)) : Tensor(),
                need[1] ? scaled(bmm(each, conj_t(b)), by) : Tensor(),
                need[2] ? scaled(bmm(conj_t(a), each), by) : Tensor()};
      });
}

Tensor outer(const Tensor& x, const Tensor& y) {
  check(x.dim() == 1, "outer: expected a vector as input, got ", x, ".");
  check(y.dim() == 1, "outer: expected a vector as vec2, got ", y, ".");
  return mul(reshape(x, {x.size(0), 1}), y);
}

namespace {

// (..., m, k) x (k, n) or (..., m, k) x (k,): one product of the flattened rows.
Tensor fold_left(const Tensor& a, const Tensor& b) {
  Dims sizes(a.sizes().begin(), a.sizes().end() - 1);
  int64_t n_rows = 1;  // counted, since -1 cannot be inferred from no elements
  for (int64_t size : sizes) n_rows *= size;
  Tensor rows = reshape(a, {n_rows, a.size(-1)});
  if (b.dim() == 1) return reshape(mv(rows, b), sizes);
  sizes.push_back(b.size(1));
  return reshape(mm(rows, b), sizes);
}

Tensor batched(const Tensor& a, const Tensor& b) {
  Dims batch_a(a.sizes().begin(), a.sizes().end() - 2),
      batch_b(b.sizes().begin(), b.sizes().end() - 2);
  Dims batch = broadcast_shapes("matmul", batch_a, batch_b);
  int64_t n_batch = 1;
  for (int64_t size : batch) n_batch *= size;
  auto spread = [&](const Tensor& x) {
    Dims sizes = batch;
    sizes.push_back(x.size(-2));
    sizes.push_back(x.size(-1));
    return reshape(expand(x, sizes), {n_batch, x.size(-2), x.size(-1)});
  };
  Dims out = batch;
  out.push_back(a.size(-2));
  out.push_back(b.size(-1));
  return reshape(bmm(spread(a), spread(b)), out);
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check(a.dim() > 0 && b.dim() > 0, "matmul: expected operands of at least one dimension, got ", a,
        " and ", b, ".");
  check_operands("matmul", a, b);
  int64_t inner = b.dim() == 1 ? b.size(0) : b.size(-2);
  check(a.size(-1) == inner, "matmul: the last dimension of the first operand, ", a,
        ", must equal the ", b.dim() == 1 ? "size" : "second to last dimension", " of the second, ",
        b, ": ", a.size(-1), " is not ", inner, ". (mat1 and mat2 shapes cannot be multiplied)");
  if (a.dim() == 1 && b.dim() == 1) return dot(a, b);
  if (a.dim() == 2 && b.dim() == 1) return mv(a, b);
  if (a.dim() == 1 && b.dim() == 2) return squeeze(mm(unsqueeze(a, 0), b), 0);
  if (a.dim() == 2 && b.dim() == 2) return mm(a, b);
  if (b.dim() <= 2) return fold_left(a, b);
  if (a.dim() == 1) return squeeze(batched(unsqueeze(a, 0), b), -2);
  return batched(a, b);
}

namespace {

using AddProduct = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, Scalar, Scalar);

// beta * input + alpha * a @ b
void def_add_product(nb::module_& m, const char* name, AddProduct f, const char* a_name,
                     const char* b_name, const char* doc) {
  nb::arg a(a_name), b(b_name);
  nb::arg_v beta = "beta"_a = Scalar(1), alpha = "alpha"_a = Scalar(1);
  def_op_out(m, name, f, a, b, nb::kw_only(), beta, alpha, doc);
  def_in_place(name, name, f, a, b, nb::kw_only(), beta, alpha);
}

void bind_add_products(nb::module_& m) {
  def_add_product(
      m, "addmm", addmm, "mat1", "mat2",
      R"(``beta * input + alpha * mat1 @ mat2``; input broadcasts to the product's shape.
    input: what is added to the product.
    mat1: the first matrix.
    mat2: the second matrix.
    beta: the factor of input.
    alpha: the factor of the product.
    out: where to put the result.
    >>> facula.addmm(facula.ones(1), facula.ones(1, 2), facula.ones(2, 1))
    tensor([[3.]]))"_doc);
  def_add_product(m, "baddbmm", baddbmm, "batch1", "batch2",
                  R"(``beta * input + alpha * batch1 @ batch2`` for batches of matrices.
    input: what is added to the products.
    batch1: the first matrices.
    batch2: the second matrices.
    beta: the factor of input.
    alpha: the factor of the products.
    out: where to put the result.
    >>> facula.baddbmm(facula.ones(1), facula.ones(2, 1, 3), facula.ones(2, 3, 1)).flatten()
    tensor([4., 4.]))"_doc);
  def_add_product(m, "addmv", addmv, "mat", "vec",
                  R"(``beta * input + alpha * mat @ vec``; input broadcasts to the product's shape.
    input: what is added to the product.
    mat: the matrix.
    vec: the vector.
    beta: the factor of input.
    alpha: the factor of the product.
    out: where to put the result.
    >>> facula.addmv(facula.ones(2), facula.eye(2), facula.tensor([1.0, 2.0]))
    tensor([2., 3.]))"_doc);
  def_add_product(
      m, "addbmm", addbmm, "batch1", "batch2",
      R"(``beta * input`` plus ``alpha`` times the sum of a batch of products; input broadcasts to it.
    input: what is added to the sum.
    batch1: the first matrices.
    batch2: the second matrices.
    beta: the factor of input.
    alpha: the factor of the sum.
    out: where to put the result.
    >>> facula.addbmm(facula.zeros(2, 2), facula.ones(3, 2, 4), facula.ones(3, 4, 2))
    tensor([[12., 12.],
            [12., 12.]]))"_doc);
}

}  // namespace

FACULA_BINDINGS {
  def_op_out(m, "mm", &mm, "mat2"_a, R"(The product of two matrices, (m, k) and (k, n).
    input: the first matrix.
    mat2: the second matrix.
    out: where to put the result.
    >>> facula.mm(facula.ones(2, 3), facula.ones(3, 1))
    tensor([[3.],
            [3.]]))"_doc);
  def_op_out(m, "bmm", &bmm, "mat2"_a,
             R"(The products of two batches of matrices, (b, m, k) and (b, k, n).
    input: the first matrices.
    mat2: the second matrices.
    out: where to put the result.
    >>> facula.bmm(facula.ones(4, 2, 3), facula.ones(4, 3, 5)).shape
    torch.Size([4, 2, 5]))"_doc);
  def_op_out(m, "mv", &mv, "vec"_a, R"(The product of a matrix (m, k) and a vector (k,).
    input: the matrix.
    vec: the vector.
    out: where to put the result.
    >>> facula.mv(facula.ones(2, 3), facula.ones(3))
    tensor([3., 3.]))"_doc);
  def_op_out(m, "dot", &dot, "tensor"_a, R"(The sum of the products of two vectors.
    input: the first vector.
    tensor: the second vector, of the size of the first.
    out: where to put the result.
    >>> facula.dot(facula.tensor([1, 2]), facula.tensor([3, 4]))
    tensor(11))"_doc);
  for (const char* name : {"outer", "ger"})
    def_op_out(m, name, &outer, "vec2"_a, R"(All products of two vectors: (m,) and (n,) give (m, n).
    input: the first vector.
    vec2: the second vector.
    out: where to put the result.
    >>> facula.outer(facula.tensor([1, 2]), facula.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]]))"_doc);
  def_op_out(
      m, "matmul", &matmul, "other"_a,
      R"(The matrix product by the number of dimensions: vectors, matrices, broadcast batches of matrices.
    input: a vector, a matrix or a batch of matrices.
    other: a vector, a matrix or a batch of matrices.
    out: where to put the result.
    >>> facula.matmul(facula.ones(5, 2, 3), facula.ones(3)).shape
    torch.Size([5, 2]))"_doc);
  bind_add_products(m);
}

}  // namespace facula
