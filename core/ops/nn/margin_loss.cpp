// How much the scores of other classes exceed those of the targets. Without derivatives, which are
// those of the losses composed of other operations.
#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "ops/ops.h"
#include "ops/result_binding.h"

namespace facula {

namespace {

constexpr int64_t kGrain = 1 << 14;  // pairs of a target and another class

struct MarginParams {
  int64_t n_targets, n_classes;  // of a row
  int64_t least;                 // target that is allowed: -1 or 0
  bool is_squared;
  double margin;
};

// The targets of a row, which end with the first -1, are copied, since they are read again: false
// where one, also behind the end, is no class.
bool copy_targets(const int64_t* from, const MarginParams& params, std::vector<int64_t>& targets) {
  targets.clear();
  bool has_ended = false;
  for (int64_t i = 0; i < params.n_targets; ++i) {
    int64_t target = from[i];
    if (target < params.least || target >= params.n_classes) return false;
    has_ended = has_ended || target < 0;
    if (!has_ended) targets.push_back(target);
  }
  return true;
}

// The sum over the targets t of a row, and over the classes j that are none of them, of
// max(0, margin - x[t] + x[j]), perhaps squared, times the weight of t. `counts` is 1 for each
// class, before and after.
template <bool is_squared, class S, class W = Wide<S>>
W sum_row(const S* x, const std::vector<int64_t>& targets, const S* weight,
          const MarginParams& params, W* counts) {
  constexpr int64_t kLanes = 8;
  for (int64_t target : targets) counts[target] = 0;
  W sum = 0;
  for (int64_t target : targets) {
    W bound = static_cast<W>(params.margin) - static_cast<W>(x[target]), parts[kLanes] = {};
    auto excess = [&](int64_t j) {
      W z = bound + static_cast<W>(x[j]);
      z = z <= 0 ? W(0) : z;  // NaN stays
      z = counts[j] == 0 ? W(0) : z;
      return is_squared ? z * z : z;
    };
    int64_t j = 0;
    for (; j + kLanes <= params.n_classes; j += kLanes)
      for (int64_t k = 0; k < kLanes; ++k) parts[k] += excess(j + k);
    for (; j < params.n_classes; ++j) parts[0] += excess(j);
    W of_target = 0;
    for (W part : parts) of_target += part;
    sum += weight ? of_target * static_cast<W>(weight[target]) : of_target;
  }
  for (int64_t target : targets) counts[target] = 1;
  return sum;
}

// (N,) of scores (N, C) and int64 targets (N, K) of at least `least`, with a weight of each class,
// or none.
Tensor margin_losses(const Tensor& scores, const Tensor& given_targets, int64_t least, int64_t p,
                     double margin, const OptionalTensor& given_weight) {
  NoGradGuard guard;
  check_same_device("margin losses", {scores, given_targets});
  if (given_weight.defined()) check_same_device("margin losses", {scores, given_weight});
  Tensor x = contiguous(scores), targets = contiguous(given_targets);
  check(!given_weight.defined() || given_weight.dtype() == x.dtype(),
        "margin losses: expected a weight of ", x.dtype(), ", got ", given_weight, ".");
  Tensor weight = given_weight.defined() ? contiguous(given_weight) : Tensor();
  int64_t n_rows = x.size(0);
  MarginParams params{targets.size(1), x.size(1), least, p == 2, margin};
  Tensor y = empty({n_rows}, x.dtype());
  visit_dtype(x.dtype(), [&](auto tag) {
    using S = typename decltype(tag)::type;
    if constexpr (is_floating_v<S>) {
      const S *rows = x.data_as<S>(), *weights = weight.defined() ? weight.data_as<S>() : nullptr;
      const int64_t* lists = targets.data_as<int64_t>();
      S* losses = y.data_as<S>();
      int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, params.n_classes));
      parallel_for(n_rows, grain, [&](int64_t begin, int64_t end) {
        std::vector<Wide<S>> counts(params.n_classes, 1);
        std::vector<int64_t> own;
        for (int64_t i = begin; i < end; ++i) {
          check(copy_targets(lists + i * params.n_targets, params, own),
                "margin losses: a target of row ", i, " is none of ", params.n_classes,
                " classes.");
          auto sum_of = params.is_squared ? sum_row<true, S> : sum_row<false, S>;
          Wide<S> sum = sum_of(rows + i * params.n_classes, own, weights, params, counts.data());
          losses[i] = S(sum / static_cast<Wide<S>>(params.n_classes));
        }
      });
    }
  });
  return y;
}

}  // namespace

FACULA_BINDINGS {
  m.def("_margin_losses", &margin_losses, "scores"_a, "targets"_a, "least"_a, "p"_a, "margin"_a,
        "weight"_a.none());
}

}  // namespace facula
