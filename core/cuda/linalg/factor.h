// The factorisations of products/factor.h on matrices of a GPU, through cuSOLVER and cuBLAS. What
// these do not have, or do worse than a CPU, is done on the host.
#pragma once
#include "base/device.h"
#include "products/factor.h"

namespace facula::cuda {

template <class T>
void lu(Device device, int64_t n_batch, int64_t m, int64_t n, T* a, int32_t* pivots, int32_t* info);
template <class T>
void lu_solve(Device device, int64_t n_batch, int64_t n, int64_t n_rhs, const T* lu,
              const int32_t* pivots, T* b, char op);
template <class T>
void cholesky(Device device, int64_t n_batch, int64_t n, T* a, int32_t* info);
template <class T>
void triangular_solve(Device device, int64_t n_batch, int64_t m, int64_t n, const T* a, T* b,
                      products::Triangle form);
template <class T>
void qr(Device device, int64_t n_batch, int64_t m, int64_t n, T* a, T* tau);
template <class T>
void reflectors_to_q(Device device, int64_t n_batch, int64_t m, int64_t n, int64_t k, T* a,
                     const T* tau);
template <class T>
void multiply_by_q(Device device, int64_t n_batch, int64_t m, int64_t n, int64_t k, const T* a,
                   const T* tau, T* c, bool is_left, char op);
template <class T>
void eigh(Device device, int64_t n_batch, int64_t n, T* a, products::RealOf<T>* values,
          int32_t* info, bool is_upper, bool with_vectors);
// m must not be less than n.
template <class T>
void svd(Device device, int64_t n_batch, int64_t m, int64_t n, T* a, T* u, products::RealOf<T>* s,
         T* vh, int32_t* info, bool is_thin);

}  // namespace facula::cuda
