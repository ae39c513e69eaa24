// How samples get into a tensor, for the files of the random family.
#pragma once
#include <utility>

#include "autograd/node.h"
#include "base/parallel.h"
#include "cuda/random/random.h"
#include "ops/ops.h"

namespace facula {

// The view of x whose row-major order is the order of x in memory, or nearly so: the order in which
// PyTorch fills. `order` gets the dimensions of x, outermost first.
Tensor in_memory_order(const Tensor& x, Dims& order);

// Runs draw(T*) without the interpreter lock where it may take long.
template <class Draw>
void run_draw(int64_t numel, const Draw& draw) {
  constexpr int64_t kLong = 1 << 14;
  if (numel < kLong) return draw();
  run_blocking(draw);
}

// Fills x, which may have any layout and device, by draw(T* out, int64_t n, order).
template <class T, class Draw>
void draw_into(const Tensor& x, const Draw& draw) {
  NoGradGuard guard;
  Dims order;
  Tensor rows = in_memory_order(x, order);
  bool is_direct = x.is_cpu() && rows.is_contiguous();
  Tensor target = is_direct ? rows : empty(rows.sizes(), x.dtype());
  T* out = target.data_as<T>();
  int64_t n = target.numel();
  draw(out, n, order);
  if (!is_direct) copy_into(rows, target);
}

// True where x is on a GPU, the generator a Philox one, and x has been filled there.
bool draw_on_cuda(const Tensor& x, const cuda::Draw& draw, Generator& generator);

// The frame of an in-place sampler: `write()` fills x. A sample does not depend on what x held, so
// its gradient is zero.
template <class Write>
Tensor& sample_in_place(const char* op, const char* node, Tensor& x, const Write& write) {
  check_inplace(op, x);
  if (x.numel() > 0 && !x.is_meta()) write();
  bump_version(x);
  if (is_grad_enabled() && x.requires_grad()) {
    Tensor y = record(node, alias(x), {x},
                      [](const Tensor& g) { return zeros(g.sizes(), g.dtype(), g.device()); });
    rebase_history(x, y);
  }
  return x;
}

// Samples have a gradient, zero, with regard to real parameters only.
inline void check_samples_differentiable(const char* op, const Tensor& parameter) {
  check(!is_complex(parameter.dtype()) || !is_grad_enabled() || !parameter.requires_grad(), op,
        ": has no derivative for a complex parameter, got ", parameter, ". Use detach().");
}

// f(TypeTag<T>) for the dtypes that a sampler has: the rest is refused as PyTorch refuses it.
template <class F>
void visit_floating(const char* op, DType dtype, F&& f) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_floating_v<T>)
      f(tag);
    else
      fail(ErrorKind::NotImplemented, op, ": expected a floating-point dtype, got ", dtype, ".");
  });
}
template <class F>
void visit_numeric(const char* op, DType dtype, F&& f) {  // neither bool nor complex
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!is_complex_v<T> && !std::is_same_v<T, bool>)
      f(tag);
    else
      fail(ErrorKind::NotImplemented, op, ": expected an integer or floating-point dtype, got ",
           dtype, ".");
  });
}
template <class F>
void visit_real(const char* op, DType dtype, F&& f) {  // not complex
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!is_complex_v<T>)
      f(tag);
    else
      fail(ErrorKind::NotImplemented, op, ": expected a real dtype, got ", dtype, ".");
  });
}

}  // namespace facula
