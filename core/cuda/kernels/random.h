// Samples of Philox streams: a function of seed, call and element, the same as on the CPU.
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

struct SampleArguments {
  char* out;
  int64_t numel;
  RandomCall random;
  Distribution distribution;
  double a, b;
  int64_t base;
  uint64_t range;
};

// A probability for each element.
struct ChanceArguments {
  char* out;
  const char* chances;
  int64_t numel;
  RandomCall random;
};

// y = x * scale where the mask is set, x * 0 elsewhere. With `draws` the mask is drawn first: set
// with a probability that is `chance` / 2^53.
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
constexpr int kDropoutPack = 4;  // elements of a thread

#ifdef __CUDACC_RTC__

FACULA_FN PhiloxStream stream_of(const RandomCall& r, int64_t i) {
  if (r.words) return PhiloxStream(r.words[0], r.words[1] + r.call, i);
  return PhiloxStream(r.seed, r.call, i);
}

template <class T>
FACULA_FN T sample_of(const SampleArguments& a, PhiloxStream& stream) {
  switch (a.distribution) {
    case Distribution::Geometric:
      if constexpr (!std::is_same_v<T, bool>)
        return from_trials<T>(::ceil(::log(uniform_double(stream)) / a.a));
      break;
    case Distribution::Bernoulli:
      return is_below(stream.random64(), a.base) ? T(1) : T(0);
    case Distribution::Integer:
      return random_integer<T>(stream);
    case Distribution::Range:
      return random_in_range<T>(stream, a.base, a.range);
    default:
      break;
  }
  if constexpr (is_floating_v<T>) {
    switch (a.distribution) {
      case Distribution::Uniform:
        return uniform_sample<T>(stream, Affine<T>(a.a, a.b));
      case Distribution::Normal:
        return philox_normal<T>(stream, a.a, a.b);
      case Distribution::LogNormal:
        return rounded<T>(::exp(fused(standard_normal(stream), a.b, a.a)));
      case Distribution::Cauchy:
        return rounded<T>(fused(a.b, ::tan(kPi * (uniform_double(stream) - 0.5)), a.a));
      case Distribution::Exponential:
        return rounded<T>(a.a * log_of_complement(stream, uniform_double(stream)));
      default:
        break;
    }
  }
  return T(0);
}

template <class T>
FACULA_FN void draw_samples(const SampleArguments& a) {
  int64_t i = thread_number();
  if (i >= a.numel) return;
  PhiloxStream stream = stream_of(a.random, i);
  reinterpret_cast<T*>(a.out)[i] = sample_of<T>(a, stream);
}

// Neighbours [i, i + kPack), which are read and written together.
template <class T, int kPack>
FACULA_FN void drop_out(const DropoutArguments& a, int64_t i) {
  using W = Wide<T>;
  Pack<bool, kPack> mask;
  if (a.draws) {
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      PhiloxStream stream = stream_of(a.random, i + j);
      mask.values[j] = is_below(stream.random64(), a.chance);
    }
    *reinterpret_cast<Pack<bool, kPack>*>(a.mask + i) = mask;
  } else {
    mask = *reinterpret_cast<const Pack<bool, kPack>*>(a.mask + i);
  }
  auto x = *reinterpret_cast<const Pack<T, kPack>*>(reinterpret_cast<const T*>(a.x) + i);
  Pack<T, kPack> y;
#pragma unroll
  for (int j = 0; j < kPack; ++j)
    y.values[j] = T(W(x.values[j]) * (mask.values[j] ? static_cast<W>(a.scale) : W(0)));
  *reinterpret_cast<Pack<T, kPack>*>(reinterpret_cast<T*>(a.y) + i) = y;
}

template <class T>
FACULA_FN void dropout(const DropoutArguments& a) {
  int64_t i = thread_number() * kDropoutPack;
  if (a.is_packed && i + kDropoutPack <= a.numel) return drop_out<T, kDropoutPack>(a, i);
  for (int64_t end = i + kDropoutPack; i < end && i < a.numel; ++i) drop_out<T, 1>(a, i);
}

template <class P, class T>
FACULA_FN void draw_chances(const ChanceArguments& a) {
  int64_t i = thread_number();
  if (i >= a.numel) return;
  PhiloxStream stream = stream_of(a.random, i);
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
