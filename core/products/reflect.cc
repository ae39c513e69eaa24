#include "products/reflect.h"

#include "products/columns.h"
#include "products/factor_tools.h"

namespace facula::products {
namespace {

const cpu::ColumnKernels<float>& kernels(float) { return cpu::get_column_table().float32; }
const cpu::ColumnKernels<double>& kernels(double) { return cpu::get_column_table().float64; }

// A complex vector is two real ones for the kernels, v and i v, since z v = re(z) v + im(z) i v. So
// is a product with it: re(v^H x) = v x and im(v^H x) = (i v) x.
template <class T>
constexpr int kParts = is_complex_v<T> ? 2 : 1;

// The reflector of a vector, with memory to apply it.
template <class T>
class Reflector {
  using R = RealOf<T>;

 public:
  Reflector(int64_t most_rows, int64_t most_columns)
      : v_(2 * kParts<T> * kParts<T> * most_rows), t_(2 * kParts<T> * most_columns) {}

  // x (n) becomes its reflected self, a real number, and the reflector below it.
  T make(int64_t n, T* x) {
    R squares = sum_of_squares(n - 1, x + 1), re = std::real(x[0]), im = std::imag(x[0]);
    R total = squares + re * re + im * im;
    constexpr R kLeast = std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon();
    constexpr R kMost = std::numeric_limits<R>::max() * std::numeric_limits<R>::epsilon();
    if (total <= kLeast || total >= kMost) {
      R largest = 0;
      for (int64_t i = 0; i < n; ++i) largest = std::max(largest, pivot_size(x[i]));
      if (largest == 0) return T(0);
      if (std::isfinite(largest)) return make_scaled(n, x, std::ilogb(largest));
    }
    if (squares == 0 && im == 0) return T(0);
    R beta = -std::copysign(std::sqrt(total), re);
    T scale = T(1) / (x[0] - beta), tau = (beta - x[0]) / beta;
    for (int64_t i = 1; i < n; ++i) x[i] = times(x[i], scale);
    x[0] = beta;
    return tau;
  }

  // The reflector below x[0].
  void take(int64_t n, const T* x) {
    n_ = n;
    std::copy_n(x, n, values());
    values()[0] = T(1);
    turn(v_.data());
  }

  // c (n, count) -= coefficient v (v^H c)
  void apply(T coefficient, int64_t count, T* c, int64_t ldc) {
    if (coefficient == T(0)) return;
    auto x = product(count, c, ldc);
    kernels(R()).dots(x);
    for (int64_t j = 0; j < count; ++j) numbers()[j] = times(-coefficient, numbers()[j]);
    kernels(R()).add(x);
  }

  // From both sides, to the Hermitian matrix a (n, n): with w = tau A v - (tau / 2) (w^H v) v, a
  // becomes A - v w^H - w v^H.
  void apply_twice(T tau, T* a, int64_t lda) {
    auto x = product(n_, a, lda);
    kernels(R()).dots(x);
    T *v = values(), *w = reinterpret_cast<T*>(v_.data() + kParts<T> * x.n), *t = numbers();
    T dot = 0;
    for (int64_t i = 0; i < n_; ++i) {
      w[i] = times(tau, conj_of(t[i]));
      dot += times(conj_of(w[i]), v[i]);
    }
    T share = times(tau, dot) * R(-0.5);
    for (int64_t i = 0; i < n_; ++i) w[i] += times(share, v[i]);
    turn(reals(w));
    for (int64_t i = 0; i < n_; ++i) {
      t[2 * i] = -conj_of(w[i]);
      t[2 * i + 1] = -conj_of(v[i]);
    }
    x.n_vectors = 2 * kParts<T>;
    kernels(R()).add(x);
  }

  // From the right, to c (m, n): c -= tau (c v) v^H.
  void apply_right(T tau, int64_t m, T* c, int64_t ldc) {
    T *v = values(), *t = numbers();
    R* y = v_.data() + kParts<T> * kParts<T> * n_;
    std::copy_n(v, n_, t);
    cpu::ColumnProduct<R> x{m * kParts<T>, n_, reals(c),      ldc * kParts<T>,
                            kParts<T>,     y,  m * kParts<T>, reals(t)};
    kernels(R()).sums(x);
    if constexpr (is_complex_v<T>) {  // Y = C re(v) and C im(v), which belong together as y = Y0 +
                                      // i Y1
      for (int64_t i = 0; i < 2 * m; i += 2) {
        R *re = y + i, *im = y + 2 * m + i;
        T sum = T(re[0] - im[1], re[1] + im[0]);
        re[0] = sum.real(), re[1] = sum.imag();
        im[0] = -sum.imag(), im[1] = sum.real();
      }
    }
    for (int64_t j = 0; j < n_; ++j) t[j] = times(-tau, conj_of(v[j]));
    kernels(R()).add(x);
  }

 private:
  static R* reals(T* x) { return reinterpret_cast<R*>(x); }
  T* values() { return reinterpret_cast<T*>(v_.data()); }
  T* numbers() { return reinterpret_cast<T*>(t_.data()); }
  // i v behind v.
  void turn(R* v) {
    if constexpr (is_complex_v<T>)
      for (int64_t i = 0; i < 2 * n_; i += 2) v[2 * n_ + i] = -v[i + 1], v[2 * n_ + i + 1] = v[i];
  }
  T make_scaled(int64_t n, T* x, int exponent) {
    // The power of two must be a number, and no denormal one, in both directions.
    using Limits = std::numeric_limits<R>;
    exponent = std::clamp(exponent, Limits::min_exponent + 24, Limits::max_exponent - 8);
    for (int64_t i = 0; i < n; ++i) x[i] *= std::ldexp(R(1), -exponent);
    T tau = make(n, x);
    x[0] *= std::ldexp(R(1), exponent);
    return tau;
  }
  cpu::ColumnProduct<R> product(int64_t count, T* c, int64_t ldc) {
    return {n_ * kParts<T>, count,     reals(c),       ldc * kParts<T>,
            kParts<T>,      v_.data(), n_ * kParts<T>, t_.data()};
  }

  Scratch<R> v_, t_;
  int64_t n_ = 0;
};

}  // namespace

template <class T>
RealOf<T> sum_of_squares(int64_t n, const T* x) {
  using R = RealOf<T>;
  R sum, *reals = const_cast<R*>(reinterpret_cast<const R*>(x));
  kernels(R()).dots({n * kParts<T>, 1, reals, 0, 1, reals, 0, &sum});
  return sum;
}

template <class T>
void reflect_to_triangle(int64_t m, int64_t n, T* a, int64_t lda, T* tau) {
  Reflector<T> reflector(m, n);
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    T* corner = a + j * lda + j;
    tau[j] = reflector.make(m - j, corner);
    if (j + 1 == n) break;
    reflector.take(m - j, corner);
    reflector.apply(conj_of(tau[j]), n - j - 1, corner + lda, lda);
  }
}

template <class T>
void reflectors_to_columns(int64_t m, int64_t n, int64_t k, T* a, int64_t lda, const T* tau) {
  Reflector<T> reflector(m, n);
  for (int64_t j = n; j-- > 0;) {
    T *column = a + j * lda, *corner = column + j;
    if (j >= k) {
      std::fill(column, column + m, T(0));
      *corner = T(1);
      continue;
    }
    reflector.take(m - j, corner);
    if (j + 1 < n) reflector.apply(tau[j], n - j - 1, corner + lda, lda);
    std::fill(column, corner, T(0));
    *corner = T(1) - tau[j];
    for (int64_t i = j + 1; i < m; ++i) column[i] = times(column[i], -tau[j]);
  }
}

template <class T>
void reflect(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* tau, T* c,
             int64_t ldc, bool is_adjoint) {
  Reflector<T> reflector(m, n);
  for (int64_t s = 0; s < k; ++s) {
    int64_t j = is_adjoint ? s : k - 1 - s;
    reflector.take(m - j, a + j * lda + j);
    reflector.apply(is_adjoint ? conj_of(tau[j]) : tau[j], n, c + j, ldc);
  }
}

template <class T>
void reflect_to_tridiagonal(int64_t n, T* a, RealOf<T>* diagonal, RealOf<T>* beside, T* tau) {
  Reflector<T> reflector(n, n);
  for (int64_t j = 0; j < n; ++j) {
    diagonal[j] = std::real(a[j * n + j]);
    if (j + 1 == n) break;
    T* below = a + j * n + j + 1;
    tau[j] = reflector.make(n - j - 1, below);
    beside[j] = std::real(*below);
    if (tau[j] == T(0)) continue;
    reflector.take(n - j - 1, below);
    reflector.apply_twice(tau[j], below + n, n);
  }
}

template <class T>
void reflect_to_bidiagonal(int64_t m, int64_t n, T* a, RealOf<T>* diagonal, RealOf<T>* above,
                           T* tau_left, T* tau_right) {
  Reflector<T> reflector(m + n, m + n);
  Scratch<T> row(n);
  for (int64_t j = 0; j < n; ++j) {
    T *corner = a + j * m + j, *right = corner + m;
    int64_t rest = n - j - 1;
    tau_left[j] = reflector.make(m - j, corner);
    diagonal[j] = std::real(*corner);
    if (rest == 0) break;
    reflector.take(m - j, corner);
    reflector.apply(conj_of(tau_left[j]), rest, right, m);
    for (int64_t i = 0; i < rest; ++i) row.data()[i] = conj_of(right[i * m]);
    tau_right[j] = reflector.make(rest, row.data());
    above[j] = std::real(row.data()[0]);
    for (int64_t i = 0; i < rest; ++i) right[i * m] = conj_of(row.data()[i]);
    reflector.take(rest, row.data());
    reflector.apply_right(tau_right[j], m - j - 1, right + 1, m);
  }
}

#define FACULA_INSTANCES(T)                                                                  \
  template RealOf<T> sum_of_squares(int64_t, const T*);                                      \
  template void reflect_to_triangle(int64_t, int64_t, T*, int64_t, T*);                      \
  template void reflectors_to_columns(int64_t, int64_t, int64_t, T*, int64_t, const T*);     \
  template void reflect(int64_t, int64_t, int64_t, const T*, int64_t, const T*, T*, int64_t, \
                        bool);                                                               \
  template void reflect_to_tridiagonal(int64_t, T*, RealOf<T>*, RealOf<T>*, T*);             \
  template void reflect_to_bidiagonal(int64_t, int64_t, T*, RealOf<T>*, RealOf<T>*, T*, T*);
FACULA_INSTANCES(float)
FACULA_INSTANCES(double)
FACULA_INSTANCES(Complex64)
FACULA_INSTANCES(Complex128)

}  // namespace facula::products
