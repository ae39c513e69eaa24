#include "products/factor_tools.h"
#include "products/matmul.h"
#include "products/substitute.h"

namespace facula::products {
namespace {

// Up to here our own loops take less time than the library takes to begin.
constexpr int64_t kSmall = 8;

// c -= a b by our own product, which is cut for the threads; a is m x k, b k x n.
template <class T>
void subtract_product(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
                      int64_t ldb, T* c, int64_t ldc) {
  Gemm<T> product;  // of the transposed matrices: those are row-major
  product.m = n, product.n = m, product.k = k;
  product.a = b, product.lda = ldb;
  product.b = a, product.ldb = lda;
  product.c = c, product.ldc = ldc;
  product.alpha = -1, product.beta = 1;
  gemm(product);
}

template <class T>
int32_t lu_small(int64_t m, int64_t n, T* a, int32_t* pivots) {
  int32_t info = 0;
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    T* column = a + j * m;
    int64_t pivot = j;
    RealOf<T> largest = pivot_size(column[j]);
    for (int64_t i = j + 1; i < m; ++i) {
      RealOf<T> size = pivot_size(column[i]);
      if (size > largest || (size != size && largest == largest)) largest = size, pivot = i;
    }
    pivots[j] = static_cast<int32_t>(pivot + 1);
    if (pivot != j)
      for (int64_t c = 0; c < n; ++c) std::swap(a[c * m + j], a[c * m + pivot]);
    if (column[j] == T(0)) {
      if (info == 0) info = static_cast<int32_t>(j + 1);
      continue;
    }
    for (int64_t i = j + 1; i < m; ++i) column[i] /= column[j];
    for (int64_t c = j + 1; c < n; ++c) {
      T factor = a[c * m + j];
      for (int64_t i = j + 1; i < m; ++i) a[c * m + i] -= times(column[i], factor);
    }
  }
  return info;
}

template <class T>
int32_t lu_one(int64_t m, int64_t n, T* a, int32_t* pivots) {
  if (std::max(m, n) <= kSmall) return lu_small(m, n, a, pivots);
  int rows = to_int(m), cols = to_int(n), info = 0, one = 1;
  int64_t k = std::min(m, n);
  if (k <= 2 * kPanel) {
    lapack::getrf<T>(rows, cols, a, rows, pivots, &info);
    return info;
  }
  int first_zero = 0;
  for (int64_t j = 0; j < k; j += kPanel) {
    int64_t width = std::min(kPanel, k - j), right = j + width;
    int32_t* swaps = pivots + j;
    lapack::getrf<T>(to_int(m - j), to_int(width), a + j * m + j, rows, swaps, &info);
    if (info != 0 && first_zero == 0) first_zero = info + to_int(j);
    int count = to_int(width), triangle = to_int(width);
    auto swap_rows = [&](int64_t begin, int64_t end) {
      lapack::laswp<T>(to_int(end - begin), a + begin * m + j, rows, one, count, swaps, one);
    };
    parallel_for(j, kColumns, swap_rows);
    parallel_for(n - right, kColumns, [&](int64_t begin, int64_t end) {
      swap_rows(right + begin, right + end);
      lapack::trsm<T>('L', 'L', 'N', 'U', triangle, to_int(end - begin), T(1), a + j * m + j, rows,
                      a + (right + begin) * m + j, rows);
    });
    subtract_product(m - right, n - right, width, a + j * m + right, m, a + right * m + j, m,
                     a + right * m + right, m);
    for (int64_t i = 0; i < width; ++i) swaps[i] += static_cast<int32_t>(j);
  }
  return first_zero;
}

template <class T>
int32_t cholesky_small(int64_t n, T* a) {
  for (int64_t j = 0; j < n; ++j) {
    RealOf<T> pivot = std::real(a[j * n + j]);
    for (int64_t k = 0; k < j; ++k)
      pivot -= static_cast<RealOf<T>>(std::real(times(a[k * n + j], conj_of(a[k * n + j]))));
    if (!(pivot > 0)) {
      a[j * n + j] = pivot;
      return static_cast<int32_t>(j + 1);
    }
    RealOf<T> root = std::sqrt(pivot);
    a[j * n + j] = root;
    for (int64_t i = j + 1; i < n; ++i) {
      T sum = a[j * n + i];
      for (int64_t k = 0; k < j; ++k) sum -= times(a[k * n + i], conj_of(a[k * n + j]));
      a[j * n + i] = sum / root;
    }
  }
  return 0;
}

// f(top, left) for the square tiles on and below the diagonal of n rows.
template <class F>
void for_lower_tiles(int64_t n, F f) {
  int64_t n_tiles = ceil_div(n, kPanel);
  parallel_for(n_tiles * (n_tiles + 1) / 2, 1, [&](int64_t tile, int64_t end) {
    for (; tile < end; ++tile) {
      auto row = static_cast<int64_t>((std::sqrt(8.0 * static_cast<double>(tile) + 1) - 1) / 2);
      f(row * kPanel, (tile - row * (row + 1) / 2) * kPanel);
    }
  });
}

template <class T>
int32_t cholesky_one(int64_t n, T* a) {
  if (n <= kSmall) return cholesky_small(n, a);
  int size = to_int(n), info = 0;
  if (n <= 2 * kPanel) {
    lapack::potrf<T>('L', size, a, size, &info);
    return info;
  }
  for (int64_t j = 0; j < n; j += kPanel) {
    int64_t width = std::min(kPanel, n - j), below = j + width;
    int block = to_int(width);
    const T* corner = a + j * n + j;
    lapack::potrf<T>('L', block, const_cast<T*>(corner), size, &info);
    if (info != 0) return info + to_int(j);
    parallel_for(n - below, kColumns, [&](int64_t begin, int64_t end) {
      lapack::trsm<T>('R', 'L', 'C', 'N', to_int(end - begin), block, T(1), corner, size,
                      a + j * n + below + begin, size);
    });
    // Of the rest only the tiles on and below the diagonal.
    for_lower_tiles(n - below, [&](int64_t top, int64_t left) {
      top += below, left += below;
      lapack::gemm<T>('N', 'C', to_int(std::min(kPanel, n - top)),
                      to_int(std::min(kPanel, n - left)), block, T(-1), a + j * n + top, size,
                      a + j * n + left, size, T(1), a + left * n + top, size);
    });
  }
  return 0;
}

// x of op(A) x = b for a small triangle, one column after the other.
template <class T>
void triangular_solve_small(int64_t n, int64_t n_rhs, const T* a, T* b, Triangle form) {
  bool is_transposed = form.op != 'N', is_forward = form.is_upper == is_transposed;
  auto element = [&](int64_t i, int64_t j) {
    T x = is_transposed ? a[i * n + j] : a[j * n + i];
    return form.op == 'C' ? conj_of(x) : x;
  };
  for (int64_t c = 0; c < n_rhs; ++c) {
    T* x = b + c * n;
    for (int64_t s = 0; s < n; ++s) {
      int64_t j = is_forward ? s : n - 1 - s;
      if (!form.is_unit) x[j] /= element(j, j);
      for (int64_t i = is_forward ? j + 1 : 0, end = is_forward ? n : j; i < end; ++i)
        x[i] -= times(element(i, j), x[j]);
    }
  }
}

// For few right sides.
void substitute(const cpu::Substitution<float>& s) { cpu::get_substitute_table().float32(s); }
void substitute(const cpu::Substitution<double>& s) { cpu::get_substitute_table().float64(s); }

template <class T>
void triangular_solve_one(int64_t m, int64_t n, const T* a, T* b, Triangle form) {
  if (form.is_left && m <= kSmall) return triangular_solve_small(m, n, a, b, form);
  if constexpr (!is_complex_v<T>) {
    if (form.is_left && n <= cpu::Substitution<T>::kMaxSides)
      return substitute({m, n, a, form.is_upper, form.op != 'N', form.is_unit, b});
  }
  int rows = to_int(m), size = to_int(form.is_left ? m : n);
  char side = form.is_left ? 'L' : 'R', which = form.is_upper ? 'U' : 'L';
  char diagonal = form.is_unit ? 'U' : 'N';
  // One side after the other: the library packs all of A for several. A transpose is read by its
  // slower loops, which two sides do not make up for.
  if (form.is_left && n <= (form.op == 'N' ? 2 : 1) && m >= kPanel) {
    for (int64_t j = 0; j < n; ++j)
      lapack::trsv<T>(which, form.op, diagonal, size, a, size, b + j * m, 1);
    return;
  }
  parallel_for(form.is_left ? n : m, kColumns, [&](int64_t begin, int64_t end) {
    int count = to_int(end - begin);
    if (form.is_left) {
      lapack::trsm<T>(side, which, form.op, diagonal, rows, count, T(1), a, size, b + begin * m,
                      rows);
    } else {
      lapack::trsm<T>(side, which, form.op, diagonal, count, size, T(1), a, size, b + begin, rows);
    }
  });
}

// Rows (of the columns from b on) in the order of the pivots, or back.
template <class T>
void swap_rows(int64_t n, int64_t n_columns, T* b, const int32_t* pivots, bool is_back) {
  if (n > kSmall) {
    lapack::laswp<T>(to_int(n_columns), b, to_int(n), 1, to_int(n), pivots, is_back ? -1 : 1);
    return;
  }
  for (int64_t s = 0; s < n; ++s) {
    int64_t i = is_back ? n - 1 - s : s, j = pivots[i] - 1;
    if (i == j) continue;
    for (int64_t c = 0; c < n_columns; ++c) std::swap(b[c * n + i], b[c * n + j]);
  }
}

template <class T>
void lu_solve_one(int64_t n, int64_t n_rhs, const T* lu, const int32_t* pivots, T* b, char op) {
  Triangle lower{true, false, true, op}, upper{true, true, false, op};
  parallel_for(n_rhs, kColumns, [&](int64_t begin, int64_t end) {
    T* x = b + begin * n;
    int64_t count = end - begin;
    if (op == 'N') {
      swap_rows(n, count, x, pivots, false);
      triangular_solve_one(n, count, lu, x, lower);
      triangular_solve_one(n, count, lu, x, upper);
    } else {
      triangular_solve_one(n, count, lu, x, upper);
      triangular_solve_one(n, count, lu, x, lower);
      swap_rows(n, count, x, pivots, true);
    }
  });
}

// The inverse of A = P L U is U^-1 L^-1 P^T. A column of L^-1 is zero above the diagonal, which
// saves a third of the work.
template <class T>
void lu_inverse_one(int64_t n, const T* lu, const int32_t* pivots, T* out) {
  int size = to_int(n);
  std::fill(out, out + n * n, T(0));
  parallel_for(n, kColumns, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) out[j * n + j] = T(1);
    T* columns = out + begin * n;
    if (n <= kSmall) {
      triangular_solve_small(n, end - begin, lu, columns, {true, false, true, 'N'});
      triangular_solve_small(n, end - begin, lu, columns, {true, true, false, 'N'});
      return;
    }
    int count = to_int(end - begin), rest = to_int(n - begin);
    lapack::trsm<T>('L', 'L', 'N', 'U', rest, count, T(1), lu + begin * n + begin, size,
                    columns + begin, size);
    lapack::trsm<T>('L', 'U', 'N', 'N', size, count, T(1), lu, size, columns, size);
  });
  for (int64_t i = n - 1; i >= 0; --i)
    if (pivots[i] - 1 != i)
      std::swap_ranges(out + i * n, out + (i + 1) * n, out + (pivots[i] - 1) * n);
}

// The inverse of L L^H is X^H X for X = L^-1. A column of X is zero above the diagonal, so that the
// sums for a tile of the result begin at its rows.
template <class T>
void cholesky_inverse_one(int64_t n, const T* l, T* out) {
  int size = to_int(n);
  Scratch<T> inverse(n * n);
  T* x = inverse.data();
  parallel_for(n, kColumns, [&](int64_t begin, int64_t end) {
    std::fill(x + begin * n, x + end * n, T(0));
    for (int64_t j = begin; j < end; ++j) x[j * n + j] = T(1);
    lapack::trsm<T>('L', 'L', 'N', 'N', to_int(n - begin), to_int(end - begin), T(1),
                    l + begin * n + begin, size, x + begin * n + begin, size);
  });
  for_lower_tiles(n, [&](int64_t top, int64_t left) {
    int64_t bottom = std::min(top + kPanel, n), right = std::min(left + kPanel, n);
    lapack::gemm<T>('C', 'N', to_int(bottom - top), to_int(right - left), to_int(n - top), T(1),
                    x + top * n + top, size, x + left * n + top, size, T(0), out + left * n + top,
                    size);
    for (int64_t j = left; j < right; ++j)
      for (int64_t i = std::max(top, j + 1); i < bottom; ++i)
        out[i * n + j] = conj_of(out[j * n + i]);
  });
}

}  // namespace

template <class T>
void lu(int64_t n_batch, int64_t m, int64_t n, T* a, int32_t* pivots, int32_t* info) {
  int64_t k = std::min(m, n);
  for_batch(n_batch, static_cast<double>(m) * n * k, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      info[i] = k == 0 ? 0 : lu_one(m, n, a + i * m * n, pivots + i * k);
  });
}

template <class T>
void lu_solve(int64_t n_batch, int64_t n, int64_t n_rhs, const T* lu, const int32_t* pivots, T* b,
              char op) {
  if (n == 0 || n_rhs == 0) return;
  for_batch(n_batch, static_cast<double>(n) * n * n_rhs, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      lu_solve_one(n, n_rhs, lu + i * n * n, pivots + i * n, b + i * n * n_rhs, op);
  });
}

template <class T>
void lu_inverse(int64_t n_batch, int64_t n, const T* lu, const int32_t* pivots, T* out) {
  if (n == 0) return;
  for_batch(n_batch, cubed(n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      lu_inverse_one(n, lu + i * n * n, pivots + i * n, out + i * n * n);
  });
}

template <class T>
void cholesky(int64_t n_batch, int64_t n, T* a, int32_t* info) {
  for_batch(n_batch, cubed(n) / 3, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) info[i] = n == 0 ? 0 : cholesky_one(n, a + i * n * n);
  });
}

template <class T>
void triangular_solve(int64_t n_batch, int64_t m, int64_t n, const T* a, T* b, Triangle form) {
  if (m == 0 || n == 0) return;
  int64_t size = form.is_left ? m : n;
  double work = static_cast<double>(m) * n * size / 2;
  for_batch(n_batch, work, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      triangular_solve_one(m, n, a + i * size * size, b + i * m * n, form);
  });
}

template <class T>
void cholesky_inverse(int64_t n_batch, int64_t n, const T* l, T* out) {
  for_batch(n_batch, cubed(n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) cholesky_inverse_one(n, l + i * n * n, out + i * n * n);
  });
}

template <class T>
void ldl(int64_t n_batch, int64_t n, T* a, int32_t* pivots, int32_t* info, bool is_hermitian) {
  if (n == 0) {  // some versions of LAPACK ask for no memory then, and refuse it
    std::fill_n(info, n_batch, 0);
    return;
  }
  int size = to_int(n), ld = size;
  auto factor = [&](T* matrix, int32_t* pivot, T* memory, int n_memory, int32_t* status) {
    if (is_hermitian) {
      lapack::hetrf<T>('L', size, matrix, ld, pivot, memory, n_memory, status);
    } else {
      lapack::sytrf<T>('L', size, matrix, ld, pivot, memory, n_memory, status);
    }
  };
  T asked = 0;
  int32_t status = 0;
  factor(a, pivots, &asked, -1, &status);
  for_batch(n_batch, cubed(n) / 3, [&](int64_t begin, int64_t end) {
    Memory<T> memory(length(asked));
    for (int64_t i = begin; i < end; ++i)
      factor(a + i * n * n, pivots + i * n, memory.data(), memory.size, info + i);
  });
}

template <class T>
void ldl_solve(int64_t n_batch, int64_t n, int64_t n_rhs, const T* ld, const int32_t* pivots, T* b,
               bool is_hermitian) {
  if (n == 0 || n_rhs == 0) return;
  int size = to_int(n), columns = to_int(n_rhs);
  for_batch(n_batch, static_cast<double>(n) * n * n_rhs, [&](int64_t begin, int64_t end) {
    int32_t info;
    for (int64_t i = begin; i < end; ++i) {
      const T* factors = ld + i * n * n;
      T* x = b + i * n * n_rhs;
      if (is_hermitian) {
        lapack::hetrs<T>('L', size, columns, factors, size, pivots + i * n, x, size, &info);
      } else {
        lapack::sytrs<T>('L', size, columns, factors, size, pivots + i * n, x, size, &info);
      }
    }
  });
}

#define FACULA_INSTANCES(T)                                                              \
  template void lu(int64_t, int64_t, int64_t, T*, int32_t*, int32_t*);                   \
  template void lu_solve(int64_t, int64_t, int64_t, const T*, const int32_t*, T*, char); \
  template void lu_inverse(int64_t, int64_t, const T*, const int32_t*, T*);              \
  template void cholesky(int64_t, int64_t, T*, int32_t*);                                \
  template void cholesky_inverse(int64_t, int64_t, const T*, T*);                        \
  template void triangular_solve(int64_t, int64_t, int64_t, const T*, T*, Triangle);     \
  template void ldl(int64_t, int64_t, T*, int32_t*, int32_t*, bool);                     \
  template void ldl_solve(int64_t, int64_t, int64_t, const T*, const int32_t*, T*, bool);
FACULA_INSTANCES(float)
FACULA_INSTANCES(double)
FACULA_INSTANCES(Complex64)
FACULA_INSTANCES(Complex128)

}  // namespace facula::products
