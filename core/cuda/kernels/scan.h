// Running totals and extrema along lines. Elements are joined in a fixed tree: the same bits in
// every run.
#pragma once
#include "cuda/kernels/shape.h"
#ifdef __CUDACC_RTC__
#include "math/reductions.h"
#endif

namespace facula {

constexpr int kScanThreads = 256, kScanItems = 4;

struct ScanArguments {
  char *y, *places;  // places: of extrema
  const char* x;
  char* partials;  // a state to each piece; null where a line is one piece
  int64_t n;       // elements of a line
  int64_t n_pieces, piece_size;
  int64_t y_step, places_step, x_step;  // bytes from one element of a line to the next
  bool is_exclusive;                    // without the element itself; it may be in place
  Shape<3> lines;                       // where they start: y, places, x
};

#ifdef __CUDACC_RTC__

// Running totals are kept one size wider than the elements, as on the CPU.
template <class T>
using Running = std::conditional_t<
    is_reduced_float_v<T>, float,
    std::conditional_t<std::is_same_v<T, float>, double,
                       std::conditional_t<std::is_same_v<T, Complex64>, Complex128, T>>>;

// A state of a scan: of nothing, of one element, joined with that of later ones.
template <class T, class Join>
struct RunningTotal {
  using A = Running<T>;
  A total = Join::template first<A>();
  RunningTotal() = default;
  FACULA_FN RunningTotal(T x, int64_t) : total(convert<A>(x)) {}
  FACULA_FN void join(const RunningTotal& later) { total = A(Join::join(total, later.total)); }
  FACULA_FN T value() const { return convert<T>(total); }
};

// exp(high) * total, with a finite `high`.
template <class T>
struct RunningLogSum {
  using A = Running<T>;
  A high = A(0), total = A(0);
  bool is_empty = true;
  RunningLogSum() = default;
  FACULA_FN RunningLogSum(T x, int64_t) : is_empty(false) {
    A value = convert<A>(x), largest = A(sizeof(A) == 8 ? 1.7976931348623157e308 : 3.4028234e38);
    high = value < -largest ? -largest : value > largest ? largest : value;
    if (value != value) high = A(0);
    total = math::exp(value - high);
  }
  FACULA_FN void join(const RunningLogSum& later) {
    if (later.is_empty) return;
    if (is_empty) {
      *this = later;
      return;
    }
    A highest = later.high > high ? later.high : high;
    total = total * math::exp(high - highest) + later.total * math::exp(later.high - highest);
    high = highest;
  }
  FACULA_FN T value() const { return convert<T>(high + math::log(total)); }
};
template <class R>
struct RunningLogSum<std::complex<R>> {
  Complex128 total = Complex128(0);
  bool is_empty = true;
  RunningLogSum() = default;
  FACULA_FN RunningLogSum(std::complex<R> x, int64_t) : total(x), is_empty(false) {}
  FACULA_FN void join(const RunningLogSum& later) {
    if (later.is_empty) return;
    total = is_empty ? later.total : math::logaddexp(total, later.total);
    is_empty = false;
  }
  FACULA_FN std::complex<R> value() const { return std::complex<R>(total); }
};

// Of equal values the later one counts; NaN beats everything that follows, but for another NaN.
template <class T, bool kMax>
struct RunningExtremum {
  Wide<T> best = Wide<T>(0);
  int64_t place = -1;
  RunningExtremum() = default;
  FACULA_FN RunningExtremum(T x, int64_t i) : best(x), place(i) {}
  FACULA_FN void join(const RunningExtremum& later) {
    if (later.place < 0) return;
    bool is_behind = kMax ? later.best < best : later.best > best;
    if (place >= 0 && (is_behind || (best != best && later.best == later.best))) return;
    *this = later;
  }
  FACULA_FN T value() const { return T(best); }
};
template <class State>
FACULA_FN auto store_place(const State& state, char* to, int) -> decltype(state.place, void()) {
  *reinterpret_cast<int64_t*>(to) = state.place;
}
template <class State>
FACULA_FN void store_place(const State&, char*, long) {}

struct LineStart {
  char *y, *places;
  const char* x;
};
FACULA_FN LineStart line_start(const ScanArguments& a, int64_t line) {
  int64_t at[3];
  find_offsets(a.lines, line, at);
  return {a.y + at[0], a.places + at[1], a.x + at[2]};
}

// A thread to each line: for lines beside each other in memory.
template <class T, class State>
FACULA_FN void scan_beside(const ScanArguments& a) {
  int64_t line = thread_number();
  if (line >= a.lines.numel) return;
  LineStart at = line_start(a, line);
  State total;
  for (int64_t i = 0; i < a.n; ++i) {
    total.join(State(*reinterpret_cast<const T*>(at.x + i * a.x_step), i));
    *reinterpret_cast<T*>(at.y + i * a.y_step) = total.value();
    store_place(total, at.places + i * a.places_step, 0);
  }
}

// The state of all threads before this one, and in `total` that of all of them.
template <class State>
FACULA_FN State join_before(const State& mine, State* shared, State& total) {
  int t = threadIdx.x;
  shared[t] = mine;
  __syncthreads();
  for (int step = 1; step < kScanThreads; step *= 2) {
    State joined = shared[t];
    if (t >= step) {
      joined = shared[t - step];
      joined.join(shared[t]);
    }
    __syncthreads();
    shared[t] = joined;
    __syncthreads();
  }
  State before = t > 0 ? shared[t - 1] : State();
  total = shared[kScanThreads - 1];
  __syncthreads();
  return before;
}

// A block to each piece of a line: blocks (line, piece). With `kTotalsOnly` nothing but the state
// of the piece is kept.
template <class T, class State, bool kTotalsOnly>
FACULA_FN void scan_piece(const ScanArguments& a) {
  __shared__ char memory[kScanThreads * sizeof(State)] __attribute__((aligned(16)));
  State* shared = reinterpret_cast<State*>(memory);
  LineStart at = line_start(a, blockIdx.x);
  int64_t begin = blockIdx.y * a.piece_size,
          end = begin + a.piece_size < a.n ? begin + a.piece_size : a.n;
  State* partial = reinterpret_cast<State*>(a.partials) + blockIdx.x * a.n_pieces + blockIdx.y;
  State carry;
  if (!kTotalsOnly && a.partials) carry = *partial;
  for (int64_t tile = begin; tile < end; tile += kScanThreads * kScanItems) {
    int64_t first = tile + threadIdx.x * kScanItems;
    State items[kScanItems], mine, total;
    for (int j = 0; j < kScanItems; ++j) {
      if (first + j < end)
        items[j] = State(*reinterpret_cast<const T*>(at.x + (first + j) * a.x_step), first + j);
      mine.join(items[j]);
    }
    State before = carry;
    before.join(join_before(mine, shared, total));
    carry.join(total);
    if (kTotalsOnly) continue;
    for (int j = 0; j < kScanItems && first + j < end; ++j) {
      State with = before;
      with.join(items[j]);
      *reinterpret_cast<T*>(at.y + (first + j) * a.y_step) =
          (a.is_exclusive ? before : with).value();
      store_place(with, at.places + (first + j) * a.places_step, 0);
      before = with;
    }
  }
  if (kTotalsOnly && threadIdx.x == 0) *partial = carry;
}

// The states of a line's pieces become those of all pieces before.
template <class State>
FACULA_FN void scan_partials(const ScanArguments& a) {
  int64_t line = thread_number();
  if (line >= a.lines.numel) return;
  State* partials = reinterpret_cast<State*>(a.partials) + line * a.n_pieces;
  State before;
  for (int64_t i = 0; i < a.n_pieces; ++i) {
    State piece = partials[i];
    partials[i] = before;
    before.join(piece);
  }
}

#define FACULA_SCAN(name, ...)                           \
  template <class T>                                     \
  FACULA_FN void name##_beside(const ScanArguments& a) { \
    scan_beside<T, __VA_ARGS__>(a);                      \
  }                                                      \
  template <class T>                                     \
  FACULA_FN void name##_totals(const ScanArguments& a) { \
    scan_piece<T, __VA_ARGS__, true>(a);                 \
  }                                                      \
  template <class T>                                     \
  FACULA_FN void name##_join(const ScanArguments& a) {   \
    scan_partials<__VA_ARGS__>(a);                       \
  }                                                      \
  template <class T>                                     \
  FACULA_FN void name##_pieces(const ScanArguments& a) { \
    scan_piece<T, __VA_ARGS__, false>(a);                \
  }
FACULA_SCAN(cumsum, RunningTotal<T, math::Add>)
FACULA_SCAN(cumprod, RunningTotal<T, math::Multiply>)
FACULA_SCAN(logcumsumexp, RunningLogSum<T>)
FACULA_SCAN(cummax, RunningExtremum<T, true>)
FACULA_SCAN(cummin, RunningExtremum<T, false>)

#endif

}  // namespace facula
