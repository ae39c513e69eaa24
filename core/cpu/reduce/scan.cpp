#include "cpu/reduce/scan.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/formulas.h"
#include "cpu/row.h"
#include "cpu/vec_lanes.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

template <class T>
inline T& at(char* data, int64_t stride, int64_t i) {
  return *reinterpret_cast<T*>(data + i * stride);
}

// Running totals are kept one size wider than the elements, as PyTorch does.
template <class T>
using Running = std::conditional_t<
    is_reduced_float_v<T>, float,
    std::conditional_t<std::is_same_v<T, float>, double,
                       std::conditional_t<std::is_same_v<T, Complex64>, Complex128, T>>>;

// Lines side by side: the next step of one need not wait for the last one of another, and where
// lines are neighbours in memory, a step is one of vectors.
template <class Scan>
void scan_lines(char** data, const int64_t* steps, const int64_t* line_steps, int64_t n,
                int64_t n_lines) {
  constexpr int kOperands = static_cast<int>(Scan::kItemBytes.size());
  bool are_neighbours = true;
  for (int i = 0; i < kOperands; ++i) are_neighbours &= line_steps[i] == Scan::kItemBytes[i];
  bool is_beside = n <= Scan::kLongestBeside || steps[0] != Scan::kItemBytes[0];
  char* first[kOperands];
  for (int64_t l = 0, taken; l < n_lines; l += taken) {
    for (int i = 0; i < kOperands; ++i) first[i] = data[i] + l * line_steps[i];
    if (are_neighbours && l + 16 <= n_lines) {
      taken = 16;
      Scan::template run<16>(first, steps, Scan::kItemBytes.data(), n);
    } else if (l + 4 <= n_lines && is_beside) {
      taken = 4;
      Scan::template run<4>(first, steps, line_steps, n);
    } else if (l + 2 <= n_lines && is_beside) {
      taken = 2;
      Scan::template run<2>(first, steps, line_steps, n);
    } else {
      taken = 1;
      Scan::template run<1>(first, steps, line_steps, n);
    }
  }
}

// The lanes of v moved up by kBy; those before are 0.
template <int kBy, class T, int... kLane>
FACULA_FN Vec<T> moved_up(Vec<T> v, std::integer_sequence<int, kLane...>) {
  constexpr int n = Vec<T>::kLanes;
  return __builtin_shufflevector(Vec<T>(T(0)).v, v.v, (kLane < kBy ? kLane : n + kLane - kBy)...);
}
// In each lane the sum of those up to it.
template <int kBy = 1, class T>
FACULA_FN Vec<T> sums_of_lanes(Vec<T> v) {
  v = v + moved_up<kBy>(v, LaneNumbers<T>());
  if constexpr (2 * kBy < Vec<T>::kLanes) v = sums_of_lanes<2 * kBy>(v);
  return v;
}
template <class T>
FACULA_FN Vec<T> last_lane(Vec<T> v) {
  return take_lanes<Vec<T>::kLanes - 1, 0>(v, v, LaneNumbers<T>());
}

template <class T, class Join>
struct RunningTotal {
  static constexpr bool kIsDefined = !std::is_same_v<T, bool>;
  static constexpr std::array<int64_t, 2> kItemBytes = {sizeof(T), sizeof(T)};
  // Integers are added in one cycle, for which there is nothing to wait.
  static constexpr bool kIsQuick = std::is_integral_v<T> && std::is_same_v<Join, Add>;
  static constexpr int64_t kLongestBeside = kIsQuick ? 64 : std::numeric_limits<int64_t>::max();
  static constexpr ScanKernel kernel = scan_lines<RunningTotal>;

  template <int kLines>
  static FACULA_FN void run(char** data, const int64_t* steps, const int64_t* line_steps,
                            int64_t n) {
    if constexpr (kLines == 1 && is_complex_v<T> && std::is_same_v<Join, Add>) {
      // The parts are two lines of their own, whose totals stay in registers.
      using R = typename T::value_type;
      const int64_t part_steps[] = {sizeof(R), sizeof(R)};
      return RunningTotal<R, Join>::template run<2>(data, steps, part_steps, n);
    }
    using A = Running<T>;
    // By value, also below: the writes might change steps, for all that the compiler knows.
    char *y = data[0], *x = data[1];
    int64_t y_step = steps[0], x_step = steps[1], y_line = line_steps[0], x_line = line_steps[1];
    A total[kLines], next[kLines];
    for (A& t : total) t = Join::template first<A>();
    int64_t i = 0;
    if constexpr (kLines == 1 && kIsQuick && sizeof(T) == 8) {
      if (y_step == sizeof(T) && x_step == sizeof(T)) {
        // Only one addition waits for the vector before.
        using V = Vec<T>;
        V all(T(0));
        for (; i + V::kLanes <= n; i += V::kLanes, y += kVecBytes, x += kVecBytes) {
          V sums = sums_of_lanes(V::load(reinterpret_cast<const T*>(x)));
          (sums + all).store(reinterpret_cast<T*>(y));
          all = all + last_lane(sums);
        }
        total[0] = all[0];
      }
    }
    for (; i < n; ++i, y += y_step, x += x_step) {
      for (int l = 0; l < kLines; ++l) next[l] = static_cast<A>(at<T>(x, x_line, l));
      for (int l = 0; l < kLines; ++l) total[l] = static_cast<A>(Join::join(total[l], next[l]));
      for (int l = 0; l < kLines; ++l) at<T>(y, y_line, l) = static_cast<T>(total[l]);
    }
  }
};
template <class T>
using Cumsum = RunningTotal<T, Add>;
template <class T>
using Cumprod = RunningTotal<T, Multiply>;

// Of equal values the later one counts; NaN beats everything that follows.
template <class T, bool kMax>
struct RunningExtremum {
  static constexpr bool kIsDefined = !is_complex_v<T>;
  static constexpr std::array<int64_t, 3> kItemBytes = {sizeof(T), sizeof(int64_t), sizeof(T)};
  // Along a long line few elements are taken: there a branch is guessed right. But lines that are
  // not runs of memory share its cache lines.
  static constexpr int64_t kLongestBeside = 64;
  static constexpr ScanKernel kernel = scan_lines<RunningExtremum>;

  template <int kLines>
  static FACULA_FN void run(char** data, const int64_t* steps, const int64_t* line_steps,
                            int64_t n) {
    using W = Wide<T>;
    char *y = data[0], *places = data[1], *from = data[2];
    int64_t y_step = steps[0], place_step = steps[1], x_step = steps[2];
    int64_t y_line = line_steps[0], place_line = line_steps[1], x_line = line_steps[2];
    W best[kLines], x[kLines];
    T kept[kLines];  // the best, which need not be rounded at each step
    int64_t index[kLines] = {};
    for (int l = 0; l < kLines; ++l) best[l] = kept[l] = at<T>(from, x_line, l);
    for (int64_t i = 0; i < n; ++i, y += y_step, places += place_step, from += x_step) {
      for (int l = 0; l < kLines; ++l) x[l] = at<T>(from, x_line, l);
      for (int l = 0; l < kLines; ++l) {
        bool is_behind = kMax ? x[l] < best[l] : x[l] > best[l];
        if (kLines == 1 && __builtin_expect(is_behind, 1)) continue;
        bool takes = (!is_behind) & ((best[l] == best[l]) | (x[l] != x[l]));
        best[l] = takes ? x[l] : best[l];
        if (is_reduced_float_v<T>) kept[l] = takes ? at<T>(from, x_line, l) : kept[l];
        index[l] = takes ? i : index[l];
      }
      for (int l = 0; l < kLines; ++l)
        at<T>(y, y_line, l) = is_reduced_float_v<T> ? kept[l] : static_cast<T>(best[l]);
      for (int l = 0; l < kLines; ++l) at<int64_t>(places, place_line, l) = index[l];
    }
  }
};
template <class T>
using Cummax = RunningExtremum<T, true>;
template <class T>
using Cummin = RunningExtremum<T, false>;

template <class Scan, int kOperands>
void scan_each_line(char** data, const int64_t* steps, const int64_t* line_steps, int64_t n,
                    int64_t n_lines) {
  char* line[kOperands];
  for (int64_t l = 0; l < n_lines; ++l) {
    for (int i = 0; i < kOperands; ++i) line[i] = data[i] + l * line_steps[i];
    Scan::run(line, steps, n);
  }
}

// With the largest element m so far, which is kept finite, the sum is exp(m) s: only s, by one
// product and one sum, waits for the element before, and all exponentials of a block are vectors. A
// block is a part of a line, or many lines.
template <class T>
struct Logcumsumexp {
  static constexpr bool kIsDefined = is_floating_v<T>;
  using A = Running<T>;
  static constexpr int64_t kBlock = 64;

  static void kernel(char** data, const int64_t* steps, const int64_t* line_steps, int64_t n,
                     int64_t n_lines) {
    int64_t n_beside = std::max<int64_t>(1, kBlock / n);
    for (int64_t l = 0; l < n_lines; l += n_beside)
      run(data[0] + l * line_steps[0], data[1] + l * line_steps[1], steps, line_steps, n,
          std::min(n_beside, n_lines - l));
  }

  static FACULA_FN void run(char* y, char* x, const int64_t* steps, const int64_t* line_steps,
                            int64_t n, int64_t n_lines) {
    using V = Vec<A>;
    constexpr int64_t L = V::kLanes;
    constexpr A kLargest = std::numeric_limits<A>::max();
    A highs[kBlock], fades[kBlock], sums[kBlock], high = 0, total = 0;
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      int64_t width = std::min(kBlock, n - begin), numel = width * n_lines;
      // f(k, i, l) for the k-th element of the block, which is element i of line l.
      auto for_each = [=](auto f) {
        for (int64_t l = 0, k = 0; l < n_lines; ++l)
          for (int64_t i = begin; i < begin + width; ++i, ++k) f(k, i, l);
      };
      for_each([&](int64_t k, int64_t i, int64_t l) {
        A value = at<T>(x + l * line_steps[1], steps[1], i);
        if (i == 0) high = std::min(std::max(-kLargest, value), kLargest);
        highs[k] = value > high ? std::min(value, kLargest) : high;
        fades[k] = high - highs[k];
        sums[k] = value - highs[k];
        high = highs[k];
      });
      for (int64_t k = numel; k % L != 0; ++k) highs[k] = fades[k] = sums[k] = 0;
      for (int64_t k = 0; k < numel; k += L) {
        math::exp(V::load(fades + k)).store(fades + k);
        math::exp(V::load(sums + k)).store(sums + k);
      }
      for_each([&](int64_t k, int64_t i, int64_t) {
        sums[k] = total = i == 0 ? sums[k] : total * fades[k] + sums[k];
      });
      for (int64_t k = 0; k < numel; k += L)
        (V::load(highs + k) + math::log(V::load(sums + k))).store(sums + k);
      for_each([&](int64_t k, int64_t i, int64_t l) {
        at<T>(y + l * line_steps[0], steps[0], i) = static_cast<T>(sums[k]);
      });
    }
  }
};
template <class R>
struct Logcumsumexp<std::complex<R>> {
  static constexpr bool kIsDefined = true;
  static constexpr ScanKernel kernel = scan_each_line<Logcumsumexp, 2>;
  static void run(char** data, const int64_t* steps, int64_t n) {
    using T = std::complex<R>;
    using A = Running<T>;
    A total = A(0);
    for (int64_t i = 0; i < n; ++i) {
      A x = static_cast<A>(at<T>(data[1], steps[1], i));
      total = i == 0 ? x : math::logaddexp(total, x);
      at<T>(data[0], steps[0], i) = static_cast<T>(total);
    }
  }
};

// Note [Derivative of a running product]
// y_k = x_0 ... x_k. With P_i = x_0 ... x_(i-1) and R_i = sum over k >= i of g_k x_(i+1) ... x_k,
// the gradient is P_i R_i, and R_i = g_i + x_(i+1) R_(i+1): no division, so zeros need no care.
template <class T>
struct CumprodBackward {
  static constexpr bool kIsDefined = is_floating_v<T> || is_complex_v<T>;
  static constexpr ScanKernel kernel = scan_each_line<CumprodBackward, 3>;
  static void run(char** data, const int64_t* strides, int64_t n) {
    using A = Running<T>;
    auto g = [&](int64_t i) { return static_cast<A>(at<T>(data[1], strides[1], i)); };
    auto x = [&](int64_t i) { return static_cast<A>(at<T>(data[2], strides[2], i)); };
    std::vector<A> r(n);
    for (int64_t i = n - 1; i >= 0; --i) r[i] = i + 1 < n ? g(i) + x(i + 1) * r[i + 1] : g(i);
    A p = A(1);
    for (int64_t i = 0; i < n; ++i) {
      at<T>(data[0], strides[0], i) = static_cast<T>(p * r[i]);
      p = p * x(i);
    }
  }
};

template <template <class> class Kernel, class T>
constexpr ScanKernel entry() {
  if constexpr (Kernel<T>::kIsDefined) {
    return Kernel<T>::kernel;
  } else {
    return nullptr;
  }
}
template <template <class> class Kernel>
constexpr ScanTable::Row row() {
#define FACULA_ENTRY(T, Name) entry<Kernel, T>(),
  return {FACULA_FORALL_DTYPES(FACULA_ENTRY)};
#undef FACULA_ENTRY
}

}  // namespace

extern const ScanTable scan_table;
const ScanTable scan_table = {
    row<Cumsum>(), row<Cumprod>(), row<Logcumsumexp>(),
    row<Cummax>(), row<Cummin>(),  row<CumprodBackward>(),
};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
