// The factorisations on raw memory, where the matrices are.
#pragma once
#include "cuda/linalg/factor.h"
#include "products/factor.h"

namespace facula::factor {

#define FACULA_BY_DEVICE(name)                       \
  template <class... Arguments>                      \
  void name(Device device, Arguments... arguments) { \
    if (device.is_cpu()) {                           \
      products::name(arguments...);                  \
    } else {                                         \
      cuda::name(device, arguments...);              \
    }                                                \
  }
FACULA_BY_DEVICE(lu)
FACULA_BY_DEVICE(lu_solve)
FACULA_BY_DEVICE(cholesky)
FACULA_BY_DEVICE(triangular_solve)
FACULA_BY_DEVICE(qr)
FACULA_BY_DEVICE(reflectors_to_q)
FACULA_BY_DEVICE(multiply_by_q)
FACULA_BY_DEVICE(eigh)
FACULA_BY_DEVICE(svd)
#undef FACULA_BY_DEVICE

}  // namespace facula::factor
