// Steps of the optimisers: all parameters in one call on the CPU, or composed of operations on
// tensors.
#pragma once
#include <vector>

#include "cpu/optim/optim.h"
#include "ops/ops.h"

namespace facula {

// One parameter and what its rule (math/optim.h) reads and writes.
struct OptimUpdate {
  static constexpr int kMaxStates = 3, kMaxNumbers = 3;
  Tensor param, grad;
  Tensor states[kMaxStates];                // undefined where the rule has none
  Tensor numbers[kMaxNumbers];              // of one element each
  alignas(double) unsigned char rule[128];  // over double, with the options of the group
};

// Which parameter, in errors: "parameter 0 of group 1".
struct OptimPlace {
  int64_t group, index;
};
std::ostream& operator<<(std::ostream& out, OptimPlace place);
// Raises unless the tensors of an update fit each other and may be written to.
void check_optim_update(const char* optimizer, OptimPlace place, const OptimUpdate& update);

// Runs the updates of CPU tensors that were checked before; `begin` is the rule's.
void run_optim_updates(const cpu::OptimTable::Row& kernels,
                       void (*begin)(void* rule, double* numbers),
                       std::vector<OptimUpdate>& updates);

// A number of a rule, or a whole tensor: what a rule is written over where it is composed of
// operations. Numbers stay numbers, so that they do not take part in type promotion.
class OptimValue {
 public:
  OptimValue() = default;
  OptimValue(double number) : number_(number) {}
  OptimValue(Tensor tensor) : tensor_(std::move(tensor)) {}
  bool is_number() const { return !tensor_.defined(); }
  double number() const { return is_number() ? number_ : item(tensor_).to_double(); }
  Tensor tensor() const { return is_number() ? wrapped_number(number_) : tensor_; }

 private:
  Tensor tensor_;
  double number_ = 0;
};

#define FACULA_VALUE_OPERATOR(op)                                                    \
  inline OptimValue operator op(const OptimValue& a, const OptimValue& b) {          \
    if (a.is_number() && b.is_number()) return OptimValue(a.number() op b.number()); \
    return OptimValue(a.tensor() op b.tensor());                                     \
  }
FACULA_VALUE_OPERATOR(+)
FACULA_VALUE_OPERATOR(-)
FACULA_VALUE_OPERATOR(*)
FACULA_VALUE_OPERATOR(/)
#undef FACULA_VALUE_OPERATOR
inline OptimValue operator-(const OptimValue& a) { return OptimValue(0.0) - a; }
inline OptimValue operator<(const OptimValue& a, const OptimValue& b) {
  return lt(a.tensor(), b.tensor());
}
inline OptimValue operator>(const OptimValue& a, const OptimValue& b) { return b < a; }
inline OptimValue select(const OptimValue& mask, const OptimValue& a, const OptimValue& b) {
  return where(mask.tensor(), a.tensor(), b.tensor());
}
inline OptimValue max(const OptimValue& a, const OptimValue& b) {
  return maximum(a.tensor(), b.tensor());
}
inline OptimValue min(const OptimValue& a, const OptimValue& b) {
  return minimum(a.tensor(), b.tensor());
}
inline OptimValue abs(const OptimValue& a) { return abs(a.tensor()); }
inline OptimValue sqrt(const OptimValue& a) {
  return a.is_number() ? OptimValue(std::sqrt(a.number())) : OptimValue(sqrt(a.tensor()));
}
inline OptimValue raised(const OptimValue& base, const OptimValue& exponent) {
  if (base.is_number() && exponent.is_number())
    return OptimValue(std::pow(base.number(), exponent.number()));
  return pow(base.tensor(), exponent.tensor());
}
inline bool is_zero(const OptimValue& a) { return a.is_number() && a.number() == 0; }
inline double number(const OptimValue& a) { return a.number(); }

// The row of a rule that is composed: reads copies, since the graph may keep what it reads, and
// keeps what is new until store().
class OptimRow {
 public:
  using V = OptimValue;
  explicit OptimRow(const OptimUpdate& update);
  V param() const { return param_; }
  V grad() const { return grad_; }
  V state(int i) const { return states_[i]; }
  void set_param(V v) { param_ = std::move(v); }
  void set_state(int i, V v) { states_[i] = std::move(v); }
  void store(OptimUpdate& update) const;

 private:
  V param_, grad_, states_[OptimUpdate::kMaxStates];
};

}  // namespace facula
