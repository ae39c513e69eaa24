// Connectionist temporal classification: Graves et al. (2006), with logarithms of probabilities.
#include <cmath>

#include "autograd/node.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "bind/bind.h"
#include "cpu/nn/ctc.h"
#include "ops/ops.h"

namespace facula {

namespace {

using Lengths = std::vector<int64_t>;

constexpr int64_t kMinWork = 4096;  // states of all steps that are worth giving to a thread
constexpr int64_t kRow = 64;        // states of sequences that are computed together

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
  if (targets.is_meta()) return;
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
cpu::CtcSequence<T> sequence_of(const Tensor& log_probs, const Tensor& labels,
                                const Lengths& offsets, const Lengths& input_lengths,
                                const Lengths& target_lengths, int64_t blank, int64_t i) {
  int64_t n_classes = log_probs.size(2);
  return {log_probs.data_as<T>() + i * n_classes,
          log_probs.size(1) * n_classes,
          input_lengths[i],
          n_classes,
          labels.data_as<int64_t>() + offsets[i],
          target_lengths[i],
          blank};
}

// f(zero, kernels) with a zero of x's dtype, whose type is that of the sequences, and its kernels;
// on meta there is nothing to do.
template <class F>
void visit_real(const Tensor& x, F&& f) {
  if (x.is_meta()) return;
  const cpu::CtcTable& table = cpu::get_ctc_table();
  x.dtype() == DType::Float32 ? f(float{}, table.float32) : f(double{}, table.float64);
}

// Of log probabilities (T, N, C). Targets are rows (N, S) or all behind each other; the result has
// one loss a sequence.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Lengths& input_lengths,
                const Lengths& target_lengths, int64_t blank, bool zero_infinity) {
  check(log_probs.dim() == 3, "ctc_loss: expected log_probs (T, N, C), got ", log_probs, ".");
  check_not_implemented(log_probs.dtype() == DType::Float32 || log_probs.dtype() == DType::Float64,
                        "ctc_loss: expected log_probs of dtype float32 or float64, got ", log_probs,
                        ".");
  check(log_probs.numel() > 0, "ctc_loss: expected log_probs with elements, got ", log_probs, ".");
  // The recursion over steps has little work for a GPU: there it runs on the host. Targets may be
  // on either.
  if (log_probs.device().is_cuda() || targets.device().is_cuda()) {
    Tensor y = ctc_loss(on_host(log_probs), on_host(targets), input_lengths, target_lengths, blank,
                        zero_infinity);
    return to(y, log_probs.device(), y.dtype(), /*copy=*/false);
  }
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
  int64_t width = cpu::kCtcMargin + 2 * longest + 1, n_steps = x.size(0);
  int64_t n_beside = ceil_div(kRow, width), n_groups = ceil_div(n_batch, n_beside);
  int64_t alpha_step = n_beside * width;
  Tensor alpha = empty({n_groups, n_steps, alpha_step}, x.dtype(), x.device());
  Tensor nll = empty({n_batch}, x.dtype(), x.device());
  visit_real(x, [&](auto zero, const auto& kernels) {
    using T = decltype(zero);
    T *alphas = alpha.data_as<T>(), *losses = nll.data_as<T>();
    int64_t work = n_steps * alpha_step;
    parallel_for(n_groups, ceil_div(kMinWork, work), [&](int64_t begin, int64_t end) {
      for (int64_t group = begin; group < end; ++group) {
        std::vector<cpu::CtcSequence<T>> sequences;
        int64_t first = group * n_beside;
        for (int64_t i = first; i < std::min(first + n_beside, n_batch); ++i)
          sequences.push_back(
              sequence_of<T>(x, labels, offsets, input_lengths, target_lengths, blank, i));
        kernels.forward(sequences.data(), sequences.size(), alphas + group * work, alpha_step,
                        width, losses + first);
      }
    });
  });
  Tensor y = zero_infinity ? where(isinf(nll), wrapped_number(0.0), nll) : clone(nll);

  auto gradient = [blank, zero_infinity, offsets, input_lengths, target_lengths, n_beside, width](
                      const Tensor& g, const Tensor& log_probs, const Tensor& labels,
                      const Tensor& alpha, const Tensor& nll) {
    NoGradGuard guard;
    // Again: the memory of the targets may have been written to since.
    check_labels(labels, offsets, target_lengths, log_probs.size(2));
    Tensor x = contiguous(log_probs), each = contiguous(g);
    Tensor gx = zeros(x.sizes(), x.dtype(), x.device());
    int64_t n_classes = x.size(2), n_steps = x.size(0), alpha_step = n_beside * width;
    visit_real(x, [&](auto zero, const auto& kernels) {
      using T = decltype(zero);
      const T *alphas = alpha.data_as<T>(), *losses = nll.data_as<T>(), *gs = each.data_as<T>();
      T* to = gx.data_as<T>();
      int64_t work = n_steps * (width + n_classes);
      parallel_for(x.size(1), ceil_div(kMinWork, work), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if (zero_infinity && std::isinf(losses[i])) continue;
          kernels.backward(
              sequence_of<T>(x, labels, offsets, input_lengths, target_lengths, blank, i),
              alphas + i / n_beside * n_steps * alpha_step + i % n_beside * width, alpha_step,
              losses[i], gs[i], to + i * n_classes);
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

}  // namespace

FACULA_BINDINGS {
  m.def("_ctc_loss", &ctc_loss, "log_probs"_a, "targets"_a, "input_lengths"_a, "target_lengths"_a,
        "blank"_a, "zero_infinity"_a);
}

}  // namespace facula
