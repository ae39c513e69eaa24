// Recurrent layers over whole sequences.
//
// Rows of all steps lie below each other: step t has rows [first_row[t], first_row[t + 1]) of every
// matrix that has a row per step and sequence. No step has more rows than the one before: longer
// sequences come first.
#pragma once
#include "base/dtype.h"
#include "cpu/isa.h"

namespace facula::cpu {

enum class RnnMode { Tanh, Relu, Lstm, Gru };

// The blocks of rows in a weight: i, f, g, o of an LSTM; r, z, n of a GRU.
constexpr int64_t n_gates(RnnMode mode) {
  return mode == RnnMode::Lstm ? 4 : mode == RnnMode::Gru ? 3 : 1;
}

struct RnnSteps {
  int64_t n_steps;
  const int64_t* first_row;
  int64_t batch(int64_t t) const { return first_row[t + 1] - first_row[t]; }
};

// One direction of a layer. Matrices are dense, but for y, whose rows hold all directions.
template <class T>
struct RnnDirection {
  RnnMode mode;
  bool is_reverse;
  int64_t hidden;        // units
  int64_t state;         // size of h: `hidden`, or what it is projected to
  const T* weight_hh;    // gates * hidden x state
  const T* weight_hr;    // state x hidden; null without a projection
  const T* bias;         // gates * hidden, of the input and of h together; null: none
  const T* bias_hidden;  // GRU: that of h in n, which `bias` does not have; null: none
  const T* h0;           // batch x state
  const T* c0;           // batch x hidden
  T* gates;  // rows x gates * hidden: in, the products of the input; out, the gates (see below)
  T* cells;  // rows x hidden: c of an LSTM; of a GRU, what h gives to n. Otherwise unused
  T* y;      // rows x state
  int64_t ld_y;
  T* hn;               // batch x state
  T* cn;               // batch x hidden
  const T* recurrent;  // batch x gates * hidden: the products of h0, where there is one step only
  T* scratch;          // scratch_numel() numbers
};

// What is needed to go back, beside the direction as the way forward left it.
template <class T>
struct RnnGradients {
  const T* dy;       // rows x state; null: zero
  const T* dhn;      // batch x state
  T* carry;          // batch x hidden. LSTM: in, the gradient of cn; out, that of c0. GRU: in, the
                     // gradient of hn; out, the part of that of h0 that comes from no product
  T* dgates_input;   // rows x gates * hidden: gradients of the products of the input
  T* dgates_hidden;  // of those of h: the same matrix, but for a GRU
  T* previous;       // rows x state: h before each step
  T* dstate;         // rows x state, with a projection: the gradient of h
  T* unprojected;    // rows x hidden, with a projection: h before it
};

inline int64_t scratch_numel(RnnMode mode, int64_t hidden, int64_t state, int64_t batch) {
  auto padded = [](int64_t n) { return (n + 15) / 16 * 16; };
  int64_t weights = n_gates(mode) * padded(hidden) * padded(state);
  return state == hidden ? weights : weights + padded(hidden) * padded(state) + batch * hidden;
}

template <class T>
struct RnnKernels {
  void (*forward)(const RnnDirection<T>* directions, int64_t n_directions, RnnSteps steps);
  void (*backward)(const RnnDirection<T>* directions, const RnnGradients<T>* gradients,
                   int64_t n_directions, RnnSteps steps);
};

struct RnnTable {
  RnnKernels<float> float32;
  RnnKernels<double> float64;
};
FACULA_KERNEL_TABLE(RnnTable, rnn_table)

}  // namespace facula::cpu
