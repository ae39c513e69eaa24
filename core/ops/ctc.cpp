// Connectionist temporal classification: Graves et al. (2006), with logarithms of probabilities.
#include <cmath>
#include <limits>

#include "autograd/node.h"
#include "base/parallel.h"
#include "ops/loss.h"
#include "ops/ops.h"

namespace facula {

namespace {

using Lengths = std::vector<int64_t>;

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

// log(exp(a) + exp(b) + exp(c)). Exponentials take most of the time, so none is taken of the
// largest and of what never happens.
template <class T>
T log_add(T a, T b, T c = kNever<T>) {
  if (b > a) std::swap(a, b);
  if (c > a) std::swap(a, c);
  T sum = 1;
  if (b != kNever<T>) sum += std::exp(b - a);
  if (c != kNever<T>) sum += std::exp(c - a);
  return sum == T(1) ? a : a + std::log(sum);
}

// One sequence: its labels with blanks between them, and its log probabilities.
template <class T>
struct Sequence {
  const T* log_probs;  // of step t and label c at [t * step + c]
  int64_t step;
  int64_t n_steps;
  const int64_t* labels;
  int64_t n_labels;
  int64_t blank;

  int64_t n_states() const { return 2 * n_labels + 1; }
  int64_t label(int64_t s) const { return s % 2 ? labels[s / 2] : blank; }
  T at(int64_t t, int64_t s) const { return log_probs[t * step + label(s)]; }
  // A blank between different labels may be left out.
  bool may_skip_to(int64_t s) const { return s >= 2 && s % 2 && label(s) != label(s - 2); }

  // alpha[t][s]: all ways to be in state s at step t. Returns minus the log likelihood.
  T forward(T* alpha, int64_t width) const {
    int64_t n = n_states();
    if (n_steps == 0) return n_labels == 0 ? T(0) : -kNever<T>;
    std::fill(alpha, alpha + n_steps * width, kNever<T>);
    alpha[0] = at(0, 0);
    if (n > 1) alpha[1] = at(0, 1);
    for (int64_t t = 1; t < n_steps; ++t) {
      const T* before = alpha + (t - 1) * width;
      T* now = alpha + t * width;
      for (int64_t s = 0; s < n; ++s) {
        T came = log_add(before[s], s > 0 ? before[s - 1] : kNever<T>,
                         may_skip_to(s) ? before[s - 2] : kNever<T>);
        now[s] = came + at(t, s);
      }
    }
    const T* last = alpha + (n_steps - 1) * width;
    return -log_add(last[n - 1], n > 1 ? last[n - 2] : kNever<T>);
  }

  // gx[t][c]: the probability of c less that of being in a state of label c, times g. `beta` and
  // `together` have room for 2 n_states and n_classes numbers.
  void backward(T* gx, const T* alpha, int64_t width, T nll, T g, int64_t n_classes, T* beta,
                T* together) const {
    int64_t n = n_states();
    T *now = beta, *after = beta + n;
    for (int64_t t = n_steps - 1; t >= 0; --t) {
      std::fill(together, together + n_classes, kNever<T>);
      for (int64_t s = 0; s < n; ++s) {
        if (t == n_steps - 1) {
          now[s] = s >= n - 2 ? at(t, s) : kNever<T>;
        } else {
          T goes = log_add(after[s], s + 1 < n ? after[s + 1] : kNever<T>,
                           s + 2 < n && may_skip_to(s + 2) ? after[s + 2] : kNever<T>);
          now[s] = goes + at(t, s);
        }
        T& sum = together[label(s)];
        sum = log_add(sum, alpha[t * width + s] + now[s]);
      }
      for (int64_t c = 0; c < n_classes; ++c) {
        T lp = log_probs[t * step + c];
        gx[t * step + c] = (std::exp(lp) - std::exp(together[c] + nll - lp)) * g;
      }
      std::swap(now, after);
    }
  }
};

void check_lengths(const char* what, const Lengths& lengths, int64_t n, int64_t longest) {
  check(static_cast<int64_t>(lengths.size()) == n, "ctc_loss: expected ", what, " of ", n,
        " sequences, got ", lengths.size(), ".");
  for (size_t i = 0; i < lengths.size(); ++i)
    check(lengths[i] >= 0 && lengths[i] <= longest, "ctc_loss: expected ", what, " from 0 to ",
          longest, ", got ", lengths[i], " at index ", i, ".");
}

// Where the labels of each sequence begin.
Lengths label_offsets(const Tensor& targets, const Lengths& lengths, int64_t n_batch) {
  Lengths offsets(lengths.size());
  if (targets.dim() == 2) {
    check(targets.size(0) == n_batch, "ctc_loss: expected targets of ", n_batch, " sequences, got ",
          targets, ".");
    for (int64_t i = 0; i < n_batch; ++i) offsets[i] = i * targets.size(1);
    return offsets;
  }
  int64_t total = 0;
  for (int64_t i = 0; i < n_batch; ++i) {
    offsets[i] = total;
    total += lengths[i];
  }
  check(total == targets.size(0), "ctc_loss: expected ", total,
        " targets, the sum of target_lengths, got ", targets, ".");
  return offsets;
}

void check_labels(const Tensor& targets, const Lengths& offsets, const Lengths& lengths,
                  int64_t n_classes) {
  const int64_t* labels = targets.data_as<int64_t>();
  for (size_t i = 0; i < lengths.size(); ++i)
    for (int64_t k = 0; k < lengths[i]; ++k) {
      int64_t label = labels[offsets[i] + k];
      check_index(label >= 0 && label < n_classes, "ctc_loss: target has label ", label,
                  " at index ", k, " of sequence ", i, ", but log_probs has ", n_classes,
                  " classes.");
    }
}

template <class T>
Sequence<T> sequence_of(const Tensor& log_probs, const Tensor& labels, const Lengths& offsets,
                        const Lengths& input_lengths, const Lengths& target_lengths, int64_t blank,
                        int64_t i) {
  int64_t n_classes = log_probs.size(2);
  return {log_probs.data_as<T>() + i * n_classes,
          log_probs.size(1) * n_classes,
          input_lengths[i],
          labels.data_as<int64_t>() + offsets[i],
          target_lengths[i],
          blank};
}

template <class F>
void visit_real(DType dtype, F&& f) {
  dtype == DType::Float32 ? f(float{}) : f(double{});
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Lengths& input_lengths,
                const Lengths& target_lengths, int64_t blank, bool zero_infinity) {
  check(log_probs.dim() == 3, "ctc_loss: expected log_probs (T, N, C), got ", log_probs, ".");
  check_not_implemented(log_probs.dtype() == DType::Float32 || log_probs.dtype() == DType::Float64,
                        "ctc_loss: expected log_probs of dtype float32 or float64, got ", log_probs,
                        ".");
  check(log_probs.numel() > 0, "ctc_loss: expected log_probs with elements, got ", log_probs, ".");
  check_cpu("ctc_loss", log_probs);
  check_cpu("ctc_loss", targets);
  int64_t n_batch = log_probs.size(1), n_classes = log_probs.size(2);
  check(blank >= 0 && blank < n_classes, "ctc_loss: expected a blank from 0 to ", n_classes - 1,
        ", got ", blank, ".");
  check(targets.dim() == 1 || targets.dim() == 2,
        "ctc_loss: expected targets (N, S) or (sum(target_lengths),), got ", targets, ".");
  check_lengths("input_lengths", input_lengths, n_batch, log_probs.size(0));
  check_lengths("target_lengths", target_lengths, n_batch, targets.size(-1));
  Lengths offsets = label_offsets(targets, target_lengths, n_batch);
  Tensor labels = contiguous(to_dtype(detach(targets), DType::Int64));
  check_labels(labels, offsets, target_lengths, n_classes);

  Tensor x = contiguous(detach(log_probs));
  int64_t longest = *std::max_element(target_lengths.begin(), target_lengths.end());
  int64_t width = 2 * longest + 1, n_steps = x.size(0);
  Tensor alpha = empty({n_batch, n_steps, width}, x.dtype());
  Tensor nll = empty({n_batch}, x.dtype());
  visit_real(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T *alphas = alpha.data_as<T>(), *losses = nll.data_as<T>();
    parallel_for(n_batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        losses[i] = sequence_of<T>(x, labels, offsets, input_lengths, target_lengths, blank, i)
                        .forward(alphas + i * n_steps * width, width);
    });
  });
  Tensor y = zero_infinity ? where(isinf(nll), wrapped_number(0.0), nll) : clone(nll);

  auto gradient = [blank, zero_infinity, offsets, input_lengths, target_lengths](
                      const Tensor& g, const Tensor& log_probs, const Tensor& labels,
                      const Tensor& alpha, const Tensor& nll) {
    NoGradGuard guard;
    // Again: the memory of the targets may have been written to since.
    check_labels(labels, offsets, target_lengths, log_probs.size(2));
    Tensor x = contiguous(log_probs), each = contiguous(g), gx = zeros(x.sizes(), x.dtype());
    int64_t n_classes = x.size(2), n_steps = x.size(0), width = alpha.size(2);
    visit_real(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T *alphas = alpha.data_as<T>(), *losses = nll.data_as<T>(), *gs = each.data_as<T>();
      T* to = gx.data_as<T>();
      parallel_for(x.size(1), 1, [&](int64_t begin, int64_t end) {
        std::vector<T> room(2 * width + n_classes);
        for (int64_t i = begin; i < end; ++i) {
          if (zero_infinity && std::isinf(losses[i])) continue;
          sequence_of<T>(x, labels, offsets, input_lengths, target_lengths, blank, i)
              .backward(to + i * n_classes, alphas + i * n_steps * width, width, losses[i], gs[i],
                        n_classes, room.data(), room.data() + 2 * width);
        }
      });
    });
    return gx;
  };
  return record("CtcLossBackward0", y, {log_probs},
                [gradient, x = save(log_probs), labels = save(labels), alpha = save(alpha),
                 nll = save(nll)](const Tensor& g) {
                  Tensor log_probs = x;
                  return record("NotImplemented", gradient(g, log_probs, labels, alpha, nll),
                                {g, log_probs}, [](const Tensor&) -> Tensor {
                                  fail(ErrorKind::Runtime,
                                       "ctc_loss: its gradient cannot be differentiated again.");
                                });
                });
}

}  // namespace facula
