// The factorisation P L U, and what is solved with it: systems, inverses, determinants.
#include "autograd/node.h"
#include "ops/linalg/factor.h"
#include "ops/linalg/linalg.h"

namespace facula {

Lu factor_lu(const Tensor& a) {
  NoGradGuard guard;
  int64_t m = a.size(-2), n = a.size(-1);
  Lu result{copy_columns(a),
            empty(with_column(batch_of(a), std::min(m, n)), DType::Int32, a.device()),
            empty(batch_of(a), DType::Int32, a.device())};
  visit_lapack(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    factor::lu(a.device(), n_matrices(a), m, n, result.lu.address_as<T>(),
               result.pivots.address_as<int32_t>(), result.info.address_as<int32_t>());
  });
  return result;
}

namespace {

std::string singular_factor(int64_t code) {
  std::string at = std::to_string(code);
  return "U[" + at + "," + at +
         "] is zero and using it on lu_solve would result in a division by zero.";
}
std::string singular_solve(int64_t) {
  return "The solver failed because the input matrix is singular.";
}
std::string singular_inverse(int64_t code) {
  return "The diagonal element " + std::to_string(code) +
         " is zero, the inversion could not be completed because the input matrix is singular.";
}

// The gradient of A = P L U, where P may be undefined: the identity.
Tensor plu_backward(const Tensor& gl, const Tensor& gu, const Tensor& p, const Tensor& l,
                    const Tensor& u) {
  int64_t m = l.size(-2), n = u.size(-1), k = std::min(m, n);
  auto rows = [](const Tensor& x, int64_t from, int64_t to) { return slice(x, -2, from, to); };
  auto columns = [](const Tensor& x, int64_t from, int64_t to) { return slice(x, -1, from, to); };
  Tensor l1 = rows(l, 0, k), u1 = columns(u, 0, k);
  // L^H gL below the diagonal and gU U^H above it; where the matrix is wide or tall, what lies
  // beyond its square part depends on the other factor.
  Tensor below, above;
  if (gl.defined()) below = matmul(adjoint(l1), rows(gl, 0, k));
  if (gu.defined()) above = matmul(columns(gu, 0, k), adjoint(u1));
  if (n > k && gu.defined()) {
    Tensor beyond = matmul(columns(gu, k, n), adjoint(columns(u, k, n)));
    below = below.defined() ? below - beyond : -beyond;
  }
  if (m > k && gl.defined()) {
    Tensor beyond = matmul(adjoint(rows(l, k, m)), rows(gl, k, m));
    above = above.defined() ? above - beyond : -beyond;
  }
  Tensor inner;
  if (below.defined()) inner = lower(below, -1);
  if (above.defined()) inner = inner.defined() ? inner + triu(above) : triu(above);
  Tensor g = solve_triangular(adjoint(u1), inner, false, false);
  if (n > k && gu.defined()) g = cat({g, columns(gu, k, n)}, -1);
  if (n > k && !gu.defined()) {
    Dims rest = g.sizes();
    rest.back() = n - k;
    g = cat({g, zeros(rest, g.dtype(), g.device())}, -1);
  }
  g = solve_triangular(adjoint(l1), g, true, true, true);
  if (m > k) {
    Dims rest = g.sizes();
    rest[rest.size() - 2] = m - k;
    g = cat({g, gl.defined() ? solve_triangular(adjoint(u1), rows(gl, k, m), false, false)
                             : zeros(rest, g.dtype(), g.device())},
            -2);
  }
  return p.defined() ? matmul(p, g) : g;
}

Lu lu_factor_ex(const Tensor& a, bool pivot, bool check_errors) {
  const char* op = "linalg.lu_factor";
  check_matrices(op, "A", a);
  check(pivot, op, ": LU without pivoting is not implemented on the CPU.");
  Lu result = factor_lu(a);
  if (check_errors) check_info(op, result.info, singular_factor, PyExc_RuntimeError);
  record_all("LinalgLuFactorExBackward0", {result.lu}, {a},
             [lu = save_output(result.lu), pivots = save(result.pivots)](const TensorList& gs,
                                                                         Needs) -> TensorList {
               LuParts parts = unpack_lu(lu, pivots);
               int64_t k = std::min(gs[0].size(-2), gs[0].size(-1));
               return {plu_backward(lower(slice(gs[0], -1, 0, k), -1), triu(slice(gs[0], -2, 0, k)),
                                    parts.p, parts.l, parts.u)};
             });
  return result;
}

LuParts lu(const Tensor& a, bool pivot) {
  check_matrices("linalg.lu", "A", a);
  check(pivot, "linalg.lu: LU without pivoting is not implemented on the CPU.");
  Lu factored = factor_lu(a);
  LuParts parts = unpack_lu(factored.lu, factored.pivots);
  record_all("LinalgLuBackward0", {parts.l, parts.u}, {a},
             [p = save(parts.p), l = save_output(parts.l), u = save_output(parts.u)](
                 const TensorList& gs, Needs) -> TensorList {
               Tensor gl = gs[0], gu = gs[1];
               return {plu_backward(gl.defined() ? lower(gl, -1) : gl, gu.defined() ? triu(gu) : gu,
                                    p, l, u)};
             });
  return parts;
}

// The matrix of the permutation that the swaps of rows amount to.
Tensor permutation(const Tensor& given, int64_t m, DType dtype) {
  Tensor pivots = contiguous(on_host(given));
  Dims batch(pivots.sizes().begin(), pivots.sizes().end() - 1);
  Tensor p = zeros(with_matrix(batch, m, m), DType::Float32, pivots.device());
  if (!p.is_meta()) {
    int64_t k = pivots.size(-1), n = n_matrices(p);
    const int32_t* swaps = pivots.data_as<int32_t>();
    std::vector<int64_t> order(m);
    float* out = p.data_as<float>();
    for (int64_t i = 0; i < n; ++i, swaps += k, out += m * m) {
      for (int64_t row = 0; row < m; ++row) order[row] = row;
      for (int64_t j = 0; j < k; ++j) {
        check(swaps[j] >= 1 && swaps[j] <= m, "lu_unpack: expected pivots from 1 to ", m, ", got ",
              swaps[j], ". (They count from 1, as lu_factor returns them.)");
        std::swap(order[j], order[swaps[j] - 1]);
      }
      for (int64_t row = 0; row < m; ++row) out[order[row] * m + row] = 1;
    }
  }
  return to(p, given.device(), dtype, /*copy=*/false);
}

}  // namespace

LuParts unpack_lu(const Tensor& lu, const Tensor& pivots, bool with_factors,
                  bool with_permutation) {
  int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  auto none = [&] { return empty({0}, lu.dtype(), lu.device()); };
  LuParts parts{none(), none(), none()};
  if (with_permutation) parts.p = permutation(detach(pivots), m, lu.dtype());
  if (!with_factors) return parts;
  // Both lie by rows, as in PyTorch.
  parts.l = with_diagonal(contiguous(lower(slice(lu, -1, 0, k), -1)), 1);
  parts.u = triu(slice(lu, -2, 0, k));
  return parts;
}

namespace {

LuParts lu_unpack(const Tensor& lu, const Tensor& pivots, bool unpack_data, bool unpack_pivots) {
  const char* op = "lu_unpack";
  // Of any dtype: its elements are moved, never computed with.
  check(lu.dim() >= 2, op, ": expected LU_data to have at least 2 dimensions, got ", lu, ".");
  if (unpack_pivots) {
    check(pivots.dtype() == DType::Int32, op,
          ": expected pivots of dtype int32, as lu_factor returns them, got ", pivots,
          ". Convert them with .to(facula.int32).");
    Dims expected = with_column(batch_of(lu), std::min(lu.size(-2), lu.size(-1)));
    check(pivots.sizes() == expected, op, ": expected pivots of shape ", expected, ", got ", pivots,
          ".");
    check_same_device(op, {lu, pivots});
  }
  LuParts parts;
  {
    NoGradGuard guard;
    parts = unpack_lu(lu, pivots, unpack_data, unpack_pivots);
  }
  if (!unpack_data) return parts;
  record_all("LuUnpackBackward0", {parts.l, parts.u}, {lu},
             [sizes = lu.sizes()](const TensorList& gs, Needs) -> TensorList {
               int64_t m = sizes[sizes.size() - 2], n = sizes.back();
               auto grown = [&](const Tensor& x, int64_t dim, int64_t by) {
                 if (by == 0) return x;
                 Dims rest = x.sizes();
                 rest[rest.size() + dim] = by;
                 return cat({x, zeros(rest, x.dtype(), x.device())}, dim);
               };
               Tensor g;
               if (gs[0].defined()) g = grown(lower(gs[0], -1), -1, std::max<int64_t>(n - m, 0));
               if (gs[1].defined()) {
                 Tensor gu = grown(triu(gs[1]), -2, std::max<int64_t>(m - n, 0));
                 g = g.defined() ? g + gu : gu;
               }
               return {g};
             });
  return parts;
}

// op(A) X = B or X op(A) = B for matrices of one batch, by A's factors; nothing is recorded.
Tensor apply_lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool is_left,
                      bool is_adjoint) {
  NoGradGuard guard;
  bool is_real = !is_complex(lu.dtype());
  // From the right: the transposed system. That of A^H is conj(A), which is solved conjugated.
  bool is_conjugated = !is_left && is_adjoint && !is_real;
  char op = is_left == is_adjoint ? (is_left && !is_real ? 'C' : 'T') : 'N';
  Tensor x = copy_columns(is_left ? b : transposed(is_conjugated ? conj(b) : b));
  Tensor factors = as_columns(lu), swaps = contiguous(pivots);
  visit_lapack(x, [&](auto tag) {
    using T = typename decltype(tag)::type;
    factor::lu_solve(x.device(), n_matrices(x), x.size(-2), x.size(-1), factors.address_as<T>(),
                     swaps.address_as<int32_t>(), x.address_as<T>(), op);
  });
  if (is_left) return x;
  return transposed(is_conjugated ? conj(x) : x);
}

Tensor expand_pivots(const Tensor& pivots, const Dims& batch) {
  return expand(pivots, with_column(batch, pivots.size(-1)));
}

// The part of the gradient that reaches A from the gradient gb of B in A X = B, or X A = B.
Tensor solve_matrix_backward(const Tensor& gb, const Tensor& x, bool is_left) {
  return -(is_left ? matmul(gb, adjoint(x)) : matmul(adjoint(x), gb));
}

}  // namespace

Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool is_left,
                bool is_adjoint) {
  const char* op = "linalg.lu_solve";
  check_square(op, "LU", lu);
  check_matrices(op, "B", b);
  check_same_dtype(op, lu, b);
  check(pivots.dtype() == DType::Int32, op, ": expected pivots of dtype int32, got ", pivots, ".");
  check_same_device(op, {lu, pivots});
  Dims expected = with_column(batch_of(lu), lu.size(-1));
  check(pivots.sizes() == expected, op, ": expected pivots of shape ", expected, ", got ", pivots,
        ".");
  check(b.size(is_left ? -2 : -1) == lu.size(-1), op,
        ": incompatible shapes of LU and B for the equation ", is_left ? "AX = B" : "XA = B",
        ", got ", lu, " and ", b, ".");
  Dims batch = broadcast_batches(op, lu, b);
  Tensor swaps = contiguous(pivots),
         rows = swaps.is_meta() ? empty({0}, DType::Int32) : on_host(swaps);
  for (int64_t i = 0; i < rows.numel(); ++i) {
    int32_t row = rows.data_as<int32_t>()[i];
    check(row >= 1 && row <= lu.size(-1), op, ": expected pivots from 1 to ", lu.size(-1), ", got ",
          row, ".");
  }
  Tensor x = apply_lu_solve(expand_batch(lu, batch), expand_pivots(swaps, batch),
                            expand_batch(b, batch), is_left, is_adjoint);
  return record(
      "LinalgLuSolveBackward0", x, {lu, b},
      [=, lu_sizes = lu.sizes(), b_sizes = b.sizes(), lu = save(lu), pivots = save(pivots),
       x = save_output(x)](const Tensor& g, Needs need) -> TensorList {
        Tensor gb = lu_solve(lu, pivots, g, is_left, !is_adjoint), glu;
        if (need[0]) {
          // A's gradient; that of its adjoint is the adjoint. Then those of A = P L U.
          Tensor ga = solve_matrix_backward(gb, x, is_left);
          if (is_adjoint) ga = adjoint(ga);
          LuParts parts = unpack_lu(lu, pivots);
          ga = matmul(transposed(parts.p), ga);
          glu = lower(matmul(ga, adjoint(parts.u)), -1) + triu(matmul(adjoint(parts.l), ga));
          glu = sum_to_size(glu, lu_sizes);
        }
        return {glu, need[1] ? sum_to_size(gb, b_sizes) : Tensor()};
      });
}

namespace {

struct Solved {
  Tensor x, lu, pivots, info;
};

bool is_vector_side(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 ||
         (a.dim() - 1 == b.dim() && Dims(a.sizes().begin(), a.sizes().end() - 1) == b.sizes());
}

Solved solve_ex(const Tensor& a, const Tensor& b, bool is_left, bool check_errors) {
  const char* op = "linalg.solve";
  check_square(op, "A", a);
  check_same_dtype(op, a, b);
  bool is_vector = is_vector_side(a, b);
  check(is_left || !is_vector, op,
        ": a vector right-hand side is not supported for left=False, got A ", a, " and B ", b, ".");
  Tensor right = is_vector ? unsqueeze(detach(b), -1) : detach(b);
  check(right.dim() >= 2, op, ": expected B to have at least 1 dimension, got ", b, ".");
  check(right.size(is_left ? -2 : -1) == a.size(-1), op,
        ": incompatible shapes of A and B for the equation ", is_left ? "AX = B" : "XA = B",
        ", got ", a, " and ", b, ".");
  Dims batch = broadcast_batches(op, a, right);
  Lu factored = factor_lu(a);
  if (check_errors) check_info(op, factored.info, singular_solve);
  Tensor x = apply_lu_solve(expand_batch(factored.lu, batch), expand_pivots(factored.pivots, batch),
                            expand_batch(right, batch), is_left, false);
  if (is_vector) {
    x = squeeze(x, -1);
    if (x.dim() >= 2) x = copy_columns(x);  // as PyTorch's vectors lie
  }
  x = alias(x);
  record_all("LinalgSolveExBackward0", {x}, {a, b},
             [=, a_sizes = a.sizes(), b_sizes = b.sizes(), a = save(a), x = save_output(x),
              lu = save(factored.lu),
              pivots = save(factored.pivots)](const TensorList& gs, Needs need) -> TensorList {
               auto column = [&](const Tensor& t) { return is_vector ? unsqueeze(t, -1) : t; };
               Tensor g = column(gs[0]);
               // The factors that are there already have no derivative: a second one goes through
               // A.
               Tensor gb = is_grad_enabled() ? solve(adjoint(a), g, is_left)
                                             : lu_solve(lu, pivots, g, is_left, true);
               Tensor ga;
               if (need[0])
                 ga = sum_to_size(solve_matrix_backward(gb, column(x), is_left), a_sizes);
               if (!need[1]) return {ga, Tensor()};
               return {ga, sum_to_size(is_vector ? squeeze(gb, -1) : gb, b_sizes)};
             });
  return {x, factored.lu, factored.pivots, factored.info};
}

struct Inverse {
  Tensor inverse, info;
};

Inverse inv_ex(const Tensor& a, bool check_errors) {
  const char* op = "linalg.inv";
  check_square(op, "A", a);
  Lu factored = factor_lu(a);
  if (check_errors) check_info(op, factored.info, singular_inverse);
  Tensor y;
  if (a.device().is_cuda()) {
    y = apply_lu_solve(factored.lu, factored.pivots, expand(identity(a, a.dtype()), a.sizes()),
                       true, false);
  } else {
    y = empty_columns(a.sizes(), a.dtype(), a.device());
    visit_lapack(a, [&](auto tag) {
      using T = typename decltype(tag)::type;
      products::lu_inverse(n_matrices(a), a.size(-1), factored.lu.data_as<T>(),
                           factored.pivots.data_as<int32_t>(), y.data_as<T>());
    });
  }
  y = record("LinalgInvExBackward0", y, {a}, [y = save_output(y)](const Tensor& g) {
    Tensor yh = adjoint(y);
    return -matmul(yh, matmul(g, yh));
  });
  return {y, factored.info};
}

// Signs and logarithms of the sizes of the determinants, or with `logs` undefined the determinants.
void determinants(const Lu& given, const Tensor& values, const Tensor& logs) {
  if (values.device().is_cuda()) {
    Tensor on_cpu = empty(values.sizes(), values.dtype()), logs_on_cpu;
    if (logs.defined()) logs_on_cpu = empty(logs.sizes(), logs.dtype());
    determinants({on_host(given.lu), on_host(given.pivots), {}}, on_cpu, logs_on_cpu);
    copy_into(values, on_cpu);
    if (logs.defined()) copy_into(logs, logs_on_cpu);
    return;
  }
  visit_lapack(values, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = products::RealOf<T>;
    const T* lu = given.lu.data_as<T>();
    const int32_t* pivots = given.pivots.data_as<int32_t>();
    int64_t n = given.lu.size(-1);
    for (int64_t i = 0; i < values.numel(); ++i, lu += n * n, pivots += n) {
      T product(1);
      R log = 0;
      for (int64_t j = 0; j < n; ++j) {
        T x = lu[j * n + j];
        if (pivots[j] != j + 1) product = -product;
        if (logs.defined()) {
          R size = std::abs(x);
          log += std::log(size);
          x = size == 0 ? T(0) : x / size;
        }
        product *= x;
      }
      values.data_as<T>()[i] = product;
      if (logs.defined()) logs.data_as<R>()[i] = log;
    }
  });
}

// A^-H times a number for each matrix.
Tensor scaled_inverse_adjoint(const Tensor& a, const Lu& factored, const Tensor& number) {
  Tensor scaled = identity(a, a.dtype()) * unsqueeze(unsqueeze(number, -1), -1);
  return is_grad_enabled() ? solve(adjoint(a), scaled)
                           : lu_solve(factored.lu, factored.pivots, scaled, true, true);
}

double eps_of(DType dtype) {
  return to_real_dtype(dtype) == DType::Float32 ? std::numeric_limits<float>::epsilon()
                                                : std::numeric_limits<double>::epsilon();
}

Tensor det_backward(const Tensor& g, const Tensor& det, const Tensor& a, Lu factored) {
  if (a.numel() == 0) return zeros(a.sizes(), a.dtype(), a.device());
  if (a.size(-1) == 1) return reshape(g, a.sizes());
  double eps = eps_of(a.dtype());
  if (!is_grad_enabled()) {
    // The determinant is smooth: near a singular matrix is one with the same derivative.
    Tensor pivots = diagonal_of(factored.lu), near = empty(batch_of(a), a.dtype(), a.device());
    factored.lu = as_columns(with_diagonal(
        factored.lu, where(eq(pivots, wrapped_number(0)), scalar_tensor(eps, a.dtype()), pivots)));
    determinants(factored, near, {});
    return scaled_inverse_adjoint(a, factored, g * conj(near));
  }
  if (a.is_meta() || item(all(ge(abs(detach(det)), wrapped_number(100 * eps)))).to_bool())
    return scaled_inverse_adjoint(a, factored, g * conj(det));
  // Through singular values: det A = det U det V^H s1 s2 ..., without dividing by one of them.
  Svd parts = svd(a, false);
  int64_t n = a.size(-1);
  Tensor others = with_diagonal(expand(unsqueeze(parts.s, -2), with_matrix(batch_of(a), n, n)), 1);
  Tensor product = select(others, -1, 0);
  for (int64_t i = 1; i < n; ++i) product = product * select(others, -1, i);
  auto det_of = [](const Tensor& x) {
    NoGradGuard guard;
    Lu lu = factor_lu(x);
    Tensor y = empty(batch_of(x), x.dtype(), x.device());
    determinants(lu, y, {});
    return y;
  };
  Tensor factor = g * conj(det_of(parts.u) * det_of(parts.vh));
  return matmul(parts.u * unsqueeze(unsqueeze(factor, -1) * product, -2), parts.vh);
}

Tensor det(const Tensor& a) {
  check_square("linalg.det", "A", a);
  Lu factored = factor_lu(a);
  Tensor y = empty(batch_of(a), a.dtype(), a.device());
  determinants(factored, y, {});
  return record("LinalgDetBackward0", y, {a},
                [a = save(a), lu = save(factored.lu), pivots = save(factored.pivots),
                 y = save_output(y)](const Tensor& g) {
                  return det_backward(g, y, a, {lu, pivots, {}});
                });
}

nb::tuple slogdet(const Tensor& a) {
  check_square("linalg.slogdet", "A", a);
  Lu factored = factor_lu(a);
  Tensor sign = empty(batch_of(a), a.dtype(), a.device());
  Tensor logs = empty(batch_of(a), to_real_dtype(a.dtype()), a.device());
  determinants(factored, sign, logs);
  record_all("LinalgSlogdetBackward0", {sign, logs}, {a},
             [a = save(a), lu = save(factored.lu), pivots = save(factored.pivots),
              sign = save_output(sign)](const TensorList& gs, Needs) -> TensorList {
               Tensor matrix = a, g = gs[1];
               // The sign of a real matrix is constant; that of a complex one turns.
               if (is_complex(matrix.dtype()) && gs[0].defined()) {
                 Tensor turn = imag(gs[0] * conj(sign));
                 g = complex(g.defined() ? g : zeros(turn.sizes(), turn.dtype(), turn.device()),
                             turn);
               }
               if (!g.defined()) return {Tensor()};
               return {scaled_inverse_adjoint(matrix, {lu, pivots, {}}, g)};
             });
  return as_tuple({sign, logs});
}

}  // namespace

Tensor solve(const Tensor& a, const Tensor& b, bool is_left) {
  return solve_ex(a, b, is_left, false).x;
}

FACULA_BINDINGS {
  m.def(
      "_linalg_lu_factor_ex",
      [](const Tensor& a, bool pivot, bool check_errors) {
        Lu lu = lu_factor_ex(a, pivot, check_errors);
        return as_tuple({lu.lu, lu.pivots, lu.info});
      },
      "A"_a, "pivot"_a, "check_errors"_a);
  m.def(
      "_linalg_lu",
      [](const Tensor& a, bool pivot) {
        LuParts parts = lu(a, pivot);
        return as_tuple({parts.p, parts.l, parts.u});
      },
      "A"_a, "pivot"_a);
  m.def(
      "_lu_unpack",
      [](const Tensor& lu, const Tensor& pivots, bool unpack_data, bool unpack_pivots) {
        LuParts parts = lu_unpack(lu, pivots, unpack_data, unpack_pivots);
        return as_tuple({parts.p, parts.l, parts.u});
      },
      "LU_data"_a, "LU_pivots"_a, "unpack_data"_a, "unpack_pivots"_a);
  m.def("_linalg_lu_solve", &lu_solve, "LU"_a, "pivots"_a, "B"_a, "left"_a, "adjoint"_a);
  m.def(
      "_linalg_solve_ex",
      [](const Tensor& a, const Tensor& b, bool left, bool check_errors) {
        Solved solved = solve_ex(a, b, left, check_errors);
        return as_tuple({solved.x, solved.info});
      },
      "A"_a, "B"_a, "left"_a, "check_errors"_a);
  m.def(
      "_linalg_inv_ex",
      [](const Tensor& a, bool check_errors) {
        Inverse result = inv_ex(a, check_errors);
        return as_tuple({result.inverse, result.info});
      },
      "A"_a, "check_errors"_a);
  m.def("_linalg_det", &det, "A"_a);
  m.def("_linalg_slogdet", &slogdet, "A"_a);
}

}  // namespace facula
