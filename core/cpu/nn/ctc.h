// The sums over all ways through a sequence, for the CTC loss.
#pragma once
#include <cstdint>

#include "cpu/isa.h"

namespace facula::cpu {

// One sequence: its labels, and its log probabilities. Its states are the labels with blanks
// before, between and after them.
template <class T>
struct CtcSequence {
  const T* log_probs;  // of step t and label c at [t * step + c]
  int64_t step, n_steps, n_classes;
  const int64_t* labels;
  int64_t n_labels, blank;

  int64_t n_states() const { return 2 * n_labels + 1; }
};

constexpr int64_t kCtcMargin = 2;  // before the states of a sequence in a row of alpha

template <class T>
struct CtcKernels {
  // Sequences of one tensor, for which there are `width` numbers each at alpha[t * alpha_step]: at
  // [kCtcMargin + s] of these all ways to be in state s at step t, as a logarithm. nll: minus the
  // log likelihood of each.
  void (*forward)(const CtcSequence<T>* sequences, int64_t n_beside, T* alpha, int64_t alpha_step,
                  int64_t width, T* nll);
  // gx[t * step + c]: the probability of c less that of being in a state of label c, times g.
  void (*backward)(const CtcSequence<T>& sequence, const T* alpha, int64_t alpha_step, T nll, T g,
                   T* gx);
};

struct CtcTable {
  CtcKernels<float> float32;
  CtcKernels<double> float64;
};
FACULA_KERNEL_TABLE(CtcTable, ctc_table)

}  // namespace facula::cpu
