// OpenBLAS, whose LAPACK we call (lapack.h). The library runs in the calling thread only.
#pragma once

#ifndef FACULA_BLAS_PREFIX
#define FACULA_BLAS_PREFIX
#endif
#define FACULA_BLAS_JOIN(prefix, name) prefix##name
#define FACULA_BLAS_EXPAND(prefix, name) FACULA_BLAS_JOIN(prefix, name)
#define FACULA_BLAS(name) FACULA_BLAS_EXPAND(FACULA_BLAS_PREFIX, name)

namespace facula::products {

extern "C" {
void FACULA_BLAS(openblas_set_num_threads)(int n_threads);
char* FACULA_BLAS(openblas_get_config)();
}

// The library does its own threading unless told not to, once.
inline void keep_library_single_threaded() {
  static const bool done = (FACULA_BLAS(openblas_set_num_threads)(1), true);
  static_cast<void>(done);
}

}  // namespace facula::products
