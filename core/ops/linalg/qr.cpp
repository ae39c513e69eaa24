// The factorisation Q R, and the reflectors that Q is made of.
#include "autograd/node.h"
#include "ops/linalg/factor.h"
#include "ops/linalg/linalg.h"

namespace facula {

namespace {

struct Reflectors {
  Tensor a, tau;
};

Reflectors factor_qr(const Tensor& x) {
  NoGradGuard guard;
  Reflectors result{
      copy_columns(x),
      empty(with_column(batch_of(x), std::min(x.size(-2), x.size(-1))), x.dtype(), x.device())};
  visit_lapack(x, [&](auto tag) {
    using T = typename decltype(tag)::type;
    factor::qr(x.device(), n_matrices(x), x.size(-2), x.size(-1), result.a.address_as<T>(),
               result.tau.address_as<T>());
  });
  return result;
}

// The first `columns` columns of the product of the reflectors in a.
Tensor product_of(const Tensor& a, const Tensor& tau, int64_t columns) {
  NoGradGuard guard;
  int64_t m = a.size(-2), k = tau.size(-1);
  Tensor q = empty_columns(with_matrix(batch_of(a), m, columns), a.dtype(), a.device());
  int64_t n_given = std::min(columns, a.size(-1));
  copy_into(narrow(q, -1, 0, n_given), narrow(a, -1, 0, n_given));
  Tensor factors = contiguous(tau);
  visit_lapack(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    factor::reflectors_to_q(a.device(), n_matrices(a), m, columns, k, q.address_as<T>(),
                            factors.address_as<T>());
  });
  return q;
}

Tensor qr_backward(Tensor gq, const Tensor& gr, const Tensor& q, const Tensor& r) {
  int64_t k = q.size(-1), n = r.size(-1);
  // Of a wide matrix A = Q [R1 R2], R2 is Q^H A2.
  Tensor r1 = slice(r, -1, 0, k), inner, g;
  if (gr.defined()) inner = matmul(slice(gr, -1, 0, k), adjoint(r1));
  if (gr.defined() && n > k)
    inner = inner - matmul(slice(r, -1, k, n), adjoint(slice(gr, -1, k, n)));
  if (gq.defined()) {
    Tensor turn = matmul(adjoint(q), gq);
    inner = inner.defined() ? inner - turn : -turn;
  }
  Tensor above = triu(inner, 1);
  g = matmul(q, with_diagonal(above + adjoint(above), real(diagonal_of(inner))));
  if (gq.defined()) g = g + gq;
  if (gr.defined() && n > k)
    g = g + matmul(q, matmul(slice(r, -1, k, n), adjoint(slice(gr, -1, k, n))));
  g = solve_triangular(adjoint(r1), g, false, false);
  if (n == k) return g;
  Dims rest = g.sizes();
  rest.back() = n - k;
  return cat(
      {g, gr.defined() ? matmul(q, slice(gr, -1, k, n)) : zeros(rest, g.dtype(), g.device())}, -1);
}

nb::tuple qr(const Tensor& a, const std::string& mode) {
  const char* op = "linalg.qr";
  check(mode == "reduced" || mode == "complete" || mode == "r", op,
        ": expected mode 'reduced', 'complete' or 'r', got '", mode, "'.");
  check_matrices(op, "A", a);
  int64_t m = a.size(-2), n = a.size(-1), k = mode == "complete" ? m : std::min(m, n);
  Reflectors factored = factor_qr(a);
  Tensor q = empty({0}, a.dtype(), a.device());
  Tensor r = copy_columns(narrow(factored.a, -2, 0, k));
  clear_below(r);
  if (mode != "r") q = product_of(factored.a, factored.tau, k);
  record_all(
      "LinalgQrBackward0", {q, r}, {a},
      [mode, q = save_output(q), r = save_output(r)](const TensorList& gs, Needs) -> TensorList {
        check(mode != "r",
              "linalg.qr: the derivative depends on Q, which is not computed when "
              "mode='r'. Call linalg.qr(A, mode='reduced') if you want to go backward.");
        Tensor left = q, right = r;
        check(mode != "complete" || left.size(-2) <= right.size(-1),
              "linalg.qr: the derivative is not defined when mode='complete' and A has more "
              "rows than columns, got ",
              left.size(-2), " rows and ", right.size(-1), " columns.");
        return {qr_backward(gs[0], gs[1], left, right)};
      });
  return as_tuple({q, r});
}

nb::tuple geqrf(const Tensor& x) {
  check_matrices("geqrf", "input", x);
  Reflectors result = factor_qr(x);
  check(!(is_grad_enabled() && x.requires_grad() && is_complex(x.dtype())),
        "geqrf: does not support automatic differentiation for outputs with complex dtype.");
  record_all("NotImplemented", {result.a, result.tau}, {x},
             [](const TensorList&, Needs) -> TensorList {
               fail(ErrorKind::NotImplemented,
                    "geqrf: the derivative is not implemented. Use linalg.qr().");
             });
  return as_tuple({result.a, result.tau});
}

void check_reflectors(const char* op, const Tensor& a, const Tensor& tau, int64_t most) {
  check_matrices(op, "input", a);
  check(tau.dim() == a.dim() - 1, op, ": expected tau to have one dimension less than input, got ",
        tau, " and ", a, ".");
  check(tau.size(-1) <= most, op, ": expected at most ", most, " numbers in tau, got ", tau,
        " for reflectors ", a, ".");
  Dims batch = batch_of(a);
  check(Dims(tau.sizes().begin(), tau.sizes().end() - 1) == batch, op,
        ": expected tau with the batch dimensions of input, got ", tau, " and ", a, ".");
  check_same_dtype(op, a, tau);
}

Tensor householder_product(const Tensor& a, const Tensor& tau) {
  const char* op = "linalg.householder_product";
  check_matrices(op, "input", a);
  check(a.size(-2) >= a.size(-1), op,
        ": expected input with at least as many rows as columns, got ", a, ".");
  check_reflectors(op, a, tau, a.size(-1));
  return product_of(a, tau, a.size(-1));
}

Tensor ormqr(const Tensor& a, const Tensor& tau, const Tensor& c, bool is_left,
             bool is_transposed) {
  const char* op = "ormqr";
  check_reflectors(op, a, tau, a.dim() < 2 ? 0 : a.size(-1));
  check(c.dim() == a.dim(), op, ": expected other with as many dimensions as input, got ", c,
        " and ", a, ".");
  check_matrices(op, "other", c);
  check_same_dtype(op, a, c);
  int64_t k = tau.size(-1), size = c.size(is_left ? -2 : -1);
  check(k <= size && a.size(-2) == size, op, ": expected reflectors of ", size,
        " elements to multiply other ", c, " with, got ", a, " and ", k, " numbers in tau.");
  check(batch_of(a) == batch_of(c), op, ": expected the same batch dimensions, got ", a, " and ", c,
        ".");
  NoGradGuard guard;
  Tensor y = copy_columns(c), reflectors = as_columns(narrow(a, -1, 0, k)),
         factors = contiguous(tau);
  visit_lapack(c, [&](auto tag) {
    using T = typename decltype(tag)::type;
    char op = !is_transposed ? 'N' : is_complex_v<T> ? 'C' : 'T';
    factor::multiply_by_q(c.device(), n_matrices(c), c.size(-2), c.size(-1), k,
                          reflectors.address_as<T>(), factors.address_as<T>(), y.address_as<T>(),
                          is_left, op);
  });
  return y;
}

}  // namespace

FACULA_BINDINGS {
  m.def("_linalg_qr", &qr, "A"_a, "mode"_a);
  m.def("_geqrf", &geqrf, "input"_a);
  m.def("_householder_product", &householder_product, "input"_a, "tau"_a);
  m.def("_ormqr", &ormqr, "input"_a, "tau"_a, "other"_a, "left"_a, "transpose"_a);
}

}  // namespace facula
