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
enum Transpose { kNoTrans = 111, kTrans = 112, kConjTrans = 113 };

extern "C" {
void FACULA_BLAS(openblas_set_num_threads)(int n_threads);
char* FACULA_BLAS(openblas_get_config)();
void FACULA_BLAS(cblas_sgemm)(Order, Transpose, Transpose, int m, int n, int k, float alpha,
                              const float* a, int lda, const float* b, int ldb, float beta,
                              float* c, int ldc);
void FACULA_BLAS(cblas_dgemm)(Order, Transpose, Transpose, int m, int n, int k, double alpha,
                              const double* a, int lda, const double* b, int ldb, double beta,
                              double* c, int ldc);
void FACULA_BLAS(cblas_cgemm)(Order, Transpose, Transpose, int m, int n, int k, const void* alpha,
                              const void* a, int lda, const void* b, int ldb, const void* beta,
                              void* c, int ldc);
void FACULA_BLAS(cblas_zgemm)(Order, Transpose, Transpose, int m, int n, int k, const void* alpha,
                              const void* a, int lda, const void* b, int ldb, const void* beta,
                              void* c, int ldc);
void FACULA_BLAS(cblas_sgemv)(Order, Transpose, int m, int n, float alpha, const float* a, int lda,
                              const float* x, int incx, float beta, float* y, int incy);
void FACULA_BLAS(cblas_dgemv)(Order, Transpose, int m, int n, double alpha, const double* a,
                              int lda, const double* x, int incx, double beta, double* y, int incy);
void FACULA_BLAS(cblas_cgemv)(Order, Transpose, int m, int n, const void* alpha, const void* a,
                              int lda, const void* x, int incx, const void* beta, void* y,
                              int incy);
void FACULA_BLAS(cblas_zgemv)(Order, Transpose, int m, int n, const void* alpha, const void* a,
                              int lda, const void* x, int incx, const void* beta, void* y,
                              int incy);
}

inline void library_gemm(Transpose ta, Transpose tb, int m, int n, int k, float alpha,
                         const float* a, int lda, const float* b, int ldb, float beta, float* c,
                         int ldc) {
  FACULA_BLAS(cblas_sgemm)(kRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
inline void library_gemm(Transpose ta, Transpose tb, int m, int n, int k, double alpha,
                         const double* a, int lda, const double* b, int ldb, double beta, double* c,
                         int ldc) {
  FACULA_BLAS(cblas_dgemm)(kRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
inline void library_gemm(Transpose ta, Transpose tb, int m, int n, int k, std::complex<float> alpha,
                         const std::complex<float>* a, int lda, const std::complex<float>* b,
                         int ldb, std::complex<float> beta, std::complex<float>* c, int ldc) {
  FACULA_BLAS(cblas_cgemm)(kRowMajor, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}
inline void library_gemm(Transpose ta, Transpose tb, int m, int n, int k,
                         std::complex<double> alpha, const std::complex<double>* a, int lda,
                         const std::complex<double>* b, int ldb, std::complex<double> beta,
                         std::complex<double>* c, int ldc) {
  FACULA_BLAS(cblas_zgemm)(kRowMajor, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}

inline void library_gemv(Transpose t, int m, int n, float alpha, const float* a, int lda,
                         const float* x, int incx, float beta, float* y, int incy) {
  FACULA_BLAS(cblas_sgemv)(kRowMajor, t, m, n, alpha, a, lda, x, incx, beta, y, incy);
}
inline void library_gemv(Transpose t, int m, int n, double alpha, const double* a, int lda,
                         const double* x, int incx, double beta, double* y, int incy) {
  FACULA_BLAS(cblas_dgemv)(kRowMajor, t, m, n, alpha, a, lda, x, incx, beta, y, incy);
}
inline void library_gemv(Transpose t, int m, int n, std::complex<float> alpha,
                         const std::complex<float>* a, int lda, const std::complex<float>* x,
                         int incx, std::complex<float> beta, std::complex<float>* y, int incy) {
  FACULA_BLAS(cblas_cgemv)(kRowMajor, t, m, n, &alpha, a, lda, x, incx, &beta, y, incy);
}
inline void library_gemv(Transpose t, int m, int n, std::complex<double> alpha,
                         const std::complex<double>* a, int lda, const std::complex<double>* x,
                         int incx, std::complex<double> beta, std::complex<double>* y, int incy) {
  FACULA_BLAS(cblas_zgemv)(kRowMajor, t, m, n, &alpha, a, lda, x, incx, &beta, y, incy);
}

}  // namespace facula::products
