// Checks of probabilities.
#pragma once
#include "cuda/kernels/fault.h"
#include "cuda/kernels/shape.h"

namespace facula {

struct IntervalArguments {
  const char* x;
  int64_t numel;
  const char *op, *name;
  int kind;  // of the error
  Fault* fault;
};

#ifdef __CUDACC_RTC__

// Reports an element that is not from 0 to 1.
template <class T>
FACULA_FN void check_unit_interval(const IntervalArguments& a) {
  int64_t i = thread_number();
  if (i >= a.numel) return;
  auto x = static_cast<double>(Wide<T>(reinterpret_cast<const T*>(a.x)[i]));
  if ((x >= 0 && x <= 1) || atomicCAS(&a.fault->is_set, 0, 1) != 0) return;
  a.fault->kind = a.kind;
  a.fault->op = a.op;
  a.fault->name = a.name;
  a.fault->number = x;
  __threadfence_system();
}

#endif

}  // namespace facula
