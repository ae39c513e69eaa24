// Note [Fused like PyTorch]
// PyTorch compiles these kernels once for plain x86-64 and once for AVX2, where the compiler turns
// a * b + c into one fused operation; machines with AVX-512 run the AVX2 form. The two forms differ
// in last bits, and float blocks of normals even use other formulas. Facula gives the AVX2 numbers
// on every machine: `fused` stands where that form fuses, and this file must be compiled with
// -ffp-contract=off so that nothing else is.
#include "random/sampling.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/dtype.h"
#include "base/half.h"
#include "random/fill.h"

namespace facula {

namespace {

// Words of the generator to uniform numbers in [0, 1).
FACULA_ALWAYS_INLINE void words_to_uniform(const uint32_t* words, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<float>(static_cast<int32_t>(words[i] & 0xFFFFFFu)) * 0x1p-24f;
  }
}
FACULA_ALWAYS_INLINE void words_to_uniform(const uint32_t* words, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    uint64_t word = uint64_t{words[2 * i]} << 32 | words[2 * i + 1];
    out[i] = static_cast<double>(static_cast<int64_t>(word & 0x1FFFFFFFFFFFFFu)) * 0x1p-53;
  }
}

// Box-Muller on blocks of 16: the first 8 numbers of a block give the radii, the other 8 the
// angles.
FACULA_ALWAYS_INLINE void box_muller(float* data, int64_t n, float mean, float std) {
  for (float* block = data; block < data + n; block += 16) {
    float u1[8], u2[8];  // apart from their results, which lets the compiler take all 8 at once
    for (int j = 0; j < 8; ++j) u1[j] = block[j], u2[j] = block[j + 8];
    for (int j = 0; j < 8; ++j) {
      float radius = __builtin_sqrtf(-2.0f * portable_log(1.0f - u1[j]));
      SinCos<float> angle = portable_sincos(static_cast<float>(2.0 * kPi) * u2[j]);
      block[j] = fused(radius * angle.cos, std, mean);
      block[j + 8] = fused(radius * angle.sin, std, mean);
    }
  }
}
FACULA_ALWAYS_INLINE void box_muller(double* data, int64_t n, double mean, double std) {
  for (double* block = data; block < data + n; block += 16) {
    for (int j = 0; j < 8; ++j) {
      double radius = std::sqrt(-2.0 * std::log(1.0 - block[j]));
      double theta = 2.0 * kPi * block[j + 8];
      block[j] = fused(radius * std::cos(theta), std, mean);
      block[j + 8] = fused(radius * std::sin(theta), std, mean);
    }
  }
}

constexpr int64_t kChunk = 1024;  // a multiple of 16; words and numbers of a chunk stay in L1

template <class T>
void round_chunk(const T* from, T* to, int64_t n) {
  std::copy_n(from, n, to);
}
void round_chunk(const float* from, BFloat16* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}
#if defined(__x86_64__)
FACULA_FMA_TARGET void round_chunk_fma(const float* from, Half* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < n; ++i) to[i] = from[i];
}
#endif
// The compiler has no vectors of halves, and this file not the instruction.
void round_chunk(const float* from, Half* to, int64_t n) {
#if defined(__x86_64__)
  if (has_fma()) return round_chunk_fma(from, to, n);
#endif
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

template <class T>
FACULA_ALWAYS_INLINE void uniform_chunk(const uint32_t* words, T* out, int64_t n,
                                        const Affine<T>& affine) {
  Compute<T> unit[kChunk];
  words_to_uniform(words, unit, n);
  if constexpr (std::is_same_v<T, Half>) {
    for (int64_t i = 0; i < n; ++i) unit[i] = affine.exact(unit[i]);
    round_chunk(unit, out, n);
    for (int64_t i = 0; i < n; ++i) out[i] = affine.included(out[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = affine(unit[i]);
  }
}

template <class T>
FACULA_ALWAYS_INLINE void normal_chunk(const uint32_t* words, T* out, int64_t n, Compute<T> mean,
                                       Compute<T> std) {
  Compute<T> numbers[kChunk];
  words_to_uniform(words, numbers, n);
  box_muller(numbers, n, mean, std);
  round_chunk(numbers, out, n);
}

// See Note [Two copies of a loop].
template <class T>
FACULA_FMA_TARGET void uniform_chunk_fma(const uint32_t* words, T* out, int64_t n,
                                         const Affine<T>& affine) {
  uniform_chunk(words, out, n, affine);
}
template <class T>
FACULA_FMA_TARGET void normal_chunk_fma(const uint32_t* words, T* out, int64_t n, Compute<T> mean,
                                        Compute<T> std) {
  normal_chunk(words, out, n, mean, std);
}

// Gives `transform(words, first, n)` the words of n numbers of type C at a time, for [0,
// n_numbers).
template <class C, class Transform>
void for_chunks_of_words(Generator& generator, int64_t n_numbers, const Transform& transform) {
  constexpr int64_t kWordsPerNumber = sizeof(C) / sizeof(uint32_t);
  uint32_t words[kChunk * kWordsPerNumber];
  for (int64_t first = 0; first < n_numbers; first += kChunk) {
    int64_t n = std::min(kChunk, n_numbers - first);
    generator.engine().next_block(words, n * kWordsPerNumber);
    transform(words, first, n);
  }
}

// A sample's source: words that are drawn.
struct WordSource {
  const uint32_t* next;
  uint32_t random() { return *next++; }
  uint64_t random64() {
    uint64_t high = random();
    return high << 32 | random();
  }
};

// As fill(), of samples that are rounded to T, and take the bits of one number of type Bits each.
template <class Bits, class T, class Sample>
void fill_rounded(T* out, int64_t n, Generator& generator, const Sample& sample) {
  if (generator.kind() == GeneratorKind::Philox) {
    return fill(out, n, generator,
                [&](auto& source, int64_t i) { return static_cast<T>(sample(source, i)); });
  }
  std::lock_guard<std::mutex> lock(generator.mutex());
  for_chunks_of_words<Bits>(generator, n, [&](const uint32_t* words, int64_t first, int64_t k) {
    Wide<T> numbers[kChunk];
    for (int64_t i = 0; i < k; ++i) {
      WordSource source{words + i * (sizeof(Bits) / sizeof(uint32_t))};
      numbers[i] = sample(source, first + i);
    }
    round_chunk(numbers, out + first, k);
  });
}

// n >= 16. The numbers of an incomplete last block are drawn anew, together with those before them
// that make it complete.
template <class T>
void fill_normal_blocks(T* out, int64_t n, double mean, double std, Generator& generator) {
  using C = Compute<T>;
  std::lock_guard<std::mutex> lock(generator.mutex());
  C m = static_cast<C>(mean);
  C s = static_cast<C>(std);
  int64_t n_in_blocks = n / 16 * 16;
  auto normal = has_fma() ? normal_chunk_fma<T> : normal_chunk<T>;
  for_chunks_of_words<C>(generator, n_in_blocks,
                         [&](const uint32_t* words, int64_t first, int64_t k) {
                           normal(words, out + first, k, m, s);
                         });
  if (n == n_in_blocks) return;
  // PyTorch draws the whole of a float or double tensor before it transforms the first block; of a
  // 16-bit one it draws complete blocks only.
  if (std::is_same_v<T, C>) {
    for_chunks_of_words<C>(generator, n - n_in_blocks, [](const uint32_t*, int64_t, int64_t) {});
  }
  for_chunks_of_words<C>(generator, 16, [&](const uint32_t* words, int64_t, int64_t k) {
    normal(words, out + n - 16, k, m, s);
  });
}

// Keys, not swaps: a GPU can sort, but cannot shuffle in order.
template <class T>
void fill_permutation_philox(T* out, int64_t n, Generator& generator) {
  std::vector<uint64_t> keys(n);
  fill(keys.data(), n, generator, [](auto& source, int64_t) { return source.random64(); });
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return keys[a] < keys[b]; });
  for (int64_t i = 0; i < n; ++i) out[i] = from_int64<T>(order[i]);
}

}  // namespace

template <class T>
void fill_uniform(T* out, int64_t n, double from, double to, Generator& generator) {
  Affine<T> affine(from, to);
  if (generator.kind() == GeneratorKind::Philox) {
    return fill(out, n, generator,
                [&](auto& source, int64_t) { return uniform_sample(source, affine); });
  }
  auto uniform = has_fma() ? uniform_chunk_fma<T> : uniform_chunk<T>;
  std::lock_guard<std::mutex> lock(generator.mutex());
  for_chunks_of_words<Compute<T>>(generator, n,
                                  [&](const uint32_t* words, int64_t first, int64_t k) {
                                    uniform(words, out + first, k, affine);
                                  });
}

template <class T>
void fill_normal(T* out, int64_t n, double mean, double std, bool is_contiguous,
                 Generator& generator) {
  bool is_philox = generator.kind() == GeneratorKind::Philox;
  if (!is_philox && is_contiguous && n >= 16) {
    return fill_normal_blocks(out, n, mean, std, generator);
  }
  // Inlined by force: a call would leave the copy of the loop that has the fused instruction.
  auto sample = [=](auto& source, int64_t) __attribute__((always_inline)) {
    if constexpr (std::is_same_v<decltype(source), PhiloxStreams&>) {
      return philox_normal<T>(source, mean, std);
    } else {
      return rounded<T>(fused(standard_normal(source), std, mean));
    }
  };
  fill(out, n, generator, sample);
}

template <class T>
void fill_log_normal(T* out, int64_t n, double mean, double std, Generator& generator) {
  fill(out, n, generator, [=](auto& source, int64_t) {
    return rounded<T>(std::exp(fused(standard_normal(source), std, mean)));
  });
}

template <class T>
void fill_cauchy(T* out, int64_t n, double median, double sigma, Generator& generator) {
  fill(out, n, generator, [=](auto& source, int64_t) {
    double tangent = std::tan(kPi * (uniform_double(source) - 0.5));
    return rounded<T>(fused(sigma, tangent, median));
  });
}

template <class T>
void fill_exponential(T* out, int64_t n, double rate, Generator& generator) {
  double scale = -1.0 / rate;
  fill(out, n, generator, [=](auto& source, int64_t) {
    return rounded<T>(scale * log_of_complement(source, uniform_double(source)));
  });
}

template <class T>
void fill_geometric(T* out, int64_t n, double p, Generator& generator) {
  double log_failure = std::log1p(-p);
  fill(out, n, generator, [=](auto& source, int64_t) {
    return from_trials<T>(std::ceil(std::log(uniform_double(source)) / log_failure));
  });
}

template <class T>
void fill_bernoulli(T* out, int64_t n, double p, Generator& generator) {
  const int64_t limit = static_cast<int64_t>(std::ceil(p * 0x1p53));
  if (generator.kind() == GeneratorKind::Philox) {
    return fill(out, n, generator, [=](auto& source, int64_t) {
      return is_below(source.random64(), limit) ? T(1) : T(0);
    });
  }
  const T one = T(1), zero = T(0);
  std::lock_guard<std::mutex> lock(generator.mutex());
  for_chunks_of_words<double>(generator, n, [&](const uint32_t* words, int64_t first, int64_t k) {
    for (int64_t i = 0; i < k; ++i) {
      bool is_one = is_below(uint64_t{words[2 * i]} << 32 | words[2 * i + 1], limit);
      out[first + i] = is_one ? one : zero;
    }
  });
}

template <class T, class P>
void fill_bernoulli(T* out, const P* p, int64_t n, Generator& generator) {
  using Bits = std::conditional_t<std::is_same_v<P, double>, uint64_t, uint32_t>;
  fill_rounded<Bits>(out, n, generator, [=](auto& source, int64_t i) {
    if constexpr (std::is_same_v<P, double>)
      return static_cast<Wide<T>>(uniform_double(source) < p[i]);
    else
      return static_cast<Wide<T>>(uniform_float(source) < p[i]);
  });
}

template <class T>
void fill_random(T* out, int64_t n, Generator& generator) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  fill_rounded<Bits>(out, n, generator,
                     [](auto& source, int64_t) { return random_integer<T, Wide<T>>(source); });
}

template <class T>
void fill_random_range(T* out, int64_t n, int64_t base, uint64_t range, Generator& generator) {
  if (is_wide_range(range) || generator.kind() == GeneratorKind::Philox) {
    return fill_rounded<uint64_t>(out, n, generator, [=](auto& source, int64_t) {
      return random_in_range<Wide<T>>(source, base, range);
    });
  }
  // The remainder of 32 bits by two products, which is exact, instead of a division: Lemire, Kaser
  // and Kurz, "Faster remainder by direct computation" (2019).
  const uint64_t inverse = std::numeric_limits<uint64_t>::max() / range + 1;
  fill_rounded<uint32_t>(out, n, generator, [=](auto& source, int64_t) {
    uint64_t fraction = inverse * source.random();
    auto offset = static_cast<int64_t>(static_cast<unsigned __int128>(fraction) * range >> 64);
    return from_int64<Wide<T>>(offset + base);
  });
}

template <class T>
void fill_permutation(T* out, int64_t n, Generator& generator) {
  if (generator.kind() == GeneratorKind::Philox) {
    return fill_permutation_philox(out, n, generator);
  }
  std::lock_guard<std::mutex> lock(generator.mutex());
  if (n < std::numeric_limits<uint32_t>::max() / 20) {
    for (int64_t i = 0; i < n; ++i) out[i] = from_int64<T>(i);
    // Some partners are drawn ahead, and their cache lines asked for: 1M numbers take 13 ms
    // instead of 23.
    constexpr int64_t kAhead = 64;
    int64_t partners[kAhead];
    for (int64_t first = 0; first < n - 1; first += kAhead) {
      int64_t n_drawn = std::min(kAhead, n - 1 - first);
      for (int64_t k = 0; k < n_drawn; ++k) {
        auto n_left = static_cast<uint32_t>(n - first - k);
        partners[k] = first + k + generator.random() % n_left;
        __builtin_prefetch(out + partners[k], 1);
      }
      for (int64_t k = 0; k < n_drawn; ++k) std::swap(out[first + k], out[partners[k]]);
    }
    return;
  }
  // A shuffle from the inside out; see random_in_range() for the 64 bits.
  for (int64_t i = 0; i < n; ++i) {
    int64_t other = static_cast<int64_t>(generator.random64() % static_cast<uint64_t>(i + 1));
    out[i] = out[other];
    out[other] = from_int64<T>(i);
  }
}

#define FLOATING(T)                                                            \
  template void fill_uniform<T>(T*, int64_t, double, double, Generator&);      \
  template void fill_normal<T>(T*, int64_t, double, double, bool, Generator&); \
  template void fill_log_normal<T>(T*, int64_t, double, double, Generator&);   \
  template void fill_cauchy<T>(T*, int64_t, double, double, Generator&);       \
  template void fill_exponential<T>(T*, int64_t, double, Generator&);
FLOATING(Half)
FLOATING(BFloat16)
FLOATING(float)
FLOATING(double)

#define NUMERIC(T)                                                  \
  template void fill_geometric<T>(T*, int64_t, double, Generator&); \
  template void fill_permutation<T>(T*, int64_t, Generator&);       \
  WITH_BOOL(T)
#define WITH_BOOL(T)                                                               \
  template void fill_bernoulli<T>(T*, int64_t, double, Generator&);                \
  template void fill_bernoulli<T, float>(T*, const float*, int64_t, Generator&);   \
  template void fill_bernoulli<T, double>(T*, const double*, int64_t, Generator&); \
  template void fill_random<T>(T*, int64_t, Generator&);                           \
  RANGED(T)
#define RANGED(T) template void fill_random_range<T>(T*, int64_t, int64_t, uint64_t, Generator&);
NUMERIC(Half)
NUMERIC(BFloat16)
NUMERIC(float)
NUMERIC(double)
NUMERIC(uint8_t)
NUMERIC(int8_t)
NUMERIC(int16_t)
NUMERIC(int32_t)
NUMERIC(int64_t)
WITH_BOOL(bool)

}  // namespace facula
