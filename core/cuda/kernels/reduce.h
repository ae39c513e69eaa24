// Reductions. Threads take elements in steps of the number of threads that share a result, and are
// joined in a fixed tree: no atomics, so the same bits in every run.
#pragma once
#include "cuda/kernels/arguments.h"
#include "cuda/kernels/types.h"
#include "math/reductions.h"

namespace facula {

// An accumulator takes elements, with their numbers within the reduction, joins others of its kind,
// and gives the result. second() is there for operations with two results.
//
// That of the rows FOLD of tables/reduce.def; Formula is made of the row's texts.
template <class Formula, class W>
struct Fold {
  using Join = typename Formula::Join;
  using A = decltype(Formula::element(W()));
  A total = Join::template first<A>();
  void add(W x, int64_t, const ReduceNumbers&) { total = Join::join(total, Formula::element(x)); }
  void join(const Fold& o) { total = Join::join(total, o.total); }
  A value(const ReduceNumbers& n) const { return Formula::total(total, static_cast<A>(n.divisor)); }
};

// The norm of an arbitrary order p.
template <class W>
struct NormP {
  using R = decltype(math::magnitude(W()));
  R total = R(0);
  void add(W x, int64_t, const ReduceNumbers& n) {
    total += static_cast<R>(::pow(double(math::magnitude(x)), n.p));
  }
  void join(const NormP& o) { total += o.total; }
  R value(const ReduceNumbers& n) const { return static_cast<R>(::pow(double(total), 1 / n.p)); }
};

// The extreme element and its number; of equal ones the first, which a thread comes to first.
template <class W, class Join>
struct ArgExtreme {
  W best = Join::template first<W>();
  int64_t index = -1;
  void add(W x, int64_t i, const ReduceNumbers&) {
    if (index < 0 || Join::beats(x, best)) {
      best = x;
      index = i;
    }
  }
  void join(const ArgExtreme& o) {
    bool is_equal = o.best == best || (o.best != o.best && best != best);
    if (o.index < 0 || (is_equal && index >= 0 && index < o.index)) return;
    if (index < 0 || is_equal || Join::beats(o.best, best)) *this = o;
  }
  W value(const ReduceNumbers&) const { return best; }
  int64_t second() const { return index; }
};
template <class W>
using ArgMax = ArgExtreme<W, math::Larger>;
template <class W>
using ArgMin = ArgExtreme<W, math::Smaller>;

// Variance or its root, and the mean: of distances from the first element that a thread has, in
// double, which has bits enough for squares of all types but its own. The pivot is always finite:
// what is infinite stays in the sums, as inf - inf would make the mean NaN.
template <class W>
struct Moments {
  double pivot = 0, sum = 0, squares = 0;
  int64_t count = 0;
  void add(W x, int64_t, const ReduceNumbers&) {
    if (count == 0 && is_finite(x)) pivot = x;
    ++count;
    double apart = x - pivot;
    if constexpr (std::is_same_v<W, double>) {
      double shift = apart / double(count);
      if (is_finite(shift)) {
        pivot += shift;
        squares += apart * (apart - shift);
        return;
      }
    }
    sum += apart;
    squares += apart * apart;
  }
  void join(Moments o) {
    if (o.count == 0) return;
    if (count == 0) {  // else large numbers would make inf * 0 of the distance
      *this = o;
      return;
    }
    move_to_mean();
    o.move_to_mean();
    double share = double(o.count) / double(count + o.count), apart = o.pivot - pivot;
    sum += o.sum;
    squares += o.squares + apart * apart * double(count) * share;
    pivot += apart * share;
    count += o.count;
  }
  double value(const ReduceNumbers& n) const {
    double all = count > 0 ? squares - sum * sum / double(count) : 0;
    double variance = (all < 0 ? 0 : all) / n.divisor;
    return n.takes_root ? ::sqrt(variance) : variance;
  }
  double second() const { return count > 0 ? pivot + sum / double(count) : nan(""); }

 private:
  static bool is_finite(double x) { return x - x == 0; }
  // Divisions take long: only once before all joins.
  void move_to_mean() {
    if (sum == 0) return;
    double shift = sum / double(count);
    if (!is_finite(shift)) return;
    pivot += shift;
    squares -= shift * sum;
    sum = 0;
  }
};

template <class Accumulator>
FACULA_FN auto store_second(const Accumulator& total, char* seconds, int64_t out, int)
    -> decltype(total.second(), void()) {
  if (seconds) reinterpret_cast<decltype(total.second())*>(seconds)[out] = total.second();
}
template <class Accumulator>
FACULA_FN void store_second(const Accumulator&, char*, int64_t, long) {}

template <int kDims>
FACULA_FN int64_t offset_of(const ReduceAxis (&axes)[kDims], int n_axes, int64_t i) {
  if (n_axes == 0) return 0;
  if (n_axes == 1) return i * axes[0].stride;
  int64_t offset = 0;
  for (int d = 0; d < n_axes; ++d) {
    int64_t next =
        i < (int64_t(1) << 31) ? int64_t(uint32_t(i) / uint32_t(axes[d].size)) : i / axes[d].size;
    offset += (i - next * axes[d].size) * axes[d].stride;
    i = next;
  }
  return offset;
}

// Where a thread of the block works: n_lanes threads have the same `slot`, the number of a result
// within the block.
struct Place {
  int lane, slot, n_slots;
};
FACULA_FN Place place_of(int n_lanes, bool lanes_are_neighbours) {
  int n_slots = kReduceThreads / n_lanes, t = threadIdx.x;
  if (lanes_are_neighbours) return {t % n_lanes, t / n_lanes, n_slots};
  return {t / n_slots, t % n_slots, n_slots};
}

// The accumulators of a result's lanes, joined: the upper half of them with the lower, and so on.
// Lane 0 has the result.
template <class Accumulator>
FACULA_FN void join_lanes(Accumulator& mine, Accumulator* shared, Place place, int n_lanes) {
  Accumulator* row = shared + place.slot * n_lanes;
  row[place.lane] = mine;
  for (int step = n_lanes / 2; step > 0; step /= 2) {
    __syncthreads();
    if (place.lane < step) row[place.lane].join(row[place.lane + step]);
  }
  mine = row[place.lane];
}

template <class Out, class Accumulator, class Arguments>
FACULA_FN void store_result(const Accumulator& total, const Arguments& a, int64_t out) {
  reinterpret_cast<Out*>(a.values)[out] = convert<Out>(total.value(a.numbers));
  store_second(total, a.seconds, out, 0);
}

template <class In, class Read, class Out, class Accumulator, class Arguments>
FACULA_FN void reduce_pieces(const Arguments& a) {
  __shared__ char memory[kReduceThreads * sizeof(Accumulator)] __attribute__((aligned(16)));
  Place place = place_of(a.n_lanes, a.lanes_are_neighbours);
  int64_t out = int64_t(blockIdx.x) * place.n_slots + place.slot, piece = blockIdx.y;
  Accumulator total;
  if (out < a.n_out) {
    const char* base = a.data + offset_of(a.kept, a.n_kept, out);
    int64_t begin = piece * a.piece_size,
            end = begin + a.piece_size < a.n_in ? begin + a.piece_size : a.n_in;
    int64_t i = begin + place.lane;
    // Four loads in flight.
    for (; i + 3 * a.n_lanes < end; i += 4 * a.n_lanes) {
      Read x[4];
#pragma unroll
      for (int j = 0; j < 4; ++j)
        x[j] = convert<Read>(*reinterpret_cast<const In*>(
            base + offset_of(a.reduced, a.n_reduced, i + j * a.n_lanes)));
#pragma unroll
      for (int j = 0; j < 4; ++j) total.add(x[j], i + j * a.n_lanes, a.numbers);
    }
    for (; i < end; i += a.n_lanes)
      total.add(
          convert<Read>(*reinterpret_cast<const In*>(base + offset_of(a.reduced, a.n_reduced, i))),
          i, a.numbers);
  }
  join_lanes(total, reinterpret_cast<Accumulator*>(memory), place, a.n_lanes);
  if (place.lane != 0 || out >= a.n_out) return;
  if (a.partials) {
    reinterpret_cast<Accumulator*>(a.partials)[out * a.n_pieces + piece] = total;
  } else {
    store_result<Out>(total, a, out);
  }
}

// As reduce_pieces where elements lie side by side. Along: those of one result, which a thread
// takes a pack at a time; n_in and the first of the reduced axes count packs. Across: those of
// neighbouring results, a pack of which a thread has; n_out and the first of the kept axes count
// packs.
template <class In, class Read, class Out, class Accumulator, bool kIsAcross>
FACULA_FN void reduce_packs(const ReduceArguments& a) {
  __shared__ char memory[kReduceThreads * sizeof(Accumulator)] __attribute__((aligned(16)));
  constexpr int kPack = reduce_pack(sizeof(In)), kTotals = kIsAcross ? kPack : 1;
  constexpr int kInFlight = 4;
  Place place = place_of(a.n_lanes, a.lanes_are_neighbours);
  int64_t out = int64_t(blockIdx.x) * place.n_slots + place.slot, piece = blockIdx.y;
  Accumulator totals[kTotals];
  if (out < a.n_out) {
    const char* base = a.data + offset_of(a.kept, a.n_kept, out);
    int64_t begin = piece * a.piece_size,
            end = begin + a.piece_size < a.n_in ? begin + a.piece_size : a.n_in;
    auto load = [&](int64_t i) {
      return *reinterpret_cast<const Pack<In, kPack>*>(base + offset_of(a.reduced, a.n_reduced, i));
    };
    auto add = [&](const Pack<In, kPack>& x, int64_t i) {
#pragma unroll
      for (int j = 0; j < kPack; ++j)
        totals[kIsAcross ? j : 0].add(convert<Read>(x.values[j]), kIsAcross ? i : i * kPack + j,
                                      a.numbers);
    };
    int64_t i = begin + place.lane;
    for (; i + (kInFlight - 1) * a.n_lanes < end; i += kInFlight * a.n_lanes) {
      Pack<In, kPack> x[kInFlight];
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) x[j] = load(i + j * a.n_lanes);
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) add(x[j], i + j * a.n_lanes);
    }
    for (; i < end; i += a.n_lanes) add(load(i), i);
  }
#pragma unroll
  for (int j = 0; j < kTotals; ++j) {
    __syncthreads();
    join_lanes(totals[j], reinterpret_cast<Accumulator*>(memory), place, a.n_lanes);
    if (place.lane != 0 || out >= a.n_out) continue;
    int64_t to = out * kTotals + j;
    if (a.partials) {
      reinterpret_cast<Accumulator*>(a.partials)[to * a.n_pieces + piece] = totals[j];
    } else {
      store_result<Out>(totals[j], a, to);
    }
  }
}

// One block to a result.
template <class Out, class Accumulator>
FACULA_FN void join_pieces(const ReduceArguments& a) {
  __shared__ char memory[kReduceThreads * sizeof(Accumulator)] __attribute__((aligned(16)));
  int64_t out = blockIdx.x;
  const Accumulator* partials = reinterpret_cast<const Accumulator*>(a.partials) + out * a.n_pieces;
  Accumulator total;
  for (int64_t i = threadIdx.x; i < a.n_pieces; i += kReduceThreads) total.join(partials[i]);
  join_lanes(total, reinterpret_cast<Accumulator*>(memory), {int(threadIdx.x), 0, 1},
             kReduceThreads);
  if (threadIdx.x == 0) store_result<Out>(total, a, out);
}

}  // namespace facula

// The entry point of a program that reduces elements In, read as Read, to results Out.
#define FACULA_REDUCE(name, Accumulator, In, Read, Out)                      \
  extern "C" __global__ void name(const facula::ReduceArguments arguments) { \
    facula::reduce_pieces<In, Read, Out, Accumulator>(arguments);            \
  }
#define FACULA_REDUCE_LONG(name, Accumulator, In, Read, Out)                     \
  extern "C" __global__ void name(const facula::LongReduceArguments arguments) { \
    facula::reduce_pieces<In, Read, Out, Accumulator>(arguments);                \
  }
#define FACULA_REDUCE_ALONG(name, Accumulator, In, Read, Out)                \
  extern "C" __global__ void name(const facula::ReduceArguments arguments) { \
    facula::reduce_packs<In, Read, Out, Accumulator, false>(arguments);      \
  }
#define FACULA_REDUCE_ACROSS(name, Accumulator, In, Read, Out)               \
  extern "C" __global__ void name(const facula::ReduceArguments arguments) { \
    facula::reduce_packs<In, Read, Out, Accumulator, true>(arguments);       \
  }
#define FACULA_JOIN(name, Accumulator, In, Read, Out)                        \
  extern "C" __global__ void name(const facula::ReduceArguments arguments) { \
    facula::join_pieces<Out, Accumulator>(arguments);                        \
  }
