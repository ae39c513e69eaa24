// Samples of Philox streams: a function of seed, call and element, the same as on the CPU. Only the
// masks of dropout() are not those of the CPU: they take one word of each stream instead of two.
#pragma once
#include "cuda/kernels/shape.h"
#ifdef __CUDACC_RTC__
#include "random/samples.h"
#endif

namespace facula {

enum class Distribution : int {
  Uniform,      // in [a, b)
  Normal,       // mean a, deviation b
  LogNormal,    // of a normal number's exponential
  Cauchy,       // median a, half width b
  Exponential,  // times a
  Geometric,    // a: the logarithm of the probability of a failure
  Bernoulli,    // base: the probability times 2^53
  Integer,      // all that the dtype holds
  Range,        // in [base, base + range)
};

// The generator's seed and the number of its call; of a captured kernel its words on the device are
// read instead, and `call` is counted from theirs.
struct RandomCall {
  uint64_t seed, call;
  const uint64_t* words;
};

constexpr int kDrawn = 4;  // elements of a thread: those that share blocks of Philox
struct SampleArguments {
  char* out;
  int64_t numel;
  RandomCall random;
  Distribution distribution;
  double a, b;
  int64_t base;
  uint64_t range;
  bool is_packed;
};

// A probability for each element.
struct ChanceArguments {
  char* out;
  const char* chances;
  int64_t numel;
  RandomCall random;
};

// y = x * scale where the mask is set, x * 0 elsewhere. With `draws` the mask is drawn first: set
// with a probability that is `chance` / 2^32.
struct DropoutArguments {
  const char* x;
  char* y;
  bool* mask;
  int64_t numel;
  RandomCall random;
  int64_t chance;
  double scale;
  bool draws, is_packed;
};

#ifdef __CUDACC_RTC__

struct Streams {
  uint64_t seed, call;
  FACULA_FN explicit Streams(const RandomCall& r)
      : seed(r.words ? r.words[0] : r.seed), call(r.words ? r.words[1] + r.call : r.call) {}
  FACULA_FN PhiloxStream of(int64_t i) const { return PhiloxStream(seed, call, i); }
  // The k-th block of the `group`-th four elements.
  FACULA_FN PhiloxBlock block(int64_t group, int k) const {
    return philox_4x32_10(seed, static_cast<uint64_t>(group) + (uint64_t(k) << 48), call);
  }
};

// f(group) for each four elements, shared out over the threads: one that has several keeps the keys
// of Philox's rounds.
template <class F>
FACULA_FN void for_groups(int64_t numel, F f) {
  int64_t n_threads = int64_t(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (int64_t group = thread_number(); group * kDrawn < numel; group += n_threads) f(group);
}

// The words of one of four elements, whose blocks are there.
struct LaneOfBlocks {
  const PhiloxBlock* blocks;
  int lane, n_taken = 0;
  FACULA_FN uint32_t random() { return blocks[n_taken++].words[lane]; }
  FACULA_FN uint64_t random64() {
    uint64_t high = random();
    return high << 32 | random();
  }
  FACULA_FN uint64_t shared64() {
    const PhiloxBlock& block = blocks[n_taken++];
    return uint64_t(block.words[lane & 2]) << 32 | block.words[lane | 1];
  }
  FACULA_FN bool is_odd() const { return lane % 2; }
};

// A thread has the elements that share blocks; sample(stream) gives one, of kBlocks blocks.
template <class T, int kBlocks, class Sample>
FACULA_FN void draw_each(const SampleArguments& a, Sample sample) {
  Streams streams(a.random);
  for_groups(a.numel, [&](int64_t group) {
    int64_t i = group * kDrawn;
    PhiloxBlock blocks[kBlocks];
#pragma unroll
    for (int k = 0; k < kBlocks; ++k) blocks[k] = streams.block(group, k);
    Pack<T, kDrawn> drawn;
#pragma unroll
    for (int j = 0; j < kDrawn; ++j) {
      LaneOfBlocks stream{blocks, j};
      drawn.values[j] = sample(stream);
    }
    T* out = reinterpret_cast<T*>(a.out) + i;
    if (a.is_packed && i + kDrawn <= a.numel) {
      *reinterpret_cast<Pack<T, kDrawn>*>(out) = drawn;
      return;
    }
#pragma unroll
    for (int j = 0; j < kDrawn; ++j)
      if (i + j < a.numel) out[j] = drawn.values[j];
  });
}

// Uniform and normal numbers, in the precision of T. A kernel of their own, of floats in 30
// registers to a thread: with the others, which need 82, two fifths of the threads would be at
// work.
template <class T>
FACULA_FN void draw_floats(const SampleArguments& a) {
  constexpr int kWords = std::is_same_v<T, double> ? 2 : 1;
  if (a.distribution == Distribution::Uniform) {
    Affine<T> affine(a.a, a.b);
    draw_each<T, kWords>(a, [&](auto& s) { return uniform_sample<T>(s, affine); });
  } else {
    draw_each<T, kWords>(a, [&](auto& s) { return philox_normal<T>(s, a.a, a.b); });
  }
}

template <class T>
FACULA_FN void draw_samples(const SampleArguments& a) {
  constexpr int kWhole = sizeof(T) == 8 ? 2 : 1;
  switch (a.distribution) {
    case Distribution::Geometric:
      if constexpr (!std::is_same_v<T, bool>)
        draw_each<T, 2>(
            a, [&](auto& s) { return from_trials<T>(::ceil(::log(uniform_double(s)) / a.a)); });
      return;
    case Distribution::Bernoulli:
      return draw_each<T, 2>(a,
                             [&](auto& s) { return is_below(s.random64(), a.base) ? T(1) : T(0); });
    case Distribution::Integer:
      return draw_each<T, kWhole>(a, [](auto& s) { return random_integer<T>(s); });
    case Distribution::Range:
      return draw_each<T, 2>(a, [&](auto& s) { return random_in_range<T>(s, a.base, a.range); });
    default:
      break;
  }
  if constexpr (is_floating_v<T>) {
    switch (a.distribution) {
      case Distribution::LogNormal:
        return draw_each<T, 4>(
            a, [&](auto& s) { return rounded<T>(::exp(fused(standard_normal(s), a.b, a.a))); });
      case Distribution::Cauchy:
        return draw_each<T, 2>(a, [&](auto& s) {
          return rounded<T>(fused(a.b, ::tan(kPi * (uniform_double(s) - 0.5)), a.a));
        });
      case Distribution::Exponential:
        return draw_each<T, 2>(
            a, [&](auto& s) { return rounded<T>(a.a * log_of_complement(s, uniform_double(s))); });
      default:
        break;
    }
  }
}

// Of four elements that share a block, kPack from `lane` on, which are read and written together.
template <class T, int kPack>
FACULA_FN void drop_out(const DropoutArguments& a, const Streams& streams, int64_t group,
                        int lane) {
  using W = Wide<T>;
  int64_t i = group * kDrawn + lane;
  // Read first: the memory works while the words are drawn.
  auto x = *reinterpret_cast<const Pack<T, kPack>*>(reinterpret_cast<const T*>(a.x) + i);
  Pack<bool, kPack> mask;
  if (a.draws) {
    PhiloxBlock block = streams.block(group, 0);
#pragma unroll
    for (int j = 0; j < kPack; ++j) mask.values[j] = int64_t(block.words[lane + j]) < a.chance;
    *reinterpret_cast<Pack<bool, kPack>*>(a.mask + i) = mask;
  } else {
    mask = *reinterpret_cast<const Pack<bool, kPack>*>(a.mask + i);
  }
  Pack<T, kPack> y;
#pragma unroll
  for (int j = 0; j < kPack; ++j)
    y.values[j] = T(W(x.values[j]) * (mask.values[j] ? static_cast<W>(a.scale) : W(0)));
  *reinterpret_cast<Pack<T, kPack>*>(reinterpret_cast<T*>(a.y) + i) = y;
}

template <class T>
FACULA_FN void dropout(const DropoutArguments& a) {
  Streams streams(a.random);
  for_groups(a.numel, [&](int64_t group) {
    int64_t i = group * kDrawn;
    if (a.is_packed && i + kDrawn <= a.numel) return drop_out<T, kDrawn>(a, streams, group, 0);
#pragma unroll
    for (int lane = 0; lane < kDrawn; ++lane)
      if (i + lane < a.numel) drop_out<T, 1>(a, streams, group, lane);
  });
}

template <class P, class T>
FACULA_FN void draw_chances(const ChanceArguments& a) {
  int64_t i = thread_number();
  if (i >= a.numel) return;
  PhiloxStream stream = Streams(a.random).of(i);
  Wide<P> chance = reinterpret_cast<const P*>(a.chances)[i];
  bool is_one;
  if constexpr (std::is_same_v<P, double>) {
    is_one = uniform_double(stream) < chance;
  } else {
    is_one = uniform_float(stream) < chance;
  }
  reinterpret_cast<T*>(a.out)[i] = is_one ? T(1) : T(0);
}

#endif

}  // namespace facula
