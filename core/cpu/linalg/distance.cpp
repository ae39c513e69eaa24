#include "cpu/linalg/distance.h"

#include <cmath>

#include "cpu/row.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// end of the join of all terms, which the zeros behind the end of a row do not change.
template <class Join, class T, class Term, class End>
void distances(const T* a, const T* b, int64_t n, int64_t m, T* out, Term term, End end) {
  using V = Vec<T>;
  constexpr int64_t lanes = V::kLanes;
  for (int64_t row = 0; row < n; ++row, b += m) {
    V parts[2] = {V(T(0)), V(T(0))};
    int64_t i = 0;
    for (; i + 2 * lanes <= m; i += 2 * lanes)
      for (int64_t k = 0; k < 2; ++k) {
        int64_t at = i + k * lanes;
        parts[k] = Join::join(parts[k], term(abs(V::load(a + at) - V::load(b + at))));
      }
    for (; i < m; i += lanes) {
      int64_t rest = m - i < lanes ? m - i : lanes;
      parts[0] = Join::join(parts[0], term(abs(V::load(a + i, rest) - V::load(b + i, rest))));
    }
    out[row] = end(join_lanes<Join>(Join::join(parts[0], parts[1]))[0]);
  }
}

template <class T>
void distances_of_order(const T* a, const T* b, int64_t n, int64_t m, double p, bool max_skips_nan,
                        T* out) {
  using V = Vec<T>;
  auto same = [](auto x) { return x; };
  if (p == 0) {
    auto is_some = [](V d) { return select(d > V(T(0)), V(T(1)), d); };  // NaN is NaN
    distances<Add>(a, b, n, m, out, is_some, same);
  } else if (p == 1) {
    distances<Add>(a, b, n, m, out, same, same);
  } else if (p == 2) {
    distances<Add>(
        a, b, n, m, out, [](V d) { return d * d; }, [](T x) { return std::sqrt(x); });
  } else if (std::isinf(p)) {
    auto number = [=](V d) { return max_skips_nan ? select(d == d, d, V(T(0))) : d; };
    distances<math::Larger>(a, b, n, m, out, number, same);
  } else {
    auto power = [p](V d) { return math::pow(d, V(static_cast<T>(p))); };
    auto root = [p](T x) { return static_cast<T>(std::pow(static_cast<double>(x), 1 / p)); };
    distances<Add>(a, b, n, m, out, power, root);
  }
}

}  // namespace

extern const DistanceTable distance_table;
const DistanceTable distance_table = {distances_of_order<float>, distances_of_order<double>};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
