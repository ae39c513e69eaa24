// Factorisations of matrices and what is solved with them. Matrices are the last two dimensions,
// all others are batches.
#pragma once
#include "bind/bind.h"
#include "ops/ops.h"
#include "products/lapack.h"

namespace facula {

// ---- what the operations of this room share
// Raises unless x is a matrix, or a batch of them, of a dtype that LAPACK knows.
void check_matrices(const char* op, const char* name, const Tensor& x);
void check_square(const char* op, const char* name, const Tensor& x);
void check_same_dtype(const char* op, const Tensor& a, const Tensor& b);
// Raises LinAlgError, or another type, with the text for the first matrix that failed, if there is
// one.
void check_info(const char* op, const Tensor& info, std::string (*text)(int64_t code),
                nb::handle type = {});

inline Dims batch_of(const Tensor& x) { return {x.sizes().begin(), x.sizes().end() - 2}; }
int64_t n_matrices(const Tensor& x);
Dims with_matrix(Dims batch, int64_t rows, int64_t columns);
inline Dims with_column(Dims batch, int64_t rows) {
  batch.push_back(rows);
  return batch;
}
Dims broadcast_batches(const char* op, const Tensor& a, const Tensor& b);
// x with its batch expanded.
inline Tensor expand_batch(const Tensor& x, const Dims& batch) {
  return expand(x, with_matrix(batch, x.size(-2), x.size(-1)));
}

Tensor empty_columns(const Dims& sizes, DType dtype, Device device);  // column-major matrices
Tensor copy_columns(const Tensor& x);  // a copy as column-major matrices
Tensor as_columns(const Tensor& x);    // x itself where it is so already
// Zero below the diagonal of column-major matrices, or above.
void clear_below(const Tensor& x);
void clear_above(const Tensor& x);

// f(TypeTag<T>{}), which computes, for x of the dtypes of LAPACK; on meta there is nothing to do.
template <class F>
void visit_lapack(const Tensor& x, F f) {
  if (x.is_meta()) return;
  visit_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T> || is_complex_v<T>) f(tag);
  });
}

inline Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }
inline Tensor adjoint(const Tensor& x) { return conj(transposed(x)); }
// The lower triangle. (As the upper one of the transposed matrix: its order in memory is free.)
inline Tensor lower(const Tensor& x, int64_t offset = 0) {
  return transposed(triu(transposed(x), -offset));
}
inline Tensor diagonal_of(const Tensor& x) { return diagonal(x, 0, -2, -1); }
inline Tensor identity(const Tensor& x, DType dtype) {
  return eye(x.size(-2), x.size(-1), dtype, x.device());
}
// x with other numbers on its diagonal.
Tensor with_diagonal(const Tensor& x, const Tensor& numbers);
Tensor with_diagonal(const Tensor& x, Scalar number);
// The gradient of a tensor of this dtype: what comes back complex from a real one is made real.
inline Tensor as_dtype_of(const Tensor& g, DType dtype) { return is_complex(dtype) ? g : real(g); }

nb::tuple as_tuple(std::initializer_list<Tensor> values);

// Results of the host for tensors of a device, for what only the host can do.
nb::tuple on_device(const nb::tuple& values, Device device);

// ---- operations that derivatives of others are made of
Tensor solve(const Tensor& a, const Tensor& b, bool is_left = true);
Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool is_left = true,
                bool is_adjoint = false);
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool is_upper, bool is_left = true,
                        bool is_unit = false);

struct Lu {
  Tensor lu, pivots, info;
};
Lu factor_lu(const Tensor& a);  // nothing is recorded
struct LuParts {
  Tensor p, l, u;
};
LuParts unpack_lu(const Tensor& lu, const Tensor& pivots, bool with_factors = true,
                  bool with_permutation = true);

struct Svd {
  Tensor u, s, vh;
};
Svd svd(const Tensor& a, bool is_full, bool with_vectors = true);

}  // namespace facula
