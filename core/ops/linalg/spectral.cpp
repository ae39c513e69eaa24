// Eigenvalues and singular values, and what is computed with them: least squares, the derivative of
// the pseudoinverse; and the exponential.
#include "autograd/node.h"
#include "ops/linalg/factor.h"
#include "ops/linalg/linalg.h"

namespace facula {

namespace {

std::string no_convergence(int64_t code) {
  return "The algorithm failed to converge because the input matrix is ill-conditioned or has too "
         "many repeated values (error code: " +
         std::to_string(code) + ").";
}

// Vectors of complex matrices may be turned by any phase: a loss that depends on it has no
// derivative.
void check_phase(const char* op, const Tensor& diagonal) {
  NoGradGuard guard;
  if (!is_complex(diagonal.dtype()) || diagonal.numel() == 0 || diagonal.is_meta()) return;
  Tensor turn = abs(imag(detach(diagonal)));
  double tolerance = diagonal.dtype() == DType::Complex64 ? 1e-3 : 1e-7;
  Tensor size = abs(real(detach(diagonal))) * tolerance + tolerance;
  check(item(all(le(turn, size))).to_bool(), op,
        ": the vectors of a complex matrix are specified up to multiplication by e^{i phi}. The "
        "specified loss function depends on this quantity, so it is ill-defined.");
}

Tensor differences(const Tensor& values) {
  Tensor d = unsqueeze(values, -2) - unsqueeze(values, -1);
  return with_diagonal(d, 1);
}

// V diag(numbers) W
Tensor recomposed(const Tensor& v, const Tensor& numbers, const Tensor& w) {
  return matmul(v * unsqueeze(numbers, -2), w);
}

Tensor eigh_backward(const Tensor& gw, const Tensor& gv, const Tensor& w, const Tensor& v) {
  Tensor vh = adjoint(v);
  if (!gv.defined()) return recomposed(v, gw, vh);
  Tensor inner = matmul(vh, gv);
  check_phase("linalg.eigh", diagonal_of(inner));
  inner = (inner - adjoint(inner)) * 0.5 / differences(w);
  inner = gw.defined() ? with_diagonal(inner, gw) : with_diagonal(inner, 0);
  return matmul(v, matmul(inner, vh));
}

struct Eigh {
  Tensor values, vectors;
};

Eigh eigh(const Tensor& a, const std::string& uplo, bool with_vectors) {
  const char* op = "linalg.eigh";
  check_square(op, "A", a);
  check(uplo.size() == 1 && std::string("LlUu").find(uplo) != std::string::npos, op,
        ": expected UPLO 'L' or 'U', got '", uplo, "'.");
  Dims batch = batch_of(a);
  with_vectors = with_vectors || (is_grad_enabled() && a.requires_grad());
  Tensor v = copy_columns(detach(a)), info = empty(batch, DType::Int32, a.device());
  Tensor w = empty(with_column(batch, a.size(-1)), to_real_dtype(a.dtype()), a.device());
  bool is_upper = uplo == "U" || uplo == "u";
  // What is not read may hold anything, NaN too.
  if (is_upper) {
    clear_below(v);
  } else {
    clear_above(v);
  }
  visit_lapack(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    factor::eigh(a.device(), n_matrices(a), a.size(-1), v.address_as<T>(),
                 w.address_as<products::RealOf<T>>(), info.address_as<int32_t>(), is_upper,
                 with_vectors);
  });
  check_info(op, info, no_convergence);
  if (!with_vectors) return {w, empty({0}, a.dtype(), a.device())};
  record_all("LinalgEighBackward0", {w, v}, {a},
             [w = save_output(w), v = save_output(v)](const TensorList& gs, Needs) -> TensorList {
               return {eigh_backward(gs[0], gs[1], w, v)};
             });
  return {w, v};
}

// A = V diag(w) V^H in the form of singular values, which may be negative here.
Svd hermitian_svd(const Tensor& a) {
  Eigh parts = eigh(a, "L", true);
  return {parts.vectors, parts.values, adjoint(parts.vectors)};
}

Tensor eig_backward(const Tensor& gw, const Tensor& gv, const Tensor& w, const Tensor& v) {
  Tensor vh = adjoint(v);
  if (!gv.defined()) return solve(vh, unsqueeze(gw, -1) * vh);
  Tensor inner = matmul(vh, gv), diagonal = diagonal_of(inner);
  check_phase("linalg.eig", diagonal);
  // Columns keep their length.
  inner = inner - matmul(vh, v * to_dtype(unsqueeze(real(diagonal), -2), v.dtype()));
  inner = inner / conj(differences(w));
  inner = gw.defined() ? with_diagonal(inner, gw) : with_diagonal(inner, 0);
  return solve(vh, matmul(inner, vh));
}

nb::tuple eig(const Tensor& a, bool with_vectors) {
  const char* op = "linalg.eig";
  check_square(op, "A", a);
  if (a.device().is_cuda()) return on_device(eig(on_host(a), with_vectors), a.device());
  Dims batch = batch_of(a);
  with_vectors = with_vectors || (is_grad_enabled() && a.requires_grad());
  DType dtype = to_complex_dtype(a.dtype());
  Tensor copy = copy_columns(detach(a)), info = empty(batch, DType::Int32, a.device());
  Tensor w = empty(with_column(batch, a.size(-1)), dtype, a.device());
  Tensor v =
      with_vectors ? empty_columns(a.sizes(), dtype, a.device()) : empty({0}, dtype, a.device());
  check(a.is_meta() || item(all(isfinite(copy))).to_bool(), op,
        ": input tensor should not contain infs or NaNs.");
  visit_lapack(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = std::complex<products::RealOf<T>>;
    products::eig(n_matrices(a), a.size(-1), copy.data_as<T>(), w.data_as<C>(),
                  with_vectors ? v.data_as<C>() : nullptr, info.data_as<int32_t>());
  });
  check_info(op, info, no_convergence);
  if (with_vectors)
    record_all("LinalgEigBackward0", {w, v}, {a},
               [dtype = a.dtype(), w = save_output(w), v = save_output(v)](const TensorList& gs,
                                                                           Needs) -> TensorList {
                 return {as_dtype_of(eig_backward(gs[0], gs[1], w, v), dtype)};
               });
  return as_tuple({w, v});
}

// Of the first columns of U and rows of V^H.
Tensor svd_backward(const Tensor& gu, const Tensor& gs, const Tensor& gvh, const Tensor& u,
                    const Tensor& s, const Tensor& vh) {
  if (!gu.defined() && !gvh.defined()) return recomposed(u, gs, vh);
  int64_t m = u.size(-2), n = vh.size(-1), k = s.size(-1);
  auto skew = [](const Tensor& x) { return x - adjoint(x); };
  Tensor left, right, inner;
  if (gu.defined()) left = skew(matmul(adjoint(u), gu));
  if (gvh.defined()) right = skew(matmul(vh, adjoint(gvh)));
  if (is_complex(u.dtype())) {
    Tensor turn = diagonal_of(left.defined() ? left : right);
    check_phase("linalg.svd", left.defined() && right.defined() ? turn + diagonal_of(right) : turn);
  }
  Tensor squares = s * s, gaps = differences(squares);
  if (left.defined()) inner = left / gaps * unsqueeze(s, -2);
  if (right.defined()) {
    Tensor part = unsqueeze(s, -1) * (right / gaps);
    inner = inner.defined() ? inner + part : part;
  }
  Tensor diagonal =
      gs.defined() ? to_dtype(gs, u.dtype()) : zeros(s.sizes(), u.dtype(), u.device());
  if (is_complex(u.dtype()) && left.defined()) diagonal = diagonal + diagonal_of(left) / (s * 2);
  inner = with_diagonal(inner, diagonal);
  Tensor g = matmul(matmul(u, inner), vh);
  // What lies outside of the spaces of u and v.
  if (m > k && gu.defined()) {
    Tensor scaled = gu / unsqueeze(s, -2);
    g = g + matmul(scaled - matmul(u, matmul(adjoint(u), scaled)), vh);
  }
  if (n > k && gvh.defined()) {
    Tensor scaled = gvh / unsqueeze(s, -1);
    g = g + matmul(u, scaled - matmul(matmul(scaled, adjoint(vh)), vh));
  }
  return g;
}

}  // namespace

Svd svd(const Tensor& a, bool is_full, bool with_vectors) {
  const char* op = "linalg.svd";
  check_matrices(op, "A", a);
  int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  Dims batch = batch_of(a);
  Device device = a.device();
  if (device.is_cuda() && m < n) {  // cuSOLVER has no routine for wide matrices
    Svd y = svd(adjoint(a), is_full, with_vectors);
    if (!with_vectors) return y;
    return {adjoint(y.vh), y.s, adjoint(y.u)};
  }
  if (!with_vectors && is_grad_enabled() && a.requires_grad()) with_vectors = true, is_full = false;
  Svd y{empty({0}, a.dtype(), device),
        empty(with_column(batch, k), to_real_dtype(a.dtype()), device),
        empty({0}, a.dtype(), device)};
  if (with_vectors) {
    y.u = empty_columns(with_matrix(batch, m, is_full ? m : k), a.dtype(), device);
    y.vh = empty_columns(with_matrix(batch, is_full ? n : k, n), a.dtype(), device);
  }
  Tensor copy = copy_columns(detach(a)), info = empty(batch, DType::Int32, device);
  visit_lapack(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    factor::svd(a.device(), n_matrices(a), m, n, copy.address_as<T>(),
                with_vectors ? y.u.address_as<T>() : nullptr, y.s.address_as<products::RealOf<T>>(),
                y.vh.address_as<T>(), info.address_as<int32_t>(), !is_full);
  });
  check_info(op, info, no_convergence);
  if (!with_vectors) return y;
  if (k == 0) {  // no singular value: any unitary matrices will do
    copy_into(y.u, identity(y.u, a.dtype()));
    copy_into(y.vh, identity(y.vh, a.dtype()));
  }
  record_all("LinalgSvdBackward0", {y.u, y.s, y.vh}, {a},
             [k, u = save_output(y.u), s = save_output(y.s), vh = save_output(y.vh)](
                 const TensorList& gs, Needs) -> TensorList {
               auto first = [k](const Tensor& x, int64_t dim) {
                 return x.defined() && x.size(dim) > k ? narrow(x, dim, 0, k) : x;
               };
               return {svd_backward(first(gs[0], -1), gs[1], first(gs[2], -2), first(u, -1), s,
                                    first(vh, -2))};
             });
  return y;
}

namespace {

// The gradient of A from that of its pseudoinverse P.
Tensor pinv_backward(const Tensor& g, const Tensor& p, const Tensor& a) {
  Tensor ph = adjoint(p), gh = adjoint(g);
  // Golub and Pereyra's derivative: besides the one of an inverse, what A has outside of its
  // spaces.
  Tensor left = matmul(gh, matmul(p, ph)), right = matmul(matmul(ph, p), gh);
  return left - matmul(a, matmul(p, left)) + right - matmul(matmul(right, p), a) -
         matmul(ph, matmul(g, ph));
}

// Singular values up to the larger of atol and rtol times the largest count as zero. Without a
// tolerance: eps times the larger size.
Tensor pinv(const Tensor& a, const std::optional<Tensor>& atol, const std::optional<Tensor>& rtol,
            bool is_hermitian) {
  const char* op = "linalg.pinv";
  check_matrices(op, "A", a);
  if (is_hermitian) check_square(op, "A", a);
  Tensor p;
  {
    NoGradGuard guard;
    Svd parts = is_hermitian ? hermitian_svd(a) : svd(a, false);
    Dims batch = batch_of(a);
    Tensor sizes = abs(parts.s), cutoff = zeros(batch, sizes.dtype(), a.device());
    if (a.numel() > 0) {
      Tensor largest = amax(sizes, {-1});
      bool has_atol = atol && !atol->is_meta() && item(any(gt(*atol, wrapped_number(0)))).to_bool();
      double eps = a.itemsize() / (is_complex(a.dtype()) ? 2 : 1) == 4
                       ? std::numeric_limits<float>::epsilon()
                       : std::numeric_limits<double>::epsilon();
      double usual = has_atol ? 0 : eps * static_cast<double>(std::max(a.size(-1), a.size(-2)));
      cutoff = rtol ? largest * to_dtype(*rtol, largest.dtype()) : largest * usual;
      if (atol) cutoff = maximum(cutoff, to_dtype(*atol, largest.dtype()));
    }
    Tensor inverse = where(gt(sizes, unsqueeze(cutoff, -1)), reciprocal(parts.s),
                           scalar_tensor(0, sizes.dtype()));
    p = recomposed(adjoint(parts.vh), inverse, adjoint(parts.u));
  }
  return record("LinalgPinvBackward0", p, {a}, [a = save(a), p = save_output(p)](const Tensor& g) {
    return pinv_backward(g, p, a);
  });
}

// The gradients of the solutions, and of the sums of the squares that remain.
void record_lstsq(const Tensor& a, const Tensor& b, const Tensor& x, const Tensor& residuals) {
  record_all("LinalgLstsqBackward0", {x, residuals}, {a, b},
             [a = save(a), b = save(b), x = save_output(x)](const TensorList& gs,
                                                            Needs need) -> TensorList {
               Tensor ga, gb;
               if (gs[0].defined()) {
                 Tensor p = pinv(a, {}, {}, false);
                 if (need[0]) ga = pinv_backward(matmul(gs[0], adjoint(b)), p, a);
                 if (need[1]) gb = matmul(adjoint(p), gs[0]);
               }
               if (gs[1].defined() && gs[1].numel() > 0) {
                 // What remains is orthogonal to what A can reach: a change of the solution adds
                 // nothing.
                 Tensor rest = (b - matmul(a, x)) * unsqueeze(gs[1] * 2, -2);
                 Tensor part = -matmul(rest, adjoint(x));
                 if (need[0]) ga = ga.defined() ? ga + part : part;
                 if (need[1]) gb = gb.defined() ? gb + rest : rest;
               }
               return {ga, gb};
             });
}

nb::tuple lstsq(const Tensor& a, const Tensor& b, double rcond, const std::string& driver) {
  using products::LeastSquares;
  const char* op = "linalg.lstsq";
  if (a.device().is_cuda())
    return on_device(lstsq(on_host(a), on_host(b), rcond, driver), a.device());
  int64_t m = a.size(-2), n = a.size(-1), n_rhs = b.size(-1), most = std::max(m, n);
  LeastSquares way = driver == "gels"    ? LeastSquares::Gels
                     : driver == "gelsy" ? LeastSquares::Gelsy
                     : driver == "gelsd" ? LeastSquares::Gelsd
                                         : LeastSquares::Gelss;
  Dims batch = batch_of(a);
  bool has_rank = way != LeastSquares::Gels;
  bool has_values = way == LeastSquares::Gelsd || way == LeastSquares::Gelss;
  DType real_dtype = to_real_dtype(a.dtype());
  Tensor copy = copy_columns(detach(a));
  Device device = a.device();
  Tensor both = empty_columns(with_matrix(batch, most, n_rhs), a.dtype(), device);
  zero_(both);
  copy_into(narrow(both, -2, 0, m), detach(b));
  Tensor rank = has_rank ? zeros(batch, DType::Int64, device) : empty({0}, DType::Int64, device);
  Tensor s = has_values ? zeros(with_column(batch, std::min(m, n)), real_dtype, device)
                        : empty({0}, real_dtype, device);
  Tensor info = zeros(batch, DType::Int32, device);
  if (std::min({m, n, n_rhs}) > 0)
    visit_lapack(a, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using R = products::RealOf<T>;
      products::least_squares(n_matrices(a), m, n, n_rhs, copy.data_as<T>(), both.data_as<T>(),
                              static_cast<R>(rcond), way,
                              has_rank ? rank.data_as<int64_t>() : nullptr,
                              has_values ? s.data_as<R>() : nullptr, info.data_as<int32_t>());
    });
  check_info(op, info, no_convergence);
  // Below the solutions of a tall matrix of full rank is what remains.
  Tensor residuals = empty({0}, real_dtype, device), x = alias(narrow(both, -2, 0, n));
  bool is_full = !has_rank || a.is_meta() || item(all(eq(rank, wrapped_number(n)))).to_bool();
  if (m > n && way != LeastSquares::Gelsy && is_full)
    residuals = sum(square(abs(narrow(both, -2, n, m - n))), {-2});
  record_lstsq(a, b, x, residuals);
  return as_tuple({x, residuals, rank, s});
}

// exp(A) by Pade's approximation of degree 13 of a scaled matrix, squared again; the constants are
// from Higham (2005).
Tensor apply_matrix_exp(const Tensor& a) {
  constexpr double b[] = {64764752532480000,
                          32382376266240000,
                          7771770303897600,
                          1187353796428800,
                          129060195264000,
                          10559470521600,
                          670442572800,
                          33522128640,
                          1323241920,
                          40840800,
                          960960,
                          16380,
                          182,
                          1};
  constexpr double kLargest =
      5.371920351148152;  // norm for which the approximation is exact enough
  Tensor norm = amax(sum(abs(a), {-2}), {-1});
  Tensor times = clamp_min(ceil(log2(norm / kLargest)), wrapped_number(0));
  double most = a.is_meta() ? 0 : item(amax(times)).to_double();
  check(std::isnan(most) || most < 2000, "matrix_exp: the input has values that are infinite.");
  Tensor x = a * unsqueeze(unsqueeze(exp2(-times), -1), -1), one = identity(a, a.dtype());
  Tensor x2 = matmul(x, x), x4 = matmul(x2, x2), x6 = matmul(x4, x2);
  auto polynomial = [&](int i) {
    Tensor high = matmul(x6, x6 * b[12 + i] + x4 * b[10 + i] + x2 * b[8 + i]);
    return high + x6 * b[6 + i] + x4 * b[4 + i] + x2 * b[2 + i] + one * b[i];
  };
  Tensor odd = matmul(x, polynomial(1)), even = polynomial(0);
  Tensor y = solve(even - odd, even + odd);
  for (double i = 0; i < most; ++i) {
    Tensor goes_on = unsqueeze(unsqueeze(gt(times, wrapped_number(i)), -1), -1);
    y = where(goes_on, matmul(y, y), y);
  }
  return contiguous(y);
}

Tensor matrix_exp(const Tensor& a) {
  const char* op = "linalg.matrix_exp";
  check(a.dim() >= 2, op, ": expected A to be a matrix or a batch of them, got ", a, ".");
  check(is_floating(a.dtype()) || is_complex(a.dtype()), op,
        ": expected a floating point or complex tensor, got ", a, ".");
  check(a.size(-1) == a.size(-2), op, ": expected square matrices, got ", a, ".");
  Tensor y;
  {
    NoGradGuard guard;
    // As solving needs; and 16-bit numbers would not last.
    Tensor wide = to_dtype(a, is_reduced_float(a.dtype()) ? DType::Float32 : a.dtype());
    y = a.numel() == 0 ? clone(a) : to_dtype(apply_matrix_exp(wide), a.dtype());
  }
  return record("LinalgMatrixExpBackward0", y, {a}, [a = save(a)](const Tensor& g) {
    // exp([[A, G], [0, A]]) has the derivative of exp at A in the direction G above its diagonal.
    Tensor turned = adjoint(a);
    int64_t n = turned.size(-1);
    if (turned.numel() == 0) return zeros(turned.sizes(), turned.dtype(), turned.device());
    Tensor none = zeros(g.sizes(), g.dtype(), g.device());
    Tensor above = cat({turned, g}, -1), below = cat({none, turned}, -1);
    Tensor both = matrix_exp(cat({above, below}, -2));
    return narrow(narrow(both, -2, 0, n), -1, n, n);
  });
}

}  // namespace

FACULA_BINDINGS {
  m.def(
      "_linalg_eigh",
      [](const Tensor& a, const std::string& uplo, bool compute_v) {
        Eigh y = eigh(a, uplo, compute_v);
        return as_tuple({y.values, y.vectors});
      },
      "A"_a, "UPLO"_a, "compute_v"_a);
  m.def("_linalg_eig", &eig, "A"_a, "compute_v"_a);
  m.def(
      "_linalg_svd",
      [](const Tensor& a, bool full_matrices, bool compute_uv) {
        Svd y = svd(a, full_matrices, compute_uv);
        return as_tuple({y.u, y.s, y.vh});
      },
      "A"_a, "full_matrices"_a, "compute_uv"_a);
  m.def("_linalg_pinv", &pinv, "A"_a, "atol"_a.none(), "rtol"_a.none(), "hermitian"_a);
  m.def("_linalg_lstsq", &lstsq, "A"_a, "B"_a, "rcond"_a, "driver"_a);
  m.def("_linalg_matrix_exp", &matrix_exp, "A"_a);
}

}  // namespace facula
