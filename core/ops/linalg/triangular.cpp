// Triangular systems, and the factorisations of symmetric matrices that lead to them.
#include "autograd/node.h"
#include "ops/linalg/factor.h"
#include "ops/linalg/linalg.h"

namespace facula {

namespace {

// The kernel for matrices of one batch; nothing is recorded.
Tensor apply_triangular(const Tensor& a, const Tensor& b, products::Triangle form) {
  NoGradGuard guard;
  // What lies by rows is the transpose of what lies by columns, and is read where it is; but BLAS
  // does not conjugate without transposing.
  bool is_turned = a.is_contiguous() && !(form.op == 'C' && is_complex(a.dtype()));
  if (is_turned) {
    form.is_upper = !form.is_upper;
    form.op = form.op == 'N' ? 'T' : 'N';
  }
  Tensor x = copy_columns(b), triangle = is_turned ? a : as_columns(a);
  visit_lapack(x, [&](auto tag) {
    using T = typename decltype(tag)::type;
    factor::triangular_solve(x.device(), n_matrices(x), x.size(-2), x.size(-1),
                             triangle.address_as<T>(), x.address_as<T>(), form);
  });
  return x;
}

Tensor triangle_of(const Tensor& x, bool is_upper, bool is_unit) {
  return is_upper ? triu(x, is_unit) : lower(x, -static_cast<int64_t>(is_unit));
}

Dims check_sides(const char* op, const Tensor& a, const Tensor& b, bool is_left) {
  check_square(op, "A", a);
  check_matrices(op, "B", b);
  check_same_dtype(op, a, b);
  check(b.size(is_left ? -2 : -1) == a.size(-1), op,
        ": incompatible shapes of A and B for the equation ", is_left ? "AX = B" : "XA = B",
        ", got ", a, " and ", b, ".");
  return broadcast_batches(op, a, b);
}

}  // namespace

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool is_upper, bool is_left,
                        bool is_unit) {
  Dims batch = check_sides("linalg.solve_triangular", a, b, is_left);
  Tensor x = apply_triangular(expand_batch(a, batch), expand_batch(b, batch),
                              {is_left, is_upper, is_unit, 'N'});
  return record("LinalgSolveTriangularBackward0", x, {a, b},
                [=, a_sizes = a.sizes(), b_sizes = b.sizes(), a = save(a),
                 x = save_output(a.requires_grad() ? x : Tensor())](const Tensor& g,
                                                                    Needs need) -> TensorList {
                  Tensor gb = solve_triangular(adjoint(a), g, !is_upper, is_left, is_unit), ga;
                  if (need[0]) {
                    ga = -(is_left ? matmul(gb, adjoint(x)) : matmul(adjoint(x), gb));
                    ga = sum_to_size(triangle_of(ga, is_upper, is_unit), a_sizes);
                  }
                  return {ga, need[1] ? sum_to_size(gb, b_sizes) : Tensor()};
                });
}

namespace {

// PyTorch's older form: the solution and a copy of A, both broadcast.
nb::tuple triangular_solve(const Tensor& b, const Tensor& a, bool is_upper, bool is_transposed,
                           bool is_unit) {
  Dims batch = check_sides("triangular_solve", a, b, true);
  Tensor copy = copy_columns(expand_batch(a, batch));
  char op = is_transposed ? 'T' : 'N';
  Tensor x = apply_triangular(copy, expand_batch(b, batch), {true, is_upper, is_unit, op});
  record_all("TriangularSolveBackward0", {x, copy}, {b, a},
             [=, a_sizes = a.sizes(), b_sizes = b.sizes(), a = save(a), x = save_output(x)](
                 const TensorList& gs, Needs need) -> TensorList {
               Tensor ga, gb;
               if (gs[0].defined()) {
                 Tensor turned = conj(is_transposed ? Tensor(a) : transposed(a));
                 gb = solve_triangular(turned, gs[0], is_upper == is_transposed, true, is_unit);
                 if (need[1]) {
                   ga = -matmul(gb, adjoint(x));
                   ga = triangle_of(is_transposed ? transposed(ga) : ga, is_upper, is_unit);
                 }
                 gb = need[0] ? sum_to_size(gb, b_sizes) : Tensor();
               }
               if (need[1] && gs[1].defined()) ga = ga.defined() ? ga + gs[1] : gs[1];
               return {gb, ga.defined() ? sum_to_size(ga, a_sizes) : ga};
             });
  return as_tuple({x, copy});
}

std::string not_positive(int64_t code) {
  return "The factorization could not be completed because the input is not positive-definite "
         "(the leading minor of order " +
         std::to_string(code) + " is not positive-definite).";
}

Tensor cholesky_backward(const Tensor& g, const Tensor& y, bool is_upper) {
  Tensor l = is_upper ? adjoint(y) : y, lh = is_upper ? y : adjoint(y);
  Tensor inner = matmul(lh, is_upper ? adjoint(g) : g);
  Tensor below = lower(inner, -1);
  inner = with_diagonal(below + adjoint(below), diagonal_of(inner)) * 0.5;
  return solve_triangular(l, solve_triangular(lh, inner, true), false, false);
}

// `node` names the derivative: PyTorch has two functions.
nb::tuple cholesky_ex(const Tensor& a, bool is_upper, bool check_errors, bool is_old) {
  const char* op = is_old ? "cholesky" : "linalg.cholesky";
  check_square(op, "A", a);
  Tensor y, info = empty(batch_of(a), DType::Int32, a.device());
  {
    NoGradGuard guard;
    y = copy_columns(is_upper ? adjoint(a) : a);
    visit_lapack(a, [&](auto tag) {
      using T = typename decltype(tag)::type;
      factor::cholesky(a.device(), n_matrices(a), a.size(-1), y.address_as<T>(),
                       info.address_as<int32_t>());
    });
    if (check_errors) check_info(op, info, not_positive);
    clear_above(y);
    if (is_upper) y = copy_columns(adjoint(y));
  }
  y = record(is_old ? "CholeskyBackward0" : "LinalgCholeskyExBackward0", y, {a},
             [is_upper, y = save_output(y)](const Tensor& g) {
               return cholesky_backward(g, y, is_upper);
             });
  return as_tuple({y, info});
}

// X of L L^H X = B; nothing is recorded.
Tensor apply_cholesky_solve(const Tensor& b, const Tensor& l, bool is_upper) {
  NoGradGuard guard;
  products::Triangle first{true, is_upper, false, is_upper ? 'C' : 'N'}, second = first;
  second.op = is_upper ? 'N' : 'C';
  return apply_triangular(l, apply_triangular(l, b, first), second);
}

Tensor cholesky_solve(const Tensor& b, const Tensor& l, bool is_upper) {
  const char* op = "cholesky_solve";
  check_matrices(op, "input", b);
  Dims batch = check_sides(op, l, b, true);
  Tensor x = apply_cholesky_solve(expand_batch(b, batch), expand_batch(l, batch), is_upper);
  return record("CholeskySolveBackward0", x, {b, l},
                [=, b_sizes = b.sizes(), l_sizes = l.sizes(), l = save(l), x = save_output(x)](
                    const Tensor& g, Needs need) -> TensorList {
                  Tensor gb = cholesky_solve(g, l, is_upper), gl;
                  if (need[1]) {
                    Tensor product = matmul(gb, adjoint(x)), both = -(product + adjoint(product));
                    gl = sum_to_size(is_upper ? matmul(l, both) : matmul(both, l), l_sizes);
                  }
                  return {need[0] ? sum_to_size(gb, b_sizes) : Tensor(), gl};
                });
}

// Without a derivative.
Tensor invert_cholesky(const Tensor& l, bool is_upper) {
  NoGradGuard guard;
  Tensor y = empty_columns(l.sizes(), l.dtype(), l.device());
  Tensor lower = as_columns(is_upper ? adjoint(l) : l);
  visit_lapack(l, [&](auto tag) {
    using T = typename decltype(tag)::type;
    products::cholesky_inverse(n_matrices(l), l.size(-1), lower.data_as<T>(), y.data_as<T>());
  });
  return y;
}

Tensor cholesky_inverse(const Tensor& l, bool is_upper) {
  check_square("cholesky_inverse", "input", l);
  Tensor y = l.is_cpu()
                 ? invert_cholesky(l, is_upper)
                 : apply_cholesky_solve(expand(identity(l, l.dtype()), l.sizes()), l, is_upper);
  return record("CholeskyInverseBackward0", y, {l},
                [is_upper, l = save(l), y = save_output(y)](const Tensor& g) {
                  Tensor inner = matmul(y, matmul(g + adjoint(g), y));
                  return -(is_upper ? matmul(l, inner) : matmul(inner, l));
                });
}

// A derivative that nobody has written: asking for it is an error.
Tensor without_derivative(const char* op, Tensor y, std::initializer_list<TensorRef> inputs) {
  return record("NotImplemented", y, inputs, [op](const Tensor&, Needs) -> TensorList {
    fail(ErrorKind::NotImplemented, op, ": the derivative is not implemented.");
  });
}

std::string singular_ldl(int64_t code) {
  std::string at = std::to_string(code);
  return "D[" + at + "," + at +
         "] is zero. Using it to solve a system of equations would result in a division by zero.";
}

nb::tuple ldl_factor_ex(const Tensor& a, bool is_hermitian, bool check_errors) {
  const char* op = "linalg.ldl_factor";
  check_square(op, "A", a);
  if (a.device().is_cuda())
    return on_device(ldl_factor_ex(on_host(a), is_hermitian, check_errors), a.device());
  Dims batch = batch_of(a);
  Tensor ld = copy_columns(detach(a)), info = empty(batch, DType::Int32, a.device());
  Tensor pivots = empty(with_column(batch, a.size(-1)), DType::Int32, a.device());
  visit_lapack(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    products::ldl(n_matrices(a), a.size(-1), ld.data_as<T>(), pivots.data_as<int32_t>(),
                  info.data_as<int32_t>(), is_hermitian);
  });
  if (check_errors) check_info(op, info, singular_ldl);
  clear_above(ld);
  return as_tuple({without_derivative(op, ld, {a}), pivots, info});
}

// Pairs of equal negative numbers stand for blocks of two rows: anything else would lead the
// routine out of its memory.
void check_ldl_pivots(const char* op, const Tensor& pivots) {
  int64_t n = pivots.size(-1);
  if (pivots.is_meta()) return;
  const int32_t* rows = pivots.data_as<int32_t>();
  for (const int32_t* end = rows + pivots.numel(); rows < end; rows += n) {
    for (int64_t k = 0; k < n; ++k) {
      bool is_pair = rows[k] < 0;
      check(rows[k] != 0 && rows[k] >= -n && rows[k] <= n &&
                (!is_pair || (k + 1 < n && rows[k + 1] == rows[k])),
            op, ": expected pivots as ldl_factor returns them, got ", rows[k], " for row ", k,
            " of ", n, ".");
      k += is_pair;
    }
  }
}

Tensor ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool is_hermitian) {
  const char* op = "linalg.ldl_solve";
  check_square(op, "LD", ld);
  check(b.dim() >= 2, op, ": expected B to have at least 2 dimensions, got ", b, ".");
  check(is_integral(pivots.dtype()), op, ": expected pivots of integers, got ", pivots, ".");
  check(pivots.dtype() == DType::Int32, op, ": expected pivots of dtype int32, got ", pivots, ".");
  check_same_device(op, {ld, pivots});
  Dims batch = check_sides(op, ld, b, true), expected = with_column(batch_of(ld), ld.size(-1));
  check(pivots.sizes() == expected, op, ": expected pivots of shape ", expected, ", got ", pivots,
        ".");
  if (ld.device().is_cuda())
    return to(ldl_solve(on_host(ld), on_host(pivots), on_host(b), is_hermitian), ld.device(),
              ld.dtype(), /*copy=*/false);
  Tensor x, factors, rows;
  {
    NoGradGuard guard;
    x = copy_columns(expand_batch(b, batch));
    factors = as_columns(expand_batch(ld, batch));
    rows = contiguous(expand(pivots, with_column(batch, ld.size(-1))));
  }
  check_ldl_pivots(op, rows);
  visit_lapack(x, [&](auto tag) {
    using T = typename decltype(tag)::type;
    products::ldl_solve(n_matrices(x), x.size(-2), x.size(-1), factors.data_as<T>(),
                        rows.data_as<int32_t>(), x.data_as<T>(), is_hermitian);
  });
  return without_derivative(op, x, {ld, b});
}

}  // namespace

FACULA_BINDINGS {
  m.def("_linalg_solve_triangular", &solve_triangular, "A"_a, "B"_a, "upper"_a, "left"_a,
        "unitriangular"_a);
  m.def("_triangular_solve", &triangular_solve, "b"_a, "A"_a, "upper"_a, "transpose"_a,
        "unitriangular"_a);
  m.def("_linalg_cholesky_ex", &cholesky_ex, "A"_a, "upper"_a, "check_errors"_a, "is_old"_a);
  m.def("_cholesky_solve", &cholesky_solve, "input"_a, "L"_a, "upper"_a);
  m.def("_cholesky_inverse", &cholesky_inverse, "L"_a, "upper"_a);
  m.def("_linalg_ldl_factor_ex", &ldl_factor_ex, "A"_a, "hermitian"_a, "check_errors"_a);
  m.def("_linalg_ldl_solve", &ldl_solve, "LD"_a, "pivots"_a, "B"_a, "hermitian"_a);
}

}  // namespace facula
