// QR, eigenvalues and singular values, least squares.
#include "products/factor_tools.h"
#include "products/matmul.h"
#include "products/reflect.h"

namespace facula::products {
namespace {

template <class T>
bool all_finite(const T* a, int64_t n) {
  // x - x is 0 for finite numbers only, so that no infinity can hide in the sum.
  RealOf<T> sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    T zero = a[i] - a[i];
    sum += std::real(zero) + std::imag(zero);
  }
  return sum == 0;
}

// Whether all elements are finite, and their squares neither overflow nor vanish; the library would
// scale the others.
template <class T>
bool is_moderate(const T* a, int64_t n) {
  RealOf<T> squares = sum_of_squares(n, a);
  return squares > RealOf<T>(1e-24) && squares < RealOf<T>(1e24);
}

// The real matrix `from` of `rows` rows in the corner of one with `ld` rows.
template <class T>
void copy_corner(int64_t rows, int64_t columns, const RealOf<T>* from, T* to, int64_t ld) {
  for (int64_t j = 0; j < columns; ++j) std::copy_n(from + j * rows, rows, to + j * ld);
}

// `to` (n, m) becomes the adjoint of the first m rows of the columns of `from`.
template <class T>
void put_adjoint(int64_t m, int64_t n, const T* from, int64_t ld, T* to) {
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) to[i * n + j] = conj_of(from[j * ld + i]);
}

// Up to here reflections are taken one by one: to join them first is more work.
constexpr int64_t kOneByOne = 64;

// The triangle that is not given becomes the adjoint of the other. Imaginary parts of the diagonal
// are not looked at, as by the library.
template <class T>
void mirror(int64_t n, T* a, bool is_upper) {
  for (int64_t j = 0; j < n; ++j) {
    a[j * n + j] = std::real(a[j * n + j]);
    for (int64_t i = 0; i < j; ++i) {
      T &below = a[i * n + j], &above = a[j * n + i];
      if (is_upper) {
        below = conj_of(above);
      } else {
        above = conj_of(below);
      }
    }
  }
}

template <class T>
int32_t eigh_small(int64_t n, T* a, RealOf<T>* values, bool is_upper, bool with_vectors) {
  using R = RealOf<T>;
  mirror(n, a, is_upper);
  Scratch<T> tau(n);
  Scratch<R> beside(n), vectors(with_vectors ? n * n : 0);
  reflect_to_tridiagonal(n, a, values, beside.data(), tau.data());
  int size = to_int(n), info = 0;
  // As much as stedc wants.
  Memory<R> work(1 + 4 * n + n * n);
  Memory<int> int_work(3 + 5 * n);
  lapack::stedc<R>(with_vectors ? 'I' : 'N', size, values, beside.data(), vectors.data(), size,
                   work.data(), work.size, int_work.data(), int_work.size, &info);
  if (info != 0 || !with_vectors) return info;
  Scratch<T> turned(n * n);
  copy_corner(n, n, vectors.data(), turned.data(), n);
  reflect(n - 1, n, n - 1, a + 1, n, tau.data(), turned.data() + 1, n, false);
  std::copy_n(turned.data(), n * n, a);
  return 0;
}

// Reflectors of a large matrix that are applied at once, by our own products, which are cut for the
// threads.
constexpr int64_t kReflectors = 32;

// The product I - V T V^H of some reflectors.
template <class T>
class ReflectorBlock {
 public:
  explicit ReflectorBlock(int64_t m)
      : v_(m * kReflectors),
        t_(kReflectors * kReflectors),
        v_conj_(is_complex_v<T> ? m * kReflectors : 0),
        t_conj_(is_complex_v<T> ? kReflectors * kReflectors : 0) {}

  // Those below the diagonal of the columns of a (m, width), or, conjugated, of its rows: a (width,
  // m).
  void take(int64_t m, int64_t width, const T* a, int64_t lda, const T* tau, bool is_rows = false) {
    m_ = m, width_ = width;
    for (int64_t i = 0; i < m && is_rows; ++i)
      for (int64_t j = 0; j < width; ++j) v_.data()[j * m + i] = conj_of(a[i * lda + j]);
    for (int64_t j = 0; j < width; ++j) {
      T* to = v_.data() + j * m;
      if (!is_rows) std::copy(a + j * lda + j + 1, a + j * lda + m, to + j + 1);
      std::fill(to, to + j, T(0));
      to[j] = T(1);
    }
    std::fill(t_.data(), t_.data() + width * width, T(0));
    int rows = to_int(m), count = to_int(width);
    lapack::larft<T>('F', 'C', rows, count, v_.data(), rows, tau, t_.data(), count);
    if constexpr (is_complex_v<T>) {
      for (int64_t i = 0; i < m * width; ++i) v_conj_.data()[i] = std::conj(v_.data()[i]);
      for (int64_t i = 0; i < width * width; ++i) t_conj_.data()[i] = std::conj(t_.data()[i]);
    }
  }

  // c (m, n) becomes the product with it, or with its adjoint. The matrices that are multiplied
  // are the transposed ones: those are row-major.
  void apply(bool is_adjoint, int64_t n, T* c, int64_t ldc) const {
    Scratch<T> sums(n * width_), turned(n * width_);
    Gemm<T> sum;
    sum.m = n, sum.n = width_, sum.k = m_;
    sum.a = c, sum.lda = ldc;
    sum.b = v_conj(), sum.ldb = m_, sum.trans_b = Trans::Yes;
    sum.c = sums.data(), sum.ldc = width_;
    gemm(sum);
    Gemm<T> turn;
    turn.m = n, turn.n = turn.k = width_;
    turn.a = sums.data(), turn.lda = width_;
    turn.b = is_adjoint ? t_conj() : t_.data(), turn.ldb = width_;
    turn.trans_b = is_adjoint ? Trans::Yes : Trans::No;
    turn.c = turned.data(), turn.ldc = width_;
    gemm(turn);
    Gemm<T> change;
    change.m = n, change.n = m_, change.k = width_;
    change.a = turned.data(), change.lda = width_;
    change.b = v_.data(), change.ldb = m_;
    change.c = c, change.ldc = ldc;
    change.alpha = -1, change.beta = 1;
    gemm(change);
  }

  // c (n, m) becomes its product with the adjoint.
  void apply_right(int64_t n, T* c, int64_t ldc) const {
    Scratch<T> sums(n * width_), turned(n * width_);
    Gemm<T> sum;
    sum.m = width_, sum.n = n, sum.k = m_;
    sum.a = v_.data(), sum.lda = m_;
    sum.b = c, sum.ldb = ldc;
    sum.c = sums.data(), sum.ldc = n;
    gemm(sum);
    Gemm<T> turn;
    turn.m = turn.k = width_, turn.n = n;
    turn.a = t_conj(), turn.lda = width_, turn.trans_a = Trans::Yes;
    turn.b = sums.data(), turn.ldb = n;
    turn.c = turned.data(), turn.ldc = n;
    gemm(turn);
    Gemm<T> change;
    change.m = m_, change.n = n, change.k = width_;
    change.a = v_conj(), change.lda = m_, change.trans_a = Trans::Yes;
    change.b = turned.data(), change.ldb = n;
    change.c = c, change.ldc = ldc;
    change.alpha = -1, change.beta = 1;
    gemm(change);
  }

 private:
  const T* v_conj() const { return is_complex_v<T> ? v_conj_.data() : v_.data(); }
  const T* t_conj() const { return is_complex_v<T> ? t_conj_.data() : t_.data(); }

  Scratch<T> v_, t_, v_conj_, t_conj_;
  int64_t m_ = 0, width_ = 0;
};

// c (m, n) becomes Q C for the product Q of the k reflectors in the columns of `a`; or c (n, m),
// for those in the rows, C Q^H.
template <class T>
void reflect_by_blocks(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* tau, T* c,
                       int64_t ldc, bool is_right) {
  ReflectorBlock<T> block(m);
  for (int64_t j = (k - 1) / kReflectors * kReflectors; j >= 0; j -= kReflectors) {
    block.take(m - j, std::min(kReflectors, k - j), a + j * lda + j, lda, tau + j, is_right);
    if (is_right) {
      block.apply_right(n, c + j * ldc, ldc);
    } else {
      block.apply(false, n, c + j, ldc);
    }
  }
}

constexpr int64_t kFewVectors = 8;

// The parts of which the library makes eigh and svd, for a large matrix: what follows the solution
// of the tridiagonal or bidiagonal problem, a third of the work, are products of ours.

template <class T>
int32_t eigh_large(int64_t n, T* a, RealOf<T>* values, bool is_upper) {
  using R = RealOf<T>;
  int size = to_int(n), info = 0, asked_ints = 0;
  if (is_upper) mirror(n, a, true);
  Memory<R> off_diagonal(n), rotated(n * n);
  Memory<T> tau(n), vectors(n * n);
  T asked = 0;
  R asked_real = 0;
  lapack::hetrd<T>('L', size, a, size, values, off_diagonal.data(), tau.data(), &asked, -1, &info);
  {
    Memory<T> work(length(asked));
    lapack::hetrd<T>('L', size, a, size, values, off_diagonal.data(), tau.data(), work.data(),
                     work.size, &info);
  }
  lapack::stedc<R>('I', size, values, off_diagonal.data(), rotated.data(), size, &asked_real, -1,
                   &asked_ints, -1, &info);
  Memory<R> real_work(length(asked_real));
  Memory<int> int_work(asked_ints);
  lapack::stedc<R>('I', size, values, off_diagonal.data(), rotated.data(), size, real_work.data(),
                   real_work.size, int_work.data(), int_work.size, &info);
  if (info != 0) return info;
  copy_corner(n, n, rotated.data(), vectors.data(), n);
  reflect_by_blocks(n - 1, n, n - 1, a + 1, n, tau.data(), vectors.data() + 1, n, false);
  std::copy_n(vectors.data(), n * n, a);
  return 0;
}

// m >= n; without vectors `u` is null.
template <class T>
int32_t svd_small(int64_t m, int64_t n, T* a, T* u, RealOf<T>* s, T* vh, int64_t u_columns) {
  using R = RealOf<T>;
  int size = to_int(n), info = 0;
  int64_t n_vectors = u ? n * n : 0;
  Scratch<R> above(n), left(n_vectors), right(n_vectors), work(3 * n * n + 4 * n);
  Scratch<T> tau_left(n), tau_right(n);
  Scratch<int> int_work(8 * n);
  reflect_to_bidiagonal(m, n, a, s, above.data(), tau_left.data(), tau_right.data());
  R* no_reals = nullptr;
  int* no_ints = nullptr;
  lapack::bdsdc<R>('U', u ? 'I' : 'N', size, s, above.data(), left.data(), size, right.data(), size,
                   no_reals, no_ints, work.data(), int_work.data(), &info);
  if (info != 0 || !u) return info;
  std::fill_n(u, m * u_columns, T(0));
  copy_corner(n, n, left.data(), u, m);
  for (int64_t i = n; i < u_columns; ++i) u[i * m + i] = T(1);
  reflect(m, u_columns, n, a, m, tau_left.data(), u, m, false);
  // Rows are turned to columns, and so are the reflectors from the right.
  Scratch<T> v(n * n), reflectors(n * n);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < n; ++i) v.data()[j * n + i] = right.data()[i * n + j];
  put_adjoint(n, n, a, m, reflectors.data());
  reflect(n - 1, n, n - 1, reflectors.data() + 1, n, tau_right.data(), v.data() + 1, n, false);
  put_adjoint(n, n, v.data(), n, vh);
  return 0;
}

// m < n: the singular vectors of the adjoint, in turn.
template <class T>
int32_t svd_small_wide(int64_t m, int64_t n, const T* a, T* u, RealOf<T>* s, T* vh,
                       int64_t v_rows) {
  Scratch<T> turned(m * n), left(u ? n * v_rows : 0), right(u ? m * m : 0);
  put_adjoint(m, n, a, m, turned.data());
  int32_t info = svd_small(n, m, turned.data(), u ? left.data() : nullptr, s, right.data(), v_rows);
  if (info != 0 || !u) return info;
  put_adjoint(m, m, right.data(), m, u);
  put_adjoint(n, v_rows, left.data(), n, vh);
  return 0;
}

template <class T>
int32_t svd_large(int64_t m, int64_t n, T* a, T* u, RealOf<T>* s, T* vh, int64_t u_columns,
                  int64_t v_rows) {
  using R = RealOf<T>;
  int64_t k = std::min(m, n);
  int rows = to_int(m), columns = to_int(n), count = to_int(k), info = 0;
  Memory<R> off_diagonal(k), left(k * k), right(k * k), real_work(3 * k * k + 4 * k);
  Memory<T> tau_q(k), tau_p(k);
  Memory<int> int_work(8 * k);
  T asked = 0;
  lapack::gebrd<T>(rows, columns, a, rows, s, off_diagonal.data(), tau_q.data(), tau_p.data(),
                   &asked, -1, &info);
  {
    Memory<T> work(length(asked));
    lapack::gebrd<T>(rows, columns, a, rows, s, off_diagonal.data(), tau_q.data(), tau_p.data(),
                     work.data(), work.size, &info);
  }
  R* no_reals = nullptr;
  int* no_ints = nullptr;
  lapack::bdsdc<R>(m >= n ? 'U' : 'L', 'I', count, s, off_diagonal.data(), left.data(), count,
                   right.data(), count, no_reals, no_ints, real_work.data(), int_work.data(),
                   &info);
  if (info != 0) return info;
  std::fill_n(u, m * u_columns, T(0));
  std::fill_n(vh, v_rows * n, T(0));
  copy_corner(k, k, left.data(), u, m);
  copy_corner(k, k, right.data(), vh, v_rows);
  for (int64_t i = k; i < u_columns; ++i) u[i * m + i] = T(1);
  for (int64_t i = k; i < v_rows; ++i) vh[i * v_rows + i] = T(1);
  // Those of the longer side begin at the diagonal, the others beside it.
  int64_t below = m < n, beside = m >= n;
  reflect_by_blocks(m - below, u_columns, k - below, a + below, m, tau_q.data(), u + below, m,
                    false);
  reflect_by_blocks(n - beside, v_rows, k - beside, a + beside * m, m, tau_p.data(),
                    vh + beside * v_rows, v_rows, true);
  return 0;
}

template <class T>
void qr_one(int64_t m, int64_t n, T* a, T* tau) {
  int64_t k = std::min(m, n);
  if (k <= kOneByOne) return reflect_to_triangle(m, n, a, m, tau);
  ReflectorBlock<T> block(m);
  for (int64_t j = 0; j < k; j += kReflectors) {
    int64_t width = std::min(kReflectors, k - j), rest = n - j - width;
    T* corner = a + j * m + j;
    reflect_to_triangle(m - j, width, corner, m, tau + j);
    if (rest == 0) continue;
    block.take(m - j, width, corner, m, tau + j);
    block.apply(true, rest, corner + width * m, m);
  }
}

template <class T>
void q_of_one(int64_t m, int64_t n, int64_t k, T* a, const T* tau) {
  if (k <= kOneByOne) return reflectors_to_columns(m, n, k, a, m, tau);
  auto clear = [&](int64_t first_row, int64_t last_row, int64_t first_column, int64_t last_column) {
    for (int64_t j = first_column; j < last_column; ++j)
      std::fill(a + j * m + first_row, a + j * m + last_row, T(0));
  };
  clear(0, m, k, n);
  for (int64_t j = k; j < n; ++j) a[j * m + j] = T(1);
  ReflectorBlock<T> block(m);
  // The last reflectors come first: to the left of theirs, columns are still those of the identity.
  for (int64_t j = (k - 1) / kReflectors * kReflectors; j >= 0; j -= kReflectors) {
    int64_t width = std::min(kReflectors, k - j), right = j + width;
    T* corner = a + j * m + j;
    clear(j, right, right, n);
    if (right < n) {
      block.take(m - j, width, corner, m, tau + j);
      block.apply(false, n - right, corner + width * m, m);
    }
    reflectors_to_columns(m - j, width, width, corner, m, tau + j);
    clear(0, j, j, right);
  }
}

// The largest singular value of the upper triangle r (n, n), estimated from below by a few
// iterations from numbers that no matrix is orthogonal to by its structure.
template <class T>
RealOf<T> estimated_norm(int64_t n, const T* r, int64_t ld) {
  using R = RealOf<T>;
  Scratch<T> memory(n);
  T* x = memory.data();
  uint32_t bits = 1;
  for (int64_t i = 0; i < n; ++i) {
    bits = bits * 1664525 + 1013904223;
    x[i] = R(bits) / R(4294967296) - R(0.5);
  }
  int size = to_int(n);
  R norm = 0;
  for (int step = 0; step < 8; ++step) {
    R scale = 1 / std::sqrt(sum_of_squares(n, x));
    for (int64_t i = 0; i < n; ++i) x[i] *= scale;
    lapack::trmv<T>('U', 'N', 'N', size, r, to_int(ld), x, 1);
    norm = std::sqrt(sum_of_squares(n, x));
    lapack::trmv<T>('U', 'C', 'N', size, r, to_int(ld), x, 1);
  }
  return norm;
}

// Least squares for a matrix that has full rank beyond doubt: by norms of R and its inverse, which
// bound the ratio of singular values that gelsy compares with rcond after it has chosen pivots. For
// others it says no and leaves `b` alone.
template <class T>
bool solved_by_qr(int64_t m, int64_t n, int64_t n_rhs, const T* a, T* b, RealOf<T> rcond,
                  const Memory<T>& memory) {
  using R = RealOf<T>;
  if (m < n || !is_moderate(a, m * n) || !is_moderate(b, m * n_rhs)) return false;
  Scratch<T> factors(m * n), tau(n), inverse(n * n);
  std::copy_n(a, m * n, factors.data());
  qr_one(m, n, factors.data(), tau.data());
  int rows = to_int(m), columns = to_int(n), count = to_int(n_rhs), info = 0;
  for (int64_t j = 0; j < n; ++j) {
    T* column = inverse.data() + j * n;
    std::fill(std::copy_n(factors.data() + j * m, j + 1, column), column + n, T(0));
  }
  R norm = std::sqrt(sum_of_squares(n * n, inverse.data()));
  lapack::trtri<T>('U', 'N', columns, inverse.data(), columns, &info);
  if (info != 0) return false;
  R limit = R(0.5) / std::sqrt(sum_of_squares(n * n, inverse.data()));
  // Frobenius' norm is up to sqrt(n) times as large as the largest singular value.
  if (!(norm * rcond < limit) && !(2 * estimated_norm(n, factors.data(), m) * rcond < limit))
    return false;
  if (n_rhs <= kFewVectors) {
    reflect(m, n_rhs, n, factors.data(), m, tau.data(), b, m, true);
  } else {
    lapack::ormqr<T>('L', is_complex_v<T> ? 'C' : 'T', rows, count, columns, factors.data(), rows,
                     tau.data(), b, rows, memory.data(), memory.size, &info);
  }
  lapack::trsm<T>('L', 'U', 'N', 'N', columns, count, T(1), factors.data(), rows, b, rows);
  return true;
}

}  // namespace

template <class T>
void qr(int64_t n_batch, int64_t m, int64_t n, T* a, T* tau) {
  int64_t k = std::min(m, n);
  for_batch(n_batch, 2.0 * static_cast<double>(m) * n * k, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) qr_one(m, n, a + i * m * n, tau + i * k);
  });
}

template <class T>
void reflectors_to_q(int64_t n_batch, int64_t m, int64_t n, int64_t k, T* a, const T* tau) {
  for_batch(n_batch, 2.0 * static_cast<double>(m) * n * k, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) q_of_one(m, n, k, a + i * m * n, tau + i * k);
  });
}

template <class T>
void multiply_by_q(int64_t n_batch, int64_t m, int64_t n, int64_t k, const T* a, const T* tau, T* c,
                   bool is_left, char op) {
  if (m == 0 || n == 0) return;
  int rows = to_int(m), columns = to_int(n), count = to_int(k), status = 0;
  int64_t length_of_a = is_left ? m : n;
  int ld = to_int(length_of_a);
  char side = is_left ? 'L' : 'R';
  T asked = 0;
  lapack::ormqr<T>(side, op, rows, columns, count, a, ld, tau, c, rows, &asked, -1, &status);
  // With no more memory than this the routine takes the reflectors one by one. For few vectors that
  // is less work than to join blocks of reflectors first.
  int64_t n_vectors = is_left ? n : m;
  int64_t n_memory = n_vectors <= kFewVectors ? n_vectors : length(asked);
  for_batch(n_batch, 2.0 * static_cast<double>(m) * n * k, [&](int64_t begin, int64_t end) {
    Memory<T> memory(n_memory);
    int info = 0;
    for (int64_t i = begin; i < end; ++i)
      lapack::ormqr<T>(side, op, rows, columns, count, a + i * length_of_a * k, ld, tau + i * k,
                       c + i * m * n, rows, memory.data(), memory.size, &info);
  });
}

template <class T>
void eigh(int64_t n_batch, int64_t n, T* a, RealOf<T>* values, int32_t* info, bool is_upper,
          bool with_vectors) {
  if (n == 0) return std::fill(info, info + n_batch, 0);
  int size = to_int(n);
  char job = with_vectors ? 'V' : 'N', which = is_upper ? 'U' : 'L';
  auto decompose = [&](T* matrix, RealOf<T>* w, T* work, int n_work, RealOf<T>* rwork, int n_rwork,
                       int* iwork, int n_iwork, int32_t* status) {
    if constexpr (is_complex_v<T>) {
      lapack::heevd<T>(job, which, size, matrix, size, w, work, n_work, rwork, n_rwork, iwork,
                       n_iwork, status);
    } else {
      lapack::heevd<T>(job, which, size, matrix, size, w, work, n_work, iwork, n_iwork, status);
    }
  };
  T asked = 0;
  RealOf<T> asked_real = 0;
  int asked_ints = 0;
  int32_t status = 0;
  decompose(a, values, &asked, -1, &asked_real, -1, &asked_ints, -1, &status);
  for_batch(n_batch, 4 * cubed(n), [&](int64_t begin, int64_t end) {
    Memory<T> work(length(asked));
    Memory<RealOf<T>> rwork(length(asked_real));
    Memory<int> iwork(asked_ints);
    for (int64_t i = begin; i < end; ++i) {
      T* matrix = a + i * n * n;
      bool is_large = with_vectors && n > kOneByOne;
      if ((is_large || n <= kOneByOne) && is_moderate(matrix, n * n)) {
        info[i] = is_large ? eigh_large(n, matrix, values + i * n, is_upper)
                           : eigh_small(n, matrix, values + i * n, is_upper, with_vectors);
        continue;
      }
      info[i] = -1;
      if (!all_finite(matrix, n * n)) continue;
      decompose(matrix, values + i * n, work.data(), work.size, rwork.data(), rwork.size,
                iwork.data(), iwork.size, info + i);
    }
  });
}

template <class T>
void eig(int64_t n_batch, int64_t n, T* a, std::complex<RealOf<T>>* values,
         std::complex<RealOf<T>>* vectors, int32_t* info) {
  using R = RealOf<T>;
  if (n == 0) return std::fill(info, info + n_batch, 0);
  int size = to_int(n), one = 1;
  char job = vectors ? 'V' : 'N';
  auto decompose = [&](T* matrix, std::complex<R>* w, T* v, R* parts, T* work, int n_work,
                       int32_t* status) {
    T* no_left = nullptr;
    if constexpr (is_complex_v<T>) {
      lapack::geev<T>('N', job, size, matrix, size, w, no_left, one, v, size, work, n_work, parts,
                      status);
    } else {
      lapack::geev<T>('N', job, size, matrix, size, parts, parts + n, no_left, one, v, size, work,
                      n_work, status);
    }
  };
  T asked = 0;
  int32_t status = 0;
  R asked_real = 0;  // written to, but not the size of anything
  decompose(a, values, a, &asked_real, &asked, -1, &status);
  for_batch(n_batch, 10 * cubed(n), [&](int64_t begin, int64_t end) {
    Memory<T> work(length(asked)), real_vectors(is_complex_v<T> || !vectors ? 0 : n * n);
    Memory<R> parts(2 * n);
    for (int64_t i = begin; i < end; ++i) {
      std::complex<R>*w = values + i * n, *v = vectors ? vectors + i * n * n : nullptr;
      if constexpr (is_complex_v<T>) {
        decompose(a + i * n * n, w, v ? v : work.data(), parts.data(), work.data(), work.size,
                  info + i);
      } else {
        T* rv = real_vectors.data();
        decompose(a + i * n * n, w, rv, parts.data(), work.data(), work.size, info + i);
        for (int64_t j = 0; j < n; ++j) w[j] = {parts.data()[j], parts.data()[n + j]};
        if (!v) continue;
        // Two columns of real numbers are the parts of a vector whose conjugate is the next one.
        for (int64_t j = 0; j < n; ++j) {
          bool is_pair = w[j].imag() != 0 && j + 1 < n;
          for (int64_t r = 0; r < n; ++r) {
            R re = rv[j * n + r], im = is_pair ? rv[(j + 1) * n + r] : R(0);
            v[j * n + r] = {re, im};
            if (is_pair) v[(j + 1) * n + r] = {re, -im};
          }
          j += is_pair;
        }
      }
    }
  });
}

template <class T>
void svd(int64_t n_batch, int64_t m, int64_t n, T* a, T* u, RealOf<T>* s, T* vh, int32_t* info,
         bool is_thin) {
  using R = RealOf<T>;
  int64_t k = std::min(m, n), u_columns = is_thin ? k : m, v_rows = is_thin ? k : n;
  if (k == 0) return std::fill(info, info + n_batch, 0);
  int rows = to_int(m), columns = to_int(n), ld_v = to_int(v_rows);
  char job = !u ? 'N' : is_thin ? 'S' : 'A';
  auto decompose = [&](T* matrix, R* values, T* left, T* right, T* work, int n_work, R* rwork,
                       int* iwork, int32_t* status) {
    if constexpr (is_complex_v<T>) {
      lapack::gesdd<T>(job, rows, columns, matrix, rows, values, left, rows, right, ld_v, work,
                       n_work, rwork, iwork, status);
    } else {
      lapack::gesdd<T>(job, rows, columns, matrix, rows, values, left, rows, right, ld_v, work,
                       n_work, iwork, status);
    }
  };
  T asked = 0;
  int32_t status = 0;
  R no_reals = 0;
  int no_ints = 0;
  decompose(a, s, a, a, &asked, -1, &no_reals, &no_ints, &status);
  int64_t most = std::max(m, n);
  int64_t n_rwork = !is_complex_v<T> ? 0
                    : !u             ? 7 * k
                                     : k * std::max(5 * k + 7, 2 * most + 2 * k + 1);
  for_batch(n_batch, 8 * static_cast<double>(m) * n * k, [&](int64_t begin, int64_t end) {
    Memory<T> work(length(asked));
    Memory<R> rwork(n_rwork);
    Memory<int> iwork(8 * k);
    for (int64_t i = begin; i < end; ++i) {
      T* matrix = a + i * m * n;
      T *left = u ? u + i * m * u_columns : nullptr, *right = u ? vh + i * v_rows * n : nullptr;
      // The library does better with much longer ones: it makes them square first. Where it does so
      // to small ones, it is left to: the vectors of no singular value are then PyTorch's.
      bool is_large = u && k > kOneByOne && most <= 2 * k;
      bool is_small = k <= kOneByOne && (most == k || most < 11 * k / 6);
      if ((is_large || is_small) && is_moderate(matrix, m * n)) {
        R* values = s + i * k;
        info[i] = is_large ? svd_large(m, n, matrix, left, values, right, u_columns, v_rows)
                  : m >= n ? svd_small(m, n, matrix, left, values, right, u_columns)
                           : svd_small_wide(m, n, matrix, left, values, right, v_rows);
        continue;
      }
      info[i] = -1;
      if (!all_finite(matrix, m * n)) continue;
      decompose(matrix, s + i * k, u ? left : work.data(), u ? right : work.data(), work.data(),
                work.size, rwork.data(), iwork.data(), info + i);
    }
  });
}

template <class T>
void least_squares(int64_t n_batch, int64_t m, int64_t n, int64_t n_rhs, T* a, T* b,
                   RealOf<T> rcond, LeastSquares way, int64_t* rank, RealOf<T>* s, int32_t* info) {
  using R = RealOf<T>;
  int64_t k = std::min(m, n), most = std::max(m, n);
  int rows = to_int(m), columns = to_int(n), count = to_int(n_rhs), ld = to_int(most);
  auto solve = [&](T* matrix, T* x, R* values, int* found, T* work, int n_work, R* rwork,
                   int* iwork, int32_t* status) {
    switch (way) {
      case LeastSquares::Gels:
        return lapack::gels<T>('N', rows, columns, count, matrix, rows, x, ld, work, n_work,
                               status);
      case LeastSquares::Gelsy:
        if constexpr (is_complex_v<T>)
          return lapack::gelsy<T>(rows, columns, count, matrix, rows, x, ld, iwork, rcond, found,
                                  work, n_work, rwork, status);
        return lapack::gelsy<T>(rows, columns, count, matrix, rows, x, ld, iwork, rcond, found,
                                work, n_work, status);
      case LeastSquares::Gelsd:
        if constexpr (is_complex_v<T>)
          return lapack::gelsd<T>(rows, columns, count, matrix, rows, x, ld, values, rcond, found,
                                  work, n_work, rwork, iwork, status);
        return lapack::gelsd<T>(rows, columns, count, matrix, rows, x, ld, values, rcond, found,
                                work, n_work, iwork, status);
      case LeastSquares::Gelss:
        if constexpr (is_complex_v<T>)
          return lapack::gelss<T>(rows, columns, count, matrix, rows, x, ld, values, rcond, found,
                                  work, n_work, rwork, status);
        return lapack::gelss<T>(rows, columns, count, matrix, rows, x, ld, values, rcond, found,
                                work, n_work, status);
    }
  };
  T asked = 0;
  R asked_real = 0;
  int asked_ints = 0, found = 0;
  int32_t status = 0;
  solve(a, b, s, &found, &asked, -1, &asked_real, &asked_ints, &status);
  // gelsd answers for all three kinds of memory, the others have fixed sizes.
  bool is_gelsd = way == LeastSquares::Gelsd;
  int64_t n_real = is_gelsd ? length(asked_real) : std::max(2 * n, 5 * k);
  int64_t n_ints = is_gelsd ? asked_ints : n;
  double work_of_one = 4.0 * static_cast<double>(m) * n * most;
  for_batch(n_batch, work_of_one, [&](int64_t begin, int64_t end) {
    Memory<T> work(length(asked));
    Memory<R> rwork(n_real);
    Memory<int> iwork(n_ints);
    for (int64_t i = begin; i < end; ++i) {
      T *matrix = a + i * m * n, *x = b + i * most * n_rhs;
      int found = 0;
      if (way == LeastSquares::Gelsy && solved_by_qr(m, n, n_rhs, matrix, x, rcond, work)) {
        rank[i] = n;
        info[i] = 0;
        continue;
      }
      info[i] = -1;
      if (!all_finite(matrix, m * n) || !all_finite(x, most * n_rhs)) continue;
      std::fill(iwork.data(), iwork.data() + n_ints, 0);  // gelsy: no column must come first
      solve(matrix, x, s ? s + i * k : nullptr, &found, work.data(), work.size, rwork.data(),
            iwork.data(), info + i);
      if (rank) rank[i] = found;
    }
  });
}

#define FACULA_INSTANCES(T)                                                                        \
  template void qr(int64_t, int64_t, int64_t, T*, T*);                                             \
  template void reflectors_to_q(int64_t, int64_t, int64_t, int64_t, T*, const T*);                 \
  template void multiply_by_q(int64_t, int64_t, int64_t, int64_t, const T*, const T*, T*, bool,    \
                              char);                                                               \
  template void eigh(int64_t, int64_t, T*, RealOf<T>*, int32_t*, bool, bool);                      \
  template void eig(int64_t, int64_t, T*, std::complex<RealOf<T>>*, std::complex<RealOf<T>>*,      \
                    int32_t*);                                                                     \
  template void svd(int64_t, int64_t, int64_t, T*, T*, RealOf<T>*, T*, int32_t*, bool);            \
  template void least_squares(int64_t, int64_t, int64_t, int64_t, T*, T*, RealOf<T>, LeastSquares, \
                              int64_t*, RealOf<T>*, int32_t*);
FACULA_INSTANCES(float)
FACULA_INSTANCES(double)
FACULA_INSTANCES(Complex64)
FACULA_INSTANCES(Complex128)

}  // namespace facula::products
