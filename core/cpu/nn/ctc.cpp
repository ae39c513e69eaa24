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

// The states of several sequences are one row, so that the logarithms of a step, each of which
// waits for that of the step before, are more than one vector: 64 sequences of one label in 64
// steps take 41 us instead of 186.
template <class T>
void forward(const CtcSequence<T>* sequences, int64_t n_beside, T* alpha, int64_t alpha_step,
             int64_t width, T* nll) {
  using V = Vec<T>;
  const int64_t n = n_beside * width - kCtcMargin;
  Scratch<const T*> sources(n);
  Scratch<T> room(3 * n);
  // Of each place in a row: the log probability of its label, what States::skips() says, and zero
  // for a state, but minus infinity between sequences.
  T *at = room.data(), *skips = at + n, *walls = skips + n;
  std::fill(skips, skips + 2 * n, kNever<T>);
  int64_t n_steps = 0;
  for (int64_t i = 0; i < n_beside; ++i) {
    const CtcSequence<T>& x = sequences[i];
    n_steps = std::max(n_steps, x.n_steps);
    for (int64_t s = 0; s < width && i * width + s < n; ++s) {
      int64_t place = i * width + s;
      bool is_state = s < x.n_states(), is_label = is_state && s % 2 == 1;
      sources.data()[place] = x.log_probs + (is_label ? x.labels[s / 2] : x.blank);
      if (is_state) walls[place] = T(0);
      if (is_label && s > 1 && x.labels[s / 2] != x.labels[s / 2 - 1]) skips[place] = T(0);
    }
  }
  for (int64_t t = 0; t < n_steps; ++t) {
    T* now = alpha + t * alpha_step + kCtcMargin;
    std::fill(now - kCtcMargin, t == 0 ? now + n : now, kNever<T>);
    for (int64_t s = 0; s < n; ++s) at[s] = sources.data()[s][t * sequences->step];
    if (t == 0) {
      for (int64_t i = 0; i < n_beside; ++i) {
        int64_t n_begins = std::min<int64_t>(sequences[i].n_states(), 2);
        std::copy_n(at + i * width, n_begins, now + i * width);
      }
      continue;
    }
    const T* before = now - alpha_step;
    walk_row<V>(n, [&](int64_t s, int64_t lanes) FACULA_INLINE {
      auto load = [&](const T* from) FACULA_INLINE { return load_lanes<V>(from + s, lanes); };
      V came = log_add(load(before), load(before - 1), load(before - 2) + load(skips));
      // Not a sum: a NaN of one sequence is no concern of the next.
      V never(kNever<T>);
      store_lanes(select(load(walls) == never, never, came + load(at)), now + s, lanes);
    });
  }
  for (int64_t i = 0; i < n_beside; ++i) {
    const CtcSequence<T>& x = sequences[i];
    if (x.n_steps == 0) {
      nll[i] = x.n_labels == 0 ? T(0) : -kNever<T>;
      continue;
    }
    const T* last = alpha + (x.n_steps - 1) * alpha_step + i * width;
    const T* end = last + kCtcMargin + x.n_states();
    nll[i] = -log_add(V(end[-1]), V(end[-2]), V(kNever<T>))[0];  // a margin, if it has one state
  }
}

template <class T>
void backward(const CtcSequence<T>& x, const T* alpha, int64_t alpha_step, T nll, T g, T* gx) {
  using V = Vec<T>;
  int64_t n = x.n_states(), padded = n + kCtcMargin;
  States<T> states(x);
  Scratch<T> room(2 * padded + n + x.n_classes);
  T *now = room.data(), *after = now + padded;
  T *shares = after + padded, *taken = shares + n;  // by state, by label
  std::fill(now, shares, kNever<T>);
  for (int64_t t = x.n_steps - 1; t >= 0; --t) {
    const T *at = states.at(t), *skips = states.skips(),
            *ways = alpha + t * alpha_step + kCtcMargin;
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
