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

struct SampleArguments {
  char* out;
  int64_t numel;
  uint64_t seed, call;
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
  uint64_t seed, call;
};

#ifdef __CUDACC_RTC__

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
  PhiloxStream stream(a.seed, a.call, i);
  reinterpret_cast<T*>(a.out)[i] = sample_of<T>(a, stream);
}

template <class P, class T>
FACULA_FN void draw_chances(const ChanceArguments& a) {
  int64_t i = thread_number();
  if (i >= a.numel) return;
  PhiloxStream stream(a.seed, a.call, i);
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
