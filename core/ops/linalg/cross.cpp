// The product of vectors of three elements.
#include "cpu/linalg/cross.h"

#include "autograd/node.h"
#include "bind/bind.h"
#include "cpu/run.h"
#include "ops/ops.h"

namespace facula {

namespace {

void cross_on_cpu(const Tensor& y, const Tensor& x, const Tensor& other, int64_t dim) {
  const Tensor* operands[] = {&y, &x, &other};
  cpu::CrossParams params{y.dtype(), {}};
  for (int i = 0; i < 3; ++i) params.steps[i] = operands[i]->stride(dim) * y.itemsize();
  Walk walk = make_walk("cross", select(y, dim, 0), {select(x, dim, 0), select(other, dim, 0)});
  walk.keeps_places = true;
  run_cpu(walk, cpu::get_cross_table().cross, &params);
}

// With the same tensor operations for every device.
Tensor cross_of_slices(const Tensor& x, const Tensor& other, int64_t dim) {
  auto turned = [dim](const Tensor& t, int64_t steps) {
    return cat({narrow(t, dim, steps, 3 - steps), narrow(t, dim, 0, steps)}, dim);
  };
  return turned(x, 1) * turned(other, 2) - turned(x, 2) * turned(other, 1);
}

// dim < 0 counts from the end, and has size 3 in both; they are not both bool.
Tensor cross(const Tensor& given_x, const Tensor& given_other, int64_t dim) {
  check_same_device("cross", {given_x, given_other});
  DType dtype = result_type({given_x, given_other});
  Dims sizes = broadcast_shapes("cross", given_x.sizes(), given_other.sizes());
  auto fitting = [&](const Tensor& t) {
    return t.sizes() == sizes ? to_dtype(t, dtype) : expand(to_dtype(t, dtype), sizes);
  };
  Tensor x = fitting(given_x), other = fitting(given_other), y;
  {
    NoGradGuard guard;
    int64_t along = dim + static_cast<int64_t>(sizes.size());
    if (x.is_cpu()) {
      y = empty(sizes, dtype, x.device());
      cross_on_cpu(y, x, other, along);
    } else {
      y = cross_of_slices(x, other, along);
    }
  }
  return record("LinalgCrossBackward0", y, {x, other},
                [x = save(other.requires_grad() ? x : Tensor()),
                 other = save(x.requires_grad() ? other : Tensor()),
                 dim](const Tensor& g, Needs need) -> TensorList {
                  return {need[0] ? cross(conj(Tensor(other)), g, dim) : Tensor(),
                          need[1] ? cross(g, conj(Tensor(x)), dim) : Tensor()};
                });
}

}  // namespace

FACULA_BINDINGS { m.def("_cross", &cross, "input"_a, "other"_a, "dim"_a); }

}  // namespace facula
