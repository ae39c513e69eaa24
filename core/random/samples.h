// One element's sample from its random words, compiled for CPU and CUDA alike.
#pragma once
#include "random/philox.h"
#include "random/sampling_math.h"
#ifndef __CUDACC_RTC__
#include <type_traits>

#include "base/dtype.h"
#endif

namespace facula {

constexpr double kPi = 3.14159265358979323846;

// Uniform in [0, 1): 24 bits of one word, 53 bits of two. Source: Generator, PhiloxStream or
// PhiloxStreams.
FACULA_ALWAYS_INLINE float uniform_of(uint32_t word) {
  return static_cast<float>(word & 0xFFFFFFu) * 0x1p-24f;
}
FACULA_ALWAYS_INLINE double uniform_of(uint64_t words) {
  return static_cast<double>(words & 0x1FFFFFFFFFFFFFu) * 0x1p-53;
}
template <class Source>
FACULA_ALWAYS_INLINE float uniform_float(Source& source) {
  return uniform_of(source.random());
}
template <class Source>
FACULA_ALWAYS_INLINE double uniform_double(Source& source) {
  return uniform_of(source.random64());
}

// Stream: not Generator. An element of a Philox call stands alone, so the second number of
// Box-Muller is not kept: a neighbour that has thrown another number of words away could not take
// it.
template <class Stream>
FACULA_ALWAYS_INLINE double standard_normal(Stream& stream) {
  double radius = __builtin_sqrt(-2.0 * portable_log(1.0 - uniform_double(stream)));
  return radius * portable_sincos_turns(uniform_double(stream)).cos;
}

// log(1 - u) for a uniform u, of which exponential numbers are made.
template <class Stream>
FACULA_ALWAYS_INLINE double log_of_complement(Stream&, double u) {
  return portable_log(1.0 - u);
}

// Half and BFloat16 are sampled in float and rounded once.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Bits of the integers that T holds without gaps.
template <class T>
constexpr int kDigits = std::is_same_v<T, Half>       ? 11
                        : std::is_same_v<T, BFloat16> ? 8
                        : std::is_same_v<T, float>    ? 24
                        : std::is_same_v<T, double>   ? 53
                                                      : 8 * sizeof(T) - std::is_signed_v<T>;

template <class T>
struct Affine {  // x -> from + x * (to - from); a result that rounds up to `to` becomes `from`
  Compute<T> from, width;
  T lowest, excluded;
  FACULA_ALWAYS_INLINE Affine(double from, double to)
      : from(static_cast<Compute<T>>(from)),
        width(static_cast<Compute<T>>(to) - static_cast<Compute<T>>(from)),
        lowest(static_cast<T>(static_cast<Compute<T>>(from))),
        excluded(static_cast<T>(static_cast<Compute<T>>(to))) {}
  FACULA_ALWAYS_INLINE T operator()(Compute<T> x) const {
    return included(static_cast<T>(exact(x)));
  }
  FACULA_ALWAYS_INLINE Compute<T> exact(Compute<T> x) const { return fused(x, width, from); }
  FACULA_ALWAYS_INLINE T included(T value) const {
    using Comparable = Compute<T>;
    return static_cast<Comparable>(value) == static_cast<Comparable>(excluded) ? lowest : value;
  }
};

template <class T, class Source>
FACULA_ALWAYS_INLINE T uniform_sample(Source& source, const Affine<T>& affine) {
  if constexpr (std::is_same_v<T, double>) return affine(uniform_double(source));
  return affine(uniform_float(source));
}

// One number of a Philox call, in float for all types but double: doubles are slow on many GPUs.
// Two neighbours have a radius and an angle together, of which they take cosine and sine: a thread
// that has both computes them once.
template <class T, class Stream>
FACULA_ALWAYS_INLINE T philox_normal(Stream& stream, double mean, double std) {
  if constexpr (std::is_same_v<T, double>) {
    double radius = __builtin_sqrt(-2.0 * portable_log(1.0 - uniform_of(stream.shared64())));
    SinCos<double> angle = portable_sincos_turns(uniform_of(stream.shared64()));
    return fused(radius * (stream.is_odd() ? angle.sin : angle.cos), std, mean);
  } else {
    uint64_t words = stream.shared64();
    float u = uniform_of(static_cast<uint32_t>(words >> 32));
    float radius = __builtin_sqrtf(-2.0f * portable_log(1.0f - u));
    SinCos<float> angle = portable_sincos_turns(static_cast<uint32_t>(words) & 0xFFFFFFu);
    return static_cast<T>(fused(radius * (stream.is_odd() ? angle.sin : angle.cos),
                                static_cast<float>(std), static_cast<float>(mean)));
  }
}

template <class T>
FACULA_ALWAYS_INLINE T rounded(double value) {
  return static_cast<T>(static_cast<Compute<T>>(value));
}

template <class T>
FACULA_ALWAYS_INLINE T from_int64(int64_t value) {
  if constexpr (is_reduced_float_v<T>) {
    return static_cast<T>(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// The number of trials; by way of int64, because C++ leaves open what a float too large for T
// becomes.
template <class T>
FACULA_ALWAYS_INLINE T from_trials(double n_trials) {
  if constexpr (is_floating_v<T>) {
    return rounded<T>(n_trials);
  } else {
    return static_cast<T>(n_trials < 0x1p63 ? static_cast<int64_t>(n_trials)
                                            : static_cast<int64_t>(0x8000000000000000u));
  }
}

// u < p for u = k / 2^53, decided on the integers: limit is p 2^53, rounded up.
FACULA_ALWAYS_INLINE bool is_below(uint64_t word, int64_t limit) {
  return static_cast<int64_t>(word & 0x1FFFFFFFFFFFFFu) < limit;
}

// In [0, max], or [0, 2^digits] for floating-point types. Of those, Result may be a wider one.
template <class T, class Result = T, class Source>
FACULA_ALWAYS_INLINE Result random_integer(Source& source) {
  if constexpr (std::is_same_v<T, bool>) {
    return source.random() & 1;
  } else if constexpr (std::is_same_v<T, double>) {
    return static_cast<T>(source.random64() % ((uint64_t{1} << kDigits<T>)+1));
  } else if constexpr (is_floating_v<T>) {
    return static_cast<Result>(static_cast<float>(source.random() % ((1u << kDigits<T>)+1)));
  } else {
    constexpr uint64_t kRange = uint64_t{1} << kDigits<T>;
    return static_cast<T>((sizeof(T) == 8 ? source.random64() : source.random()) % kRange);
  }
}

// From 2^28 values on one word is not enough: its remainders would be visibly uneven. 0 means 2^64.
FACULA_ALWAYS_INLINE bool is_wide_range(uint64_t range) {
  return range == 0 || range >= uint64_t{1} << 28;
}

// In [base, base + range).
template <class T, class Source>
FACULA_ALWAYS_INLINE T random_in_range(Source& source, int64_t base, uint64_t range) {
  uint64_t bits = is_wide_range(range) ? source.random64() : source.random();
  uint64_t offset = range == 0 ? bits : bits % range;
  return from_int64<T>(static_cast<int64_t>(offset + static_cast<uint64_t>(base)));
}

}  // namespace facula
