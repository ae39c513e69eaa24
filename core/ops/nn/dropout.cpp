#include "ops/nn/dropout.h"

#include <nanobind/stl/pair.h>

#include "autograd/node.h"
#include "cpu/nn/dropout.h"
#include "cpu/run.h"
#include "cuda/random/random.h"
#include "ops/ops.h"
#include "ops/result_binding.h"

namespace facula {

namespace {

void check_probability(const char* op, double p) {
  check(p >= 0 && p <= 1, op, ": expected p from 0 to 1, got ", p, ".");
}

// 1 / keep, rounded as a division of numbers of this dtype.
double scale_of(DType dtype, double keep) {
  return visit_dtype(dtype, [&](auto tag) -> double {
    using T = typename decltype(tag)::type;
    if constexpr (is_floating_v<T>) {
      using W = Wide<T>;
      return static_cast<W>(T(W(1) / static_cast<W>(keep)));
    } else {
      return 1 / keep;
    }
  });
}

bool is_dense(const Tensor& x) { return is_non_overlapping_and_dense(x.sizes(), x.strides()); }

// x * scale where the mask is set, x * 0 elsewhere.
Tensor scale_kept(const char* node, const Tensor& x, const Tensor& mask, double scale);

Tensor record_dropout(const char* node, const Tensor& y, const Tensor& x, const Tensor& mask,
                      double scale) {
  return record(node, y, {x}, [node, mask = save(mask), scale](const Tensor& g) {
    return scale_kept(node, g, mask, scale);
  });
}

Tensor scale_kept(const char* node, const Tensor& x, const Tensor& mask, double scale) {
  bool is_kernel = x.is_cpu() || (is_dense(x) && x.strides() == mask.strides());
  if (!is_kernel || !is_floating(x.dtype())) return x * (to_dtype(mask, x.dtype()) * scale);
  Tensor y = empty_for(x.sizes(), x.dtype(), {x});
  if (x.is_cpu()) {
    Walk walk = make_walk("dropout", y, {x, mask});
    run_cpu(walk, cpu::get_dropout_table().loops[static_cast<int>(x.dtype())], &scale);
  } else {
    cuda::dropout(y, x, mask, scale);
  }
  return record_dropout(node, y, x, mask, scale);
}

// The mask of what is kept, drawn anew, and x with the rest dropped.
std::pair<Tensor, Tensor> drop(const char* node, const Tensor& x, double keep, double scale) {
  Tensor mask = empty_like(x, DType::Bool, x.device());
  Generator& generator = *default_generator(x.device());
  if (x.is_cpu() || generator.kind() != GeneratorKind::Philox) {
    bernoulli_(mask, keep, generator);
    return {scale_kept(node, x, mask, scale), mask};
  }
  Tensor y = empty_like(x);
  // Also with gaps: a seed and a shape have one mask.
  cuda::dropout(y, is_dense(x) ? x : clone(detach(x)), mask, scale, keep, generator);
  return {record_dropout(node, y, x, mask, scale), mask};
}

}  // namespace

Tensor dropout(const Tensor& x, double p, bool train) {
  check_probability("dropout", p);
  if (!train || p == 0 || x.numel() == 0) return x;
  if (p == 1) return x * scalar_tensor(0, x.dtype());
  check(is_floating(x.dtype()), "dropout: expected a floating-point input, got ", x,
        ". Convert it with input.float().");
  return drop("MulBackward0", x, 1 - p, scale_of(x.dtype(), 1 - p)).first;
}

namespace {

Tensor dropout_in_place(Tensor x, double p, bool train) {
  check_probability("dropout_", p);
  if (!train || p == 0 || x.numel() == 0) return x;
  return in_place("dropout_", x, [&](const Tensor& t) { return dropout(t, p, train); });
}

// The result and the mask of what was kept. Without `train` everything is.
std::pair<Tensor, Tensor> native_dropout(const Tensor& x, double p, std::optional<bool> train) {
  check_probability("native_dropout", p);
  check(is_floating(x.dtype()), "native_dropout: expected a floating-point input, got ", x,
        ". Convert it with input.float().");
  bool drops = train.value_or(true);
  if (drops) return drop("NativeDropoutBackward0", x, 1 - p, p == 1 ? 0 : 1 / (1 - p));
  Tensor mask = empty_like(x, DType::Bool, x.device());
  fill_(mask, 1);
  return {scale_kept("NativeDropoutBackward0", x, mask, 1), mask};
}

}  // namespace

FACULA_BINDINGS {
  m.def("dropout", dropout, "input"_a, "p"_a, "train"_a,
        R"(Zeroes elements with probability ``p`` and scales the others by ``1 / (1 - p)``.
    input: the elements, floating point.
    p: the probability of a zero, in ``[0, 1]``.
    train: whether elements are zeroed; else the result is ``input`` itself.
    >>> facula.dropout(facula.tensor([1.0, 2.0]), 0.0, True)
    tensor([1., 2.]))"_doc);
  m.def("dropout_", dropout_in_place, "input"_a, "p"_a, "train"_a,
        R"(Zeroes elements of a tensor itself with probability ``p``, and scales the others.
    input: what is changed, floating point.
    p: the probability of a zero, in ``[0, 1]``.
    train: whether anything is changed.
    >>> facula.dropout_(facula.tensor([1.0, 2.0]), 1.0, True)
    tensor([0., 0.]))"_doc);
  m.def("native_dropout", native_dropout, "input"_a, "p"_a, "train"_a.none(),
        R"(``dropout`` together with its mask: true for the elements that were kept.
    input: the elements, floating point.
    p: the probability of a zero, in ``[0, 1]``.
    train: whether elements are zeroed; None counts as True.
    >>> facula.native_dropout(facula.tensor([1.0, 2.0]), 0.5, False)
    (tensor([1., 2.]), tensor([True, True])))"_doc);
}

}  // namespace facula
