// Softmax along a dimension, and the losses of classes.
#pragma once
#include "cuda/kernels/rows.h"

namespace facula {

// exp of a number that elements T are made of: of 16-bit ones by the GPU's own instruction, whose
// error their rounding hides.
template <class T>
FACULA_FN Wide<T> exp_for(Wide<T> x) {
  if constexpr (is_reduced_float_v<T>) {
    return __expf(x);
  } else {
    return ::exp(x);
  }
}

// The largest element and the sum of exp(x - largest).
template <class T>
struct MaxSum {
  using W = Wide<T>;
  W max = -math::infinity<W>(), sum = W(0);
  FACULA_FN void add(W x) {
    if (x > max) {
      sum = sum * exp_for<T>(max - x) + (x - x + W(1));  // NaN for infinity
      max = x;
    } else if (x != -math::infinity<W>()) {
      sum += exp_for<T>(x - max);
    }
  }
  FACULA_FN void join(const MaxSum& o) {
    W most = max > o.max ? max : o.max;
    if (most == -math::infinity<W>()) {
      sum += o.sum;  // 0, or NaN
      return;
    }
    sum = sum * exp_for<T>(max - most) + o.sum * exp_for<T>(o.max - most);
    max = most;
  }
};

template <class W>
struct Highest {
  W value = -math::infinity<W>();
  FACULA_FN void join(const Highest& o) { value = o.value > value ? o.value : value; }
};

template <class T>
using HeldLogits = HeldRow<T, kSoftmaxVectors>;

// The largest element of a held row, for all of its threads. A NaN shows in the sum.
template <class T>
FACULA_FN Wide<T> highest_of(const HeldLogits<T>& row, const RowShape& s, const RowPlace& p) {
  using W = Wide<T>;
  __shared__ char memory[kReduceThreads * sizeof(Highest<W>)] __attribute__((aligned(16)));
  Highest<W> highest;
  row.visit([&](W value) { highest.value = value > highest.value ? value : highest.value; });
  share_lanes(highest, reinterpret_cast<Highest<W>*>(memory), p.place, s.n_lanes, true);
  return highest.value;
}
template <class W>
FACULA_FN W sum_of_lanes(W mine, const RowShape& s, const RowPlace& p) {
  __shared__ char memory[kReduceThreads * sizeof(Sums<W>)] __attribute__((aligned(16)));
  Sums<W> total;
  total.first = mine;
  share_lanes(total, reinterpret_cast<Sums<W>*>(memory), p.place, s.n_lanes, true);
  return total.first;
}

// A row in registers is walked twice, which is cheaper than to change the sum with each new
// largest element.
template <class T>
FACULA_FN MaxSum<T> max_sum_of(const HeldLogits<T>& row, const RowShape& s, const RowPlace& p) {
  MaxSum<T> total;
  total.max = highest_of(row, s, p);
  Wide<T> sum = Wide<T>(0);
  row.visit([&](Wide<T> value) { sum += exp_for<T>(value - total.max); });
  total.sum = sum_of_lanes(sum, s, p);
  return total;
}

template <class T, class Row>
FACULA_FN MaxSum<T> max_sum_of(const Row& row, const RowShape& s, const RowPlace& p) {
  __shared__ char memory[kReduceThreads * sizeof(MaxSum<T>)] __attribute__((aligned(16)));
  MaxSum<T> total;
  row.visit([&](Wide<T> value) { total.add(value); });
  share_lanes(total, reinterpret_cast<MaxSum<T>*>(memory), p.place, s.n_lanes, s.inner == 1);
  return total;
}

template <class T, class Row>
FACULA_FN void softmax_of(const SoftmaxArguments& a) {
  using W = Wide<T>;
  RowPlace p = row_place(a.shape);
  T* to = reinterpret_cast<T*>(a.to) + p.offset;
  Row row(reinterpret_cast<const T*>(a.x), a.shape, p);
  if constexpr (std::is_same_v<Row, HeldLogits<T>> && std::is_same_v<T, W>) {
    // Exponentials take the place of the elements: each is computed once.
    W highest = highest_of(row, a.shape, p), sum = W(0);
    row.change([&](W value) {
      value = exp_for<T>(value - highest);
      sum += value;
      return value;
    });
    W scale = W(1) / sum_of_lanes(sum, a.shape, p);
    row.map(to, [&](W value) { return value * scale; });
  } else {
    MaxSum<T> total = max_sum_of<T>(row, a.shape, p);
    W scale = W(1) / total.sum;
    row.map(to, [&](W value) { return exp_for<T>(value - total.max) * scale; });
  }
}
template <class T>
FACULA_FN void softmax(const SoftmaxArguments& a) {
  softmax_of<T, StreamedRow<T>>(a);
}
template <class T>
FACULA_FN void held_softmax(const SoftmaxArguments& a) {
  softmax_of<T, HeldLogits<T>>(a);
}

template <class T, class Row>
FACULA_FN void log_softmax_of(const SoftmaxArguments& a) {
  using W = Wide<T>;
  RowPlace p = row_place(a.shape);
  Row row(reinterpret_cast<const T*>(a.x), a.shape, p);
  MaxSum<T> total = max_sum_of<T>(row, a.shape, p);
  W shift = ::log(total.sum);
  row.map(reinterpret_cast<T*>(a.to) + p.offset,
          [&](W value) { return value - total.max - shift; });
}
template <class T>
FACULA_FN void log_softmax(const SoftmaxArguments& a) {
  log_softmax_of<T, StreamedRow<T>>(a);
}
template <class T>
FACULA_FN void held_log_softmax(const SoftmaxArguments& a) {
  log_softmax_of<T, HeldLogits<T>>(a);
}

// y * (g - sum(g * y)), or of the logarithm g - exp(y) * sum(g). Here x is y.
template <class T, bool kIsLog>
FACULA_FN void softmax_gradient(const SoftmaxArguments& a) {
  using W = Wide<T>;
  __shared__ char memory[kReduceThreads * sizeof(Sums<W>)] __attribute__((aligned(16)));
  RowPlace p = row_place(a.shape);
  const T *y = reinterpret_cast<const T*>(a.x) + p.offset,
          *g = reinterpret_cast<const T*>(a.g) + p.offset;
  int64_t inner = a.shape.inner;
  Sums<W> total;
  if (p.is_active)
    visit_row(g, a.shape.size, inner, p.place.lane, a.shape.n_lanes,
              [&](int64_t i, W value) { total.first += kIsLog ? value : value * W(y[i * inner]); });
  share_lanes(total, reinterpret_cast<Sums<W>*>(memory), p.place, a.shape.n_lanes, inner == 1);
  if (!p.is_active) return;
  map_row(reinterpret_cast<T*>(a.to) + p.offset, g, y, a.shape.size, inner, p.place.lane,
          a.shape.n_lanes, [&](int64_t, W up, W value) {
            return kIsLog ? up - exp_for<T>(value) * total.first : value * (up - total.first);
          });
}
template <class T>
FACULA_FN void softmax_backward(const SoftmaxArguments& a) {
  softmax_gradient<T, false>(a);
}
template <class T>
FACULA_FN void log_softmax_backward(const SoftmaxArguments& a) {
  softmax_gradient<T, true>(a);
}

// ---- losses of classes; of a target that is no class they are NaN

template <class T>
FACULA_FN Wide<T> class_weight(const ClassLossArguments& a, int64_t target) {
  if (target == a.ignored) return Wide<T>(0);
  if (target < 0 || target >= a.shape.size) return math::nan<Wide<T>>();
  return a.weight ? Wide<T>(reinterpret_cast<const T*>(a.weight)[target]) : Wide<T>(1);
}
template <class T>
FACULA_FN bool is_class(const ClassLossArguments& a, int64_t target) {
  return target != a.ignored && target >= 0 && target < a.shape.size;
}

template <class W>
FACULA_FN W row_gradient(const ClassLossArguments& a, int64_t row) {
  W g = reinterpret_cast<const W*>(a.g)[row * a.g_stride];
  return a.total ? g / *reinterpret_cast<const W*>(a.total) : g;
}

template <class T, class Row>
FACULA_FN void cross_entropy_of(const ClassLossArguments& a) {
  using W = Wide<T>;
  const T* x = reinterpret_cast<const T*>(a.x);
  RowPlace p = row_place(a.shape);
  MaxSum<T> total = max_sum_of<T>(Row(x, a.shape, p), a.shape, p);
  if (!p.is_active || p.place.lane != 0) return;
  int64_t target = a.target[p.row];
  W weight = class_weight<T>(a, target), shift = ::log(total.sum), loss = weight;
  if (is_class<T>(a, target))
    loss = (shift - (W(x[p.offset + target * a.shape.inner]) - total.max)) * weight;
  reinterpret_cast<W*>(a.stats)[p.row] = total.max;
  reinterpret_cast<W*>(a.stats)[a.shape.n_rows + p.row] = shift;
  reinterpret_cast<W*>(a.losses)[p.row] = loss;
  reinterpret_cast<W*>(a.weights)[p.row] = weight;
}
template <class T>
FACULA_FN void cross_entropy(const ClassLossArguments& a) {
  cross_entropy_of<T, StreamedRow<T>>(a);
}
template <class T>
FACULA_FN void held_cross_entropy(const ClassLossArguments& a) {
  cross_entropy_of<T, HeldLogits<T>>(a);
}

template <class T>
FACULA_FN void cross_entropy_backward(const ClassLossArguments& a) {
  using W = Wide<T>;
  RowPlace p = row_place(a.shape);
  if (!p.is_active) return;
  const T* x = reinterpret_cast<const T*>(a.x) + p.offset;
  const W* stats = reinterpret_cast<const W*>(a.stats);
  int64_t target = a.target[p.row];
  W high = stats[p.row], shift = stats[a.shape.n_rows + p.row];
  W weight = class_weight<T>(a, target);
  bool is_ignored = target == a.ignored;
  W scale = is_ignored ? W(0) : row_gradient<W>(a, p.row) * weight;
  T* gx = reinterpret_cast<T*>(a.gx) + (a.gx_stride ? p.row * a.gx_stride : p.offset);
  map_row(gx, x, x, a.shape.size, a.shape.inner, p.place.lane, a.shape.n_lanes,
          [&](int64_t i, W value, W) {
            if (is_ignored) return W(0);
            W at = value - high - shift;
            return (i == target ? ::expm1(at) : exp_for<T>(at)) * scale;
          });
}

// Of log probabilities.
template <class T>
FACULA_FN void nll_loss(const ClassLossArguments& a) {
  using W = Wide<T>;
  int64_t row = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= a.shape.n_rows) return;
  int64_t target = a.target[row], inner = a.shape.inner;
  W weight = class_weight<T>(a, target), loss = weight;
  if (is_class<T>(a, target)) {
    int64_t offset = row / inner * a.shape.size * inner + row % inner;
    loss = -W(reinterpret_cast<const T*>(a.x)[offset + target * inner]) * weight;
  }
  reinterpret_cast<W*>(a.losses)[row] = loss;
  reinterpret_cast<W*>(a.weights)[row] = weight;
}

// The gradients are 0 already.
template <class T>
FACULA_FN void nll_loss_backward(const ClassLossArguments& a) {
  using W = Wide<T>;
  int64_t row = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= a.shape.n_rows) return;
  int64_t target = a.target[row], inner = a.shape.inner;
  if (!is_class<T>(a, target)) return;
  int64_t offset = row / inner * a.shape.size * inner + row % inner;
  reinterpret_cast<T*>(a.gx)[offset + target * inner] =
      T(-row_gradient<W>(a, row) * class_weight<T>(a, target));
}

}  // namespace facula
