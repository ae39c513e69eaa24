#include "cpu/nn/ctc.h"

#include <algorithm>
#include <limits>

#include "base/scratch.h"
#include "cpu/row.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

// log(exp(a) + exp(b) + exp(c))
template <class V>
FACULA_FN V log_add(V a, V b, V c) {
  using T = typename V::Element;
  V largest = math::max(a, math::max(b, c));
  V shift = select(largest == V(kNever<T>), V(T(0)), largest);
  return math::log(math::exp(a - shift) + math::exp(b - shift) + math::exp(c - shift)) + shift;
}

// What the states of a sequence know at every step.
template <class T>
class States {
 public:
  explicit States(const CtcSequence<T>& x)
      : x_(x), n_(x.n_states()), room_(2 * n_ + kCtcMargin), skips_(room_.data() + n_) {
    std::fill(skips_, skips_ + n_ + kCtcMargin, kNever<T>);
    for (int64_t i = 1; i < x.n_labels; ++i)
      if (x.labels[i] != x.labels[i - 1]) skips_[2 * i + 1] = T(0);
  }
  int64_t label(int64_t s) const { return s % 2 ? x_.labels[s / 2] : x_.blank; }

  // The log probability of each state's label at step t.
  const T* at(int64_t t) {
    const T* row = x_.log_probs + t * x_.step;
    for (int64_t s = 0; s < n_; ++s) room_.data()[s] = row[label(s)];
    return room_.data();
  }
  // Zero for a state that is reached from the label before without the blank between them, which
  // must be another label; else minus infinity. There are kCtcMargin more than states.
  const T* skips() const { return skips_; }

 private:
  const CtcSequence<T>& x_;
  int64_t n_;
  Scratch<T> room_;
  T* skips_;
};

template <class T>
T forward(const CtcSequence<T>& x, T* alpha, int64_t width) {
  using V = Vec<T>;
  int64_t n = x.n_states();
  if (x.n_steps == 0) return x.n_labels == 0 ? T(0) : -kNever<T>;
  States<T> states(x);
  for (int64_t t = 0; t < x.n_steps; ++t) {
    const T* at = states.at(t);
    T* now = alpha + t * width + kCtcMargin;
    std::fill(now - kCtcMargin, now, kNever<T>);
    if (t == 0) {
      std::fill(now, now + n, kNever<T>);
      std::copy(at, at + std::min<int64_t>(n, 2), now);
      continue;
    }
    const T *before = now - width, *skips = states.skips();
    walk_row<V>(n, [&](int64_t s, int64_t lanes) FACULA_INLINE {
      auto load = [&](const T* from) FACULA_INLINE { return load_lanes<V>(from + s, lanes); };
      V came = log_add(load(before), load(before - 1), load(before - 2) + load(skips));
      store_lanes(came + load(at), now + s, lanes);
    });
  }
  const T* last = alpha + (x.n_steps - 1) * width + kCtcMargin;
  T end[V::kLanes];
  log_add(V(last[n - 1]), V(last[n - 2]), V(kNever<T>)).store(end);  // a margin, if n is 1
  return -end[0];
}

template <class T>
void backward(const CtcSequence<T>& x, const T* alpha, int64_t width, T nll, T g, T* gx) {
  using V = Vec<T>;
  int64_t n = x.n_states(), padded = n + kCtcMargin;
  States<T> states(x);
  Scratch<T> room(2 * padded + n + x.n_classes);
  T *now = room.data(), *after = now + padded;
  T *shares = after + padded, *taken = shares + n;  // by state, by label
  std::fill(now, shares, kNever<T>);
  for (int64_t t = x.n_steps - 1; t >= 0; --t) {
    const T *at = states.at(t), *skips = states.skips(), *ways = alpha + t * width + kCtcMargin;
    if (t == x.n_steps - 1) {
      int64_t n_ends = std::min<int64_t>(n, 2);
      std::copy(at + n - n_ends, at + n, now + n - n_ends);
    } else {
      walk_row<V>(n, [&](int64_t s, int64_t lanes) FACULA_INLINE {
        auto load = [&](const T* from) FACULA_INLINE { return load_lanes<V>(from + s, lanes); };
        V goes = log_add(load(after), load(after + 1), load(after + 2) + load(skips + 2));
        store_lanes(goes + load(at), now + s, lanes);
      });
    }
    walk_row<V>(n, [&](int64_t s, int64_t lanes) FACULA_INLINE {
      auto load = [&](const T* from) FACULA_INLINE { return load_lanes<V>(from + s, lanes); };
      store_lanes(math::exp(load(ways) + load(now) + V(nll) - load(at)), shares + s, lanes);
    });
    std::fill(taken, taken + x.n_classes, T(0));
    for (int64_t s = 0; s < n; ++s) taken[states.label(s)] += shares[s];
    const T* row = x.log_probs + t * x.step;
    walk_row<V>(x.n_classes, [&](int64_t c, int64_t lanes) FACULA_INLINE {
      V lp = load_lanes<V>(row + c, lanes), impossible = (V(nll) - lp) * V(T(0));  // NaN, or zero
      V share = load_lanes<V>(taken + c, lanes) + impossible;
      store_lanes((math::exp(lp) - share) * V(g), gx + t * x.step + c, lanes);
    });
    std::swap(now, after);
  }
}

}  // namespace

extern const CtcTable ctc_table;
const CtcTable ctc_table = {{forward<float>, backward<float>}, {forward<double>, backward<double>}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
