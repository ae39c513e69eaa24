#include "ops/nn/loss.h"

#include "bind/bind.h"

namespace facula {

namespace {

using OptionalTensor = std::optional<Tensor>;

// PyTorch's numbers: 0 none, 1 mean, 2 sum.
Reduction reduction_of(int64_t number) {
  check_value(number >= 0 && number <= 2, "reduction: expected 0, 1 or 2, got ", number, ".");
  return static_cast<Reduction>(number);
}

using ElementLoss = Tensor (*)(const Tensor&, const Tensor&, Reduction, double);

void def_loss(nb::module_& m, const char* name, ElementLoss f) {
  m.def(
      name,
      [f](const Tensor& x, const Tensor& target, int64_t reduction, double p0) {
        return f(x, target, reduction_of(reduction), p0);
      },
      "input"_a, "target"_a, "reduction"_a, "p0"_a = 0.0);
}

using ClassLoss = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, Reduction, int64_t);

void def_class_loss(nb::module_& m, const char* name, ClassLoss f) {
  m.def(
      name,
      [f](const Tensor& x, const Tensor& target, const OptionalTensor& weight, int64_t reduction,
          int64_t ignore_index) {
        return f(x, target, weight.value_or(Tensor()), reduction_of(reduction), ignore_index);
      },
      "input"_a, "target"_a, "weight"_a.none(), "reduction"_a, "ignore_index"_a);
}

}  // namespace

FACULA_BINDINGS {
#define LOSS(name, ...) def_loss(m, "_" #name, name);
#include "tables/loss.def"
#undef LOSS
  def_class_loss(m, "_nll_loss", nll_loss);
  def_class_loss(m, "_cross_entropy", cross_entropy);
  m.def(
      "_ctc_loss",
      [](const Tensor& log_probs, const Tensor& targets, const std::vector<int64_t>& input_lengths,
         const std::vector<int64_t>& target_lengths, int64_t blank, bool zero_infinity) {
        return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity);
      },
      "log_probs"_a, "targets"_a, "input_lengths"_a, "target_lengths"_a, "blank"_a,
      "zero_infinity"_a);
}

}  // namespace facula
