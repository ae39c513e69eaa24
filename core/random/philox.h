// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3; 2011):
// 128 random bits as a function of a 64-bit key and a 128-bit counter. Integer arithmetic only, so
// every device computes the same bits.
#pragma once
#ifndef __CUDACC_RTC__
#include <cstdint>
#endif

namespace facula {

struct PhiloxBlock {
  uint32_t words[4];
};

// All 64 bits of a product. NVRTC takes a multiplication of widened words for one of 64-bit
// numbers: with it a block takes 20 more additions of zero.
inline uint64_t wide_product(uint32_t a, uint32_t b) {
#ifdef __CUDACC_RTC__
  uint64_t product;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
#else
  return uint64_t{a} * b;
#endif
}

inline PhiloxBlock philox_4x32_10(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  uint32_t key0 = static_cast<uint32_t>(key);
  uint32_t key1 = static_cast<uint32_t>(key >> 32);
  uint32_t c0 = static_cast<uint32_t>(counter_low);
  uint32_t c1 = static_cast<uint32_t>(counter_low >> 32);
  uint32_t c2 = static_cast<uint32_t>(counter_high);
  uint32_t c3 = static_cast<uint32_t>(counter_high >> 32);
#ifdef __CUDACC_RTC__
#pragma unroll
#endif
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = wide_product(0xD2511F53, c0);
    uint64_t product1 = wide_product(0xCD9E8D57, c2);
    c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ key0;
    c1 = static_cast<uint32_t>(product1);
    c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ key1;
    c3 = static_cast<uint32_t>(product0);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return {{c0, c1, c2, c3}};
}

// The words that belong to one element of one call, in order. They depend on (seed, call, element)
// and on nothing else: not on the number of elements, on threads or on the device. Four neighbours
// share blocks: of each they have a word. So a thread that has all four computes as many blocks as
// one element has words. The counter holds the call in its upper half, element / 4 in the 48 low
// bits of its lower half, and above them the number of the block.
class PhiloxStream {
 public:
  PhiloxStream(uint64_t seed, uint64_t call, int64_t element)
      : seed_(seed),
        call_(call),
        counter_(static_cast<uint64_t>(element) / 4),
        lane_(static_cast<uint64_t>(element) % 4) {}

  uint32_t random() {
    PhiloxBlock block = philox_4x32_10(seed_, counter_, call_);
    counter_ += uint64_t{1} << 48;
    // Chosen, not indexed: what an index finds a GPU keeps in memory, not in registers.
    uint32_t low = lane_ % 2 ? block.words[1] : block.words[0];
    uint32_t high = lane_ % 2 ? block.words[3] : block.words[2];
    return lane_ < 2 ? low : high;
  }
  uint64_t random64() {
    uint64_t high = random();
    return high << 32 | random();
  }

 private:
  uint64_t seed_;
  uint64_t call_;
  uint64_t counter_;
  uint64_t lane_;
};

}  // namespace facula
