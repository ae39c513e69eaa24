// The routines of LAPACK, and of BLAS by columns, that we call: one name for the four types.
// Matrices are column-major.
#pragma once
#include <type_traits>

#include "base/dtype.h"
#include "products/openblas.h"

namespace facula::products {

template <class T>
using RealOf = std::conditional_t<std::is_same_v<T, Complex64>, float,
                                  std::conditional_t<std::is_same_v<T, Complex128>, double, T>>;

namespace lapack {

using Routine = void (*)();

template <class T>
auto address(const T& x) {
  if constexpr (std::is_pointer_v<T>) {
    return x;
  } else {
    return &x;
  }
}

// Fortran takes everything by address, and the lengths of texts behind all other arguments: four is
// the most that a routine has here, and those that expect fewer do not look.
template <class... Args>
void call(Routine routine, const Args&... args) {
  constexpr size_t kLength = 1;
  reinterpret_cast<void (*)(decltype(address(args))..., size_t, size_t, size_t, size_t)>(routine)(
      address(args)..., kLength, kLength, kLength, kLength);
}

// What works on the real numbers that are left of a complex matrix has the real routine twice.
#define FACULA_LAPACK(name, s, d, c, z)                                     \
  extern "C" {                                                              \
  void FACULA_BLAS(s)();                                                    \
  void FACULA_BLAS(d)();                                                    \
  void FACULA_BLAS(c)();                                                    \
  void FACULA_BLAS(z)();                                                    \
  }                                                                         \
  template <class T, class... Args>                                         \
  void name(const Args&... args) {                                          \
    constexpr bool is_single = std::is_same_v<RealOf<T>, float>;            \
    call(is_complex_v<T> ? (is_single ? &FACULA_BLAS(c) : &FACULA_BLAS(z))  \
                         : (is_single ? &FACULA_BLAS(s) : &FACULA_BLAS(d)), \
         args...);                                                          \
  }
FACULA_LAPACK(gemm, sgemm_, dgemm_, cgemm_, zgemm_)
FACULA_LAPACK(trsm, strsm_, dtrsm_, ctrsm_, ztrsm_)
FACULA_LAPACK(trsv, strsv_, dtrsv_, ctrsv_, ztrsv_)
FACULA_LAPACK(trmv, strmv_, dtrmv_, ctrmv_, ztrmv_)
FACULA_LAPACK(trtri, strtri_, dtrtri_, ctrtri_, ztrtri_)
FACULA_LAPACK(laswp, slaswp_, dlaswp_, claswp_, zlaswp_)
FACULA_LAPACK(getrf, sgetrf_, dgetrf_, cgetrf_, zgetrf_)
FACULA_LAPACK(potrf, spotrf_, dpotrf_, cpotrf_, zpotrf_)
FACULA_LAPACK(sytrf, ssytrf_, dsytrf_, csytrf_, zsytrf_)
FACULA_LAPACK(hetrf, ssytrf_, dsytrf_, chetrf_, zhetrf_)
FACULA_LAPACK(sytrs, ssytrs_, dsytrs_, csytrs_, zsytrs_)
FACULA_LAPACK(hetrs, ssytrs_, dsytrs_, chetrs_, zhetrs_)
FACULA_LAPACK(larft, slarft_, dlarft_, clarft_, zlarft_)
FACULA_LAPACK(ormqr, sormqr_, dormqr_, cunmqr_, zunmqr_)
FACULA_LAPACK(heevd, ssyevd_, dsyevd_, cheevd_, zheevd_)
FACULA_LAPACK(hetrd, ssytrd_, dsytrd_, chetrd_, zhetrd_)
FACULA_LAPACK(stedc, sstedc_, dstedc_, sstedc_, dstedc_)
FACULA_LAPACK(gebrd, sgebrd_, dgebrd_, cgebrd_, zgebrd_)
FACULA_LAPACK(bdsdc, sbdsdc_, dbdsdc_, sbdsdc_, dbdsdc_)
FACULA_LAPACK(geev, sgeev_, dgeev_, cgeev_, zgeev_)
FACULA_LAPACK(gesdd, sgesdd_, dgesdd_, cgesdd_, zgesdd_)
FACULA_LAPACK(gels, sgels_, dgels_, cgels_, zgels_)
FACULA_LAPACK(gelsy, sgelsy_, dgelsy_, cgelsy_, zgelsy_)
FACULA_LAPACK(gelsd, sgelsd_, dgelsd_, cgelsd_, zgelsd_)
FACULA_LAPACK(gelss, sgelss_, dgelss_, cgelss_, zgelss_)
#undef FACULA_LAPACK

}  // namespace lapack
}  // namespace facula::products
