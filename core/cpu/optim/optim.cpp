#include "cpu/optim/optim.h"

#include "cpu/row.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// n lanes from element `at` of each array.
template <class S>
struct Lanes {
  using V = Vec<Wide<S>>;
  static constexpr int64_t L = V::kLanes;
  S* const* arrays;
  int64_t at, n;

  FACULA_FN V load(int i) const { return load_lanes<V>(arrays[i] + at, n); }
  FACULA_FN void store(int i, V v) const { store_lanes(v, arrays[i] + at, n); }
  FACULA_FN V param() const { return load(0); }
  FACULA_FN V grad() const { return load(1); }
  FACULA_FN V state(int i) const { return load(2 + i); }
  FACULA_FN void set_param(V v) const { store(0, v); }
  FACULA_FN void set_state(int i, V v) const { store(2 + i, v); }
};

template <class Rule, class S>
void run(char* const* given, const void* begun, int64_t n) {
  // Copies of both: a store to an array could change what stands in memory.
  const Rule rule = *static_cast<const Rule*>(begun);
  S* arrays[2 + Rule::kNumStates];
  for (int i = 0; i < 2 + Rule::kNumStates; ++i) arrays[i] = reinterpret_cast<S*>(given[i]);
  constexpr int64_t L = Lanes<S>::L;
  int64_t at = 0;
  for (; at + L <= n; at += L) {
    Lanes<S> whole = {arrays, at, L};
    rule.update(whole);
  }
  if (at == n) return;
  Lanes<S> rest = {arrays, at, n - at};
  rule.update(rest);
}

template <class Rule>
constexpr OptimTable::Row row() {
  OptimTable::Row row = {};
  row[static_cast<int>(DType::Float16)] = run<Rule, Half>;
  row[static_cast<int>(DType::BFloat16)] = run<Rule, BFloat16>;
  row[static_cast<int>(DType::Float32)] = run<Rule, float>;
  row[static_cast<int>(DType::Float64)] = run<Rule, double>;
  return row;
}

}  // namespace

extern const OptimTable optim_table;
#define FACULA_ROW(Rule, name) row<math::Rule<double>>(),
const OptimTable optim_table = {FACULA_OPTIM_RULES(FACULA_ROW)};
#undef FACULA_ROW

}  // namespace FACULA_ISA
}  // namespace facula::cpu
