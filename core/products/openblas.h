// The functions of OpenBLAS that we call, by one name for all types. The library runs in the
// calling thread only.
#pragma once
#include <complex>

#ifndef FACULA_BLAS_PREFIX
#define FACULA_BLAS_PREFIX
#endif
#define FACULA_BLAS_JOIN(prefix, name) prefix##name
#define FACULA_BLAS_EXPAND(prefix, name) FACULA_BLAS_JOIN(prefix, name)
#define FACULA_BLAS(name) FACULA_BLAS_EXPAND(FACULA_BLAS_PREFIX, name)

namespace facula::products {

// The numbers of the C interface.
enum Order { kRowMajor = 101 };
enum Transpose { kNoTrans = 111, kTrans = 112 };

extern "C" {
void FACULA_BLAS(openblas_set_num_threads)(int n_threads);
char* FACULA_BLAS(openblas_get_config)();
}

// The library does its own threading unless told not to, once.
inline void keep_library_single_threaded() {
  static const bool done = (FACULA_BLAS(openblas_set_num_threads)(1), true);
  static_cast<void>(done);
}

// `Scalar` and `Data` are what the C interface has for numbers of type T and for memory of them;
// `number` is & where it takes numbers by their address.
#define FACULA_BLAS_TYPE(T, Scalar, Data, gemm_name, gemv_name, number)                          \
  extern "C" {                                                                                   \
  void FACULA_BLAS(gemm_name)(Order, Transpose, Transpose, int m, int n, int k, Scalar alpha,    \
                              const Data* a, int lda, const Data* b, int ldb, Scalar beta,       \
                              Data* c, int ldc);                                                 \
  void FACULA_BLAS(gemv_name)(Order, Transpose, int m, int n, Scalar alpha, const Data* a,       \
                              int lda, const Data* x, int incx, Scalar beta, Data* y, int incy); \
  }                                                                                              \
  inline void library_gemm(Transpose ta, Transpose tb, int m, int n, int k, T alpha, const T* a, \
                           int lda, const T* b, int ldb, T beta, T* c, int ldc) {                \
    FACULA_BLAS(gemm_name)                                                                       \
    (kRowMajor, ta, tb, m, n, k, number alpha, a, lda, b, ldb, number beta, c, ldc);             \
  }                                                                                              \
  inline void library_gemv(Transpose t, int m, int n, T alpha, const T* a, int lda, const T* x,  \
                           int incx, T beta, T* y, int incy) {                                   \
    FACULA_BLAS(gemv_name)                                                                       \
    (kRowMajor, t, m, n, number alpha, a, lda, x, incx, number beta, y, incy);                   \
  }
FACULA_BLAS_TYPE(float, float, float, cblas_sgemm, cblas_sgemv, )
FACULA_BLAS_TYPE(double, double, double, cblas_dgemm, cblas_dgemv, )
FACULA_BLAS_TYPE(std::complex<float>, const void*, void, cblas_cgemm, cblas_cgemv, &)
FACULA_BLAS_TYPE(std::complex<double>, const void*, void, cblas_zgemm, cblas_zgemv, &)
#undef FACULA_BLAS_TYPE

}  // namespace facula::products
