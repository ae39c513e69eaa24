// Losses whose targets are class indices: an input (C,), (N, C) or (N, C, ...) and indices without
// the C. weight, one number a class, may be undefined; targets that equal ignore_index count
// nothing.
#include <cmath>
#include <sstream>

#include "autograd/node.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "cuda/nn/nn.h"
#include "ops/nn/loss.h"
#include "ops/nn/softmax_rows.h"
#include "ops/ops.h"
#include "ops/result_binding.h"
#include "walk/reduction.h"

namespace facula {

namespace {

constexpr int64_t kGrain = 4096;  // targets

Tensor nll_loss(const Tensor& log_probs, const Tensor& target, const OptionalTensor& weight,
                int64_t reduction, int64_t ignore_index);

// Checked targets of an input (C,), (N, C) or (N, C, ...).
struct Classes {
  const char* op;
  Tensor target;  // int64, contiguous
  Tensor weight;  // contiguous, or undefined
  int64_t ignored;
  int64_t n_classes;
  int64_t inner;       // elements from one class to the next
  int64_t n_kept = 0;  // targets that are not ignored; counted on the CPU, where they are checked

  // Where the input of the i-th target is.
  int64_t offset(int64_t i, int64_t target_class) const {
    if (inner == 1) return i * n_classes + target_class;  // without a division
    return (i / inner * n_classes + target_class) * inner + i % inner;
  }
  // What kernels of a GPU get. They cannot raise: the loss of a target that is no class is NaN.
  cuda::ClassTargets on_gpu() const { return {target, weight, ignored}; }
};

int64_t dim_of_classes(const Dims& sizes) { return sizes.size() == 1 ? 0 : 1; }

// The place of an element in a tensor, as a user writes it.
std::string position(const Tensor& x, int64_t i) {
  Dims index(x.dim());
  for (int64_t d = x.dim() - 1; d >= 0; --d) {
    index[d] = i % x.size(d);
    i /= x.size(d);
  }
  std::ostringstream out;
  if (index.size() == 1) {
    out << " at index " << index[0];
  } else if (index.size() > 1) {
    out << " at index " << index;
  }
  return out.str();
}

void check_shapes(const char* op, const Tensor& x, const Tensor& target) {
  check_value(x.dim() > 0, op, ": expected an input of 1 or more dimensions, got ", x, ".");
  if (x.dim() == 1) {
    check_value(target.numel() == 1 && target.dim() <= 1, op, ": expected one target for an input ",
                x.sizes(), ", got ", target.sizes(), ".");
    return;
  }
  check_value(target.dim() > 0 && target.size(0) == x.size(0), op, ": expected ", x.size(0),
              " targets for an input ", x.sizes(), ", got ", target.sizes(),
              ". (Expected input batch_size to match target batch_size.)");
  Dims sizes = x.sizes();
  sizes.erase(1);
  check(target.sizes() == sizes, op, ": expected a target ", sizes, " for an input ", x.sizes(),
        ", got ", target.sizes(),
        x.dim() == 2 ? ". (0D or 1D target tensor expected, multi-target not supported)" : ".");
}

void check_class_input(const char* op, const Tensor& x) {
  check_not_implemented(is_floating(x.dtype()), op, ": expected a floating-point input, got ", x,
                        ". Convert it with input.float().");
}

Classes checked_classes(const char* op, const Tensor& x, const Tensor& target, const Tensor& weight,
                        int64_t ignore_index) {
  check_shapes(op, x, target);
  check(target.dtype() == DType::Int64 || target.dtype() == DType::UInt8, op,
        ": expected class indices of dtype int64, got ", target,
        ". Convert them with target.long(). (expected scalar type Long)");
  int64_t n_classes = x.dim() == 1 ? x.size(0) : x.size(1);
  if (weight.defined()) {
    check(weight.dim() == 1 && weight.size(0) == n_classes, op,
          ": expected a weight for each of the ", n_classes, " classes, got ", weight, ".");
    check(weight.dtype() == x.dtype(), op, ": expected a weight of the input's dtype ", x.dtype(),
          ", got ", weight, ".");
  }
  check_class_input(op, x);
  check_same_device(op, {x, target});
  if (weight.defined()) check_same_device(op, {x, weight});
  Classes classes = {op,
                     contiguous(to_dtype(target, DType::Int64)),
                     weight.defined() ? contiguous(detach(weight)) : weight,
                     ignore_index,
                     n_classes,
                     1};
  for (int64_t d = 2; d < x.dim(); ++d) classes.inner *= x.size(d);
  if (!x.is_cpu()) return classes;
  const int64_t* targets = classes.target.data_as<int64_t>();
  for (int64_t i = 0; i < target.numel(); ++i) {
    int64_t c = targets[i];
    bool is_kept = c != ignore_index;
    classes.n_kept += is_kept;
    if (!is_kept || (c >= 0 && c < n_classes)) continue;
    fail(ErrorKind::Index, op, ": target has class ", c, position(target, i), ", but input ",
         x.sizes(), " has ", n_classes, " classes. (Target ", c, " is out of bounds.)");
  }
  return classes;
}

template <class F>
void visit_floating(DType dtype, F&& f) {
  visit_dtype(dtype, [&](auto tag) {
    if constexpr (is_floating_v<typename decltype(tag)::type>) f(tag);
  });
}

// f(i, class, weight) for every target that is not ignored; weights are 1 where there are none.
// Classes are checked again: what shares the memory of the targets, as an array of NumPy does, may
// have written to it since.
template <class S, class F>
void for_each_target(const Classes& classes, F f) {
  const int64_t* targets = classes.target.data_as<int64_t>();
  const S* weights = classes.weight.defined() ? classes.weight.data_as<S>() : nullptr;
  int64_t ignored = classes.ignored, n_classes = classes.n_classes;
  // By value: what f writes could be any of these, for all that the compiler knows.
  parallel_for(classes.target.numel(), kGrain, [=, &classes](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t c = targets[i];
      if (c == ignored) continue;
      check_index(c >= 0 && c < n_classes, classes.op, ": target has class ", c, " of ", n_classes,
                  " classes: it was changed after the loss was computed.");
      f(i, c, weights ? Wide<S>(weights[c]) : Wide<S>(1));
    }
  });
}

// What the losses are divided by: the sum of the weights of the targets, in the wide dtype.
Tensor total_weight(const Classes& classes, DType dtype) {
  DType wide = wide_dtype(dtype);
  if (!classes.weight.defined()) return scalar_tensor(static_cast<double>(classes.n_kept), wide);
  Tensor each = zeros(classes.target.sizes(), wide);
  visit_floating(dtype, [&](auto tag) {
    using S = typename decltype(tag)::type;
    auto* to = each.data_as<Wide<S>>();
    for_each_target<S>(classes, [=](int64_t i, int64_t, Wide<S> weight) { to[i] = weight; });
  });
  return sum(each);
}

// The losses one by one, in the wide dtype. `stats`: what log_sum_exp gave of logits; undefined
// where x are log probabilities.
Tensor losses_of(const Tensor& x, const Tensor& stats, const Classes& classes) {
  Tensor y = zeros(classes.target.sizes(), wide_dtype(x.dtype()));
  int64_t n = y.numel();
  visit_floating(x.dtype(), [&](auto tag) {
    using S = typename decltype(tag)::type;
    using T = Wide<S>;
    const S* from = x.data_as<S>();
    const T* highs = stats.defined() ? stats.data_as<T>() : nullptr;
    T* to = y.data_as<T>();
    for_each_target<S>(classes, [=, &classes](int64_t i, int64_t c, T weight) {
      T value = from[classes.offset(i, c)];
      to[i] = (highs ? highs[n + i] - (value - highs[i]) : -value) * weight;
    });
  });
  return y;
}

// The gradient of each loss, from that of the result.
Tensor spread(const Tensor& g, const Tensor& total, Reduction reduction, const Dims& sizes) {
  if (reduction == Reduction::None) return g.sizes() == sizes ? g : reshape(g, sizes);
  Tensor wide = to_dtype(g, wide_dtype(g.dtype()));
  return expand(reduction == Reduction::Mean ? wide / total : wide, sizes);
}

// A new tensor of x's sizes: minus the gradients times the weights in the places of the targets.
Tensor nll_gradient(const Tensor& each, const Classes& classes, const Dims& sizes, DType dtype,
                    const Tensor& place) {
  Tensor gx = zeros(sizes, dtype, each.device());
  {
    NoGradGuard guard;
    Tensor from = contiguous(to_dtype(each, wide_dtype(dtype)));
    if (gx.is_cpu()) {
      visit_floating(dtype, [&](auto tag) {
        using S = typename decltype(tag)::type;
        const auto* g = from.data_as<Wide<S>>();
        S* to = gx.data_as<S>();
        for_each_target<S>(classes, [=, &classes](int64_t i, int64_t c, Wide<S> weight) {
          to[classes.offset(i, c)] = S(-g[i] * weight);
        });
      });
    } else if (gx.numel() > 0) {
      cuda::class_loss_backward(gx, dim_of_classes(sizes), from, {}, {}, classes.on_gpu(), {});
    }
  }
  return record_linear("NllLossBackwardBackward0", gx, each, place,
                       [target = save(classes.target), weight = save(classes.weight),
                        ignored = classes.ignored, dtype = each.dtype()](const Tensor& h) {
                         Tensor picked =
                             nll_loss(h, target, Tensor(weight), /*reduction=*/0, ignored);
                         return to_dtype(reshape(picked, Tensor(target).sizes()), dtype);
                       });
}

// For the gradient of logits. The layer that made them multiplies with it twice, and of 16-bit
// numbers in rows of an odd length a GPU would make a copy each time: rows are apart where that is
// so, unless the user gets to see the tensor.
Tensor empty_gradient(const Tensor& x, bool is_leaf) {
  constexpr int64_t kAligned = 8, kWorth = 256;
  bool is_apart = x.device().is_cuda() && is_reduced_float(x.dtype()) && x.dim() == 2 && !is_leaf &&
                  x.size(0) >= kWorth && x.size(1) >= kWorth && x.size(1) % kAligned != 0;
  if (!is_apart) return empty(x.sizes(), x.dtype(), x.device());
  int64_t stride = ceil_div(x.size(1), kAligned) * kAligned;
  return empty_strided(x.sizes(), {stride, 1}, x.dtype(), x.device());
}

// total: what g is divided by, or undefined.
Tensor cross_entropy_gradient(const Tensor& g, const Tensor& total, Reduction reduction,
                              const Tensor& x, const Tensor& stats, const Classes& classes,
                              bool is_leaf) {
  int64_t dim = dim_of_classes(x.sizes());
  if (is_grad_enabled()) {
    Tensor y = log_softmax(x, dim), each = spread(g, total, reduction, classes.target.sizes());
    return log_softmax_backward(nll_gradient(each, classes, x.sizes(), x.dtype(), Tensor()), y,
                                dim);
  }
  Tensor from = contiguous(x), gx = empty_gradient(x, is_leaf);
  if (gx.numel() == 0) return gx;
  if (!gx.is_cpu()) {
    Tensor wide = contiguous(to_dtype(g, stats.dtype()));
    cuda::class_loss_backward(gx, dim, wide, total, from, classes.on_gpu(), stats);
    return gx;
  }
  Tensor each =
      contiguous(to_dtype(spread(g, total, reduction, classes.target.sizes()), stats.dtype()));
  int64_t n = each.numel();
  Tensor scaled = zeros({3, n}, stats.dtype());
  visit_floating(x.dtype(), [&](auto tag) {
    using S = typename decltype(tag)::type;
    using T = Wide<S>;
    T *to = scaled.data_as<T>(), *scales = to + 2 * n;
    std::copy_n(stats.data_as<T>(), 2 * n, to);
    const T* gs = each.data_as<T>();
    for_each_target<S>(classes, [=](int64_t i, int64_t, T weight) { scales[i] = gs[i] * weight; });
    run_softmax_rows(cpu::get_softmax_table().scaled_softmax, from, dim, gx.data(), scaled.data());
    const S* xs = from.data_as<S>();
    S* gxs = gx.data_as<S>();
    for_each_target<S>(classes, [=, &classes](int64_t i, int64_t c, T) {
      int64_t at = classes.offset(i, c);
      gxs[at] = S(std::expm1(T(xs[at]) - to[i] - to[n + i]) * scales[i]);
    });
  });
  return gx;
}

// What the losses are reduced to, in the wide dtype, and what gradients are divided by, if
// anything.
struct Reduced {
  Tensor y, total;
};

Reduced reduced_on_cpu(const Tensor& x, const Tensor& stats, const Classes& classes,
                       Reduction reduction) {
  Tensor losses = losses_of(x, stats, classes);
  if (reduction == Reduction::None) return {losses, {}};
  if (reduction == Reduction::Sum) return {sum(losses), {}};
  Tensor total = total_weight(classes, x.dtype());
  return {sum(losses) / total, total};
}

// The kernel writes `stats`, too. Losses and weights lie in one tensor where both are summed: one
// launch does it.
Reduced reduced_on_gpu(const Tensor& x, const Tensor& stats, const Classes& classes,
                       Reduction reduction) {
  bool is_mean = reduction == Reduction::Mean;
  DType wide = wide_dtype(x.dtype());
  int64_t n = classes.target.numel();
  auto make = [&](const Dims& sizes) {
    return x.numel() > 0 ? empty(sizes, wide, x.device()) : zeros(sizes, wide, x.device());
  };
  Tensor both = make({2, is_mean ? n : 0});
  Tensor losses = is_mean ? select(both, 0, 0) : make(classes.target.sizes());
  Tensor weights = is_mean ? select(both, 0, 1) : make({n});
  if (x.numel() > 0)
    cuda::class_loss(x, dim_of_classes(x.sizes()), classes.on_gpu(), stats, losses, weights);
  if (reduction == Reduction::None) return {losses, {}};
  if (reduction == Reduction::Sum) return {sum(losses), {}};
  Tensor sums = sum(both, {1}), total = select(sums, 0, 1);
  return {select(sums, 0, 0) / total, total};
}

Tensor class_loss(const Tensor& input, const Tensor& stats, const Classes& classes,
                  Reduction reduction) {
  Tensor x = detach(input), total, y;
  {
    NoGradGuard guard;
    Reduced reduced =
        (x.is_cpu() ? reduced_on_cpu : reduced_on_gpu)(contiguous(x), stats, classes, reduction);
    total = reduced.total;
    y = to_dtype(reduced.y, x.dtype());
    if (reduction == Reduction::None && x.dim() == 1) y = alias(reshape(y, {}));
  }
  const char* node = x.dim() > 2 ? "NllLoss2DBackward0" : "NllLossBackward0";
  bool is_logits = stats.defined();
  return record(
      node, y, {input},
      [op = classes.op, x = save(is_logits ? input : Tensor()), stats = save(stats),
       target = save(classes.target), weight = save(classes.weight), total = save(total),
       ignored = classes.ignored, n_classes = classes.n_classes, inner = classes.inner, reduction,
       sizes = x.sizes(), dtype = x.dtype(),
       is_leaf = input.is_leaf()](const Tensor& g, Needs needs) -> TensorList {
        Classes known = {op, target, weight, ignored, n_classes, inner};
        if (Tensor logits = x; logits.defined())
          return {cross_entropy_gradient(g, total, reduction, logits, stats, known, is_leaf)};
        Tensor each = spread(g, total, reduction, known.target.sizes());
        return {nll_gradient(each, known, sizes, dtype, needs.place_of(0))};
      });
}

Tensor nll_loss(const Tensor& log_probs, const Tensor& target, const OptionalTensor& weight,
                int64_t reduction, int64_t ignore_index) {
  Classes classes = checked_classes("nll_loss", log_probs, target, weight, ignore_index);
  return class_loss(log_probs, {}, classes, reduction_of(reduction));
}

// Of logits: log_softmax and nll_loss as one.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const OptionalTensor& weight,
                     int64_t reduction, int64_t ignore_index) {
  if (logits.numel() > 0 && logits.dim() > 0) check_class_input("cross_entropy", logits);
  check_real_derivative("cross_entropy", logits, logits);
  Classes classes = checked_classes("cross_entropy", logits, target, weight, ignore_index);
  // Saved instead of the probabilities: two numbers a row.
  Tensor stats = empty({2, target.numel()}, wide_dtype(logits.dtype()), logits.device());
  if (logits.is_cpu() && logits.numel() > 0) {
    NoGradGuard guard;
    run_softmax_rows(cpu::get_softmax_table().log_sum_exp, contiguous(logits),
                     dim_of_classes(logits.sizes()), stats.data(), nullptr);
  }
  return class_loss(logits, stats, classes, reduction_of(reduction));
}

}  // namespace

FACULA_BINDINGS {
  m.def("_nll_loss", &nll_loss, "input"_a, "target"_a, "weight"_a.none(), "reduction"_a,
        "ignore_index"_a);
  m.def("_cross_entropy", &cross_entropy, "input"_a, "target"_a, "weight"_a.none(), "reduction"_a,
        "ignore_index"_a);
}

}  // namespace facula
