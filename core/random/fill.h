// What the sampler files share: one element's draws from either kind of generator, and the loop.
#pragma once
#include <cmath>
#include <cstdint>
#include <mutex>

#include "base/parallel.h"
#include "random/generator.h"
#include "random/samples.h"

// Note [Two copies of a loop]
// Loops with fused multiply-adds are compiled twice on x86-64: for machines that have the
// instruction, and for others, where each is a call into the C library. The results are the same.
#if defined(__x86_64__)
#define FACULA_FMA_TARGET __attribute__((target("avx2,fma,f16c")))
#else
#define FACULA_FMA_TARGET
#endif

namespace facula {

inline bool has_fma() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("f16c");
  return has;
#else
  return false;
#endif
}

// Box-Muller gives two numbers, and PyTorch's generator keeps the second for the next request.
inline double standard_normal(Generator& generator) {
  if (generator.next_double_normal) {
    double kept = *generator.next_double_normal;
    generator.next_double_normal.reset();
    return kept;
  }
  double u1 = uniform_double(generator);
  double u2 = uniform_double(generator);
  double radius = std::sqrt(-2.0 * std::log1p(-u2));
  double theta = 2.0 * kPi * u1;
  generator.next_double_normal = radius * std::sin(theta);
  return radius * std::cos(theta);
}
inline double log_of_complement(Generator&, double u) { return std::log1p(-u); }

// The words that a PhiloxStream gives, for one element after the other: the blocks that neighbours
// share are computed once.
class PhiloxStreams {
 public:
  PhiloxStreams(uint64_t seed, uint64_t call) : seed_(seed), call_(call) {}

  void begin(int64_t element) {
    if (element / 4 != four_) four_ = element / 4, n_known_ = 0;
    lane_ = element % 4;
    nth_ = 0;
  }
  uint32_t random() { return next().words[lane_]; }
  uint64_t random64() {
    uint64_t high = random();
    return high << 32 | random();
  }
  // Of the next block the words of an even element and the one behind it, for both.
  uint64_t shared64() {
    PhiloxBlock block = next();
    return uint64_t{block.words[lane_ & 2]} << 32 | block.words[lane_ | 1];
  }
  bool is_odd() const { return lane_ % 2; }

 private:
  PhiloxBlock next() {
    if (nth_ < n_known_) return blocks_[nth_++];
    PhiloxBlock block = philox_4x32_10(
        seed_, static_cast<uint64_t>(four_) + (static_cast<uint64_t>(nth_) << 48), call_);
    if (nth_ < kKept) blocks_[n_known_++] = block;
    ++nth_;
    return block;
  }

  static constexpr int64_t kKept = 4;  // a logarithmic normal takes so many; few samples take more
  uint64_t seed_, call_;
  int64_t four_ = -1, lane_ = 0, nth_ = 0, n_known_ = 0;
  PhiloxBlock blocks_[kKept];
};

template <class T, class Sample>
FACULA_ALWAYS_INLINE void fill_philox(T* out, int64_t begin, int64_t end, uint64_t seed,
                                      uint64_t call, const Sample& sample) {
  PhiloxStreams streams(seed, call);
  for (int64_t i = begin; i < end; ++i) {
    streams.begin(i);
    out[i] = sample(streams, i);
  }
}
template <class T, class Sample>
FACULA_FMA_TARGET void fill_philox_fma(T* out, int64_t begin, int64_t end, uint64_t seed,
                                       uint64_t call, const Sample& sample) {
  fill_philox(out, begin, end, seed, call, sample);
}

// out[i] = sample(source, i) for every i. A Mersenne Twister has one order, that of the elements;
// Philox elements are independent and go to the thread pool.
template <class T, class Sample>
void fill(T* out, int64_t n, Generator& generator, const Sample& sample) {
  if (n == 0) return;
  std::unique_lock<std::mutex> lock(generator.mutex());
  if (generator.kind() == GeneratorKind::Mt19937) {
    for (int64_t i = 0; i < n; ++i) out[i] = sample(generator, i);
    return;
  }
  uint64_t seed = generator.philox_seed();
  uint64_t call = generator.next_call();
  // Not held over parallel_for, which may wait for the interpreter lock while the thread that has
  // that one waits for this.
  lock.unlock();
  auto fill_range = has_fma() ? fill_philox_fma<T, Sample> : fill_philox<T, Sample>;
  parallel_for(n, 8192, [&](int64_t begin, int64_t end) {
    fill_range(out, begin, end, seed, call, sample);
  });
}

}  // namespace facula
