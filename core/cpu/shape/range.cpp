#include "cpu/shape/range.h"

#include <algorithm>
#include <cmath>

#include "cpu/loops.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// f(i) for each i, which is counted in 32 bits and added in double: no instruction of AVX2 makes
// doubles of a vector of 64-bit integers.
template <class T, class F>
void fill(T* to, int64_t begin, int64_t end, int64_t at, F f) {
  auto first = static_cast<double>(begin - at);
  auto n = static_cast<int32_t>(end - begin);
  for (int32_t i = 0; i < n; ++i) to[i] = f(first + i);
}

template <class T>
void integers(void* to, int64_t begin, int64_t end, int64_t first, int64_t step) {
  auto value = static_cast<T>(static_cast<uint64_t>(first) + static_cast<uint64_t>(begin) * step);
  auto by = static_cast<T>(step);
  for (int64_t i = 0; i < end - begin; ++i, value += by) static_cast<T*>(to)[i] = value;
}

template <class T>
void from_first(T* to, int64_t begin, int64_t end, double first, double step) {
  if constexpr (is_reduced_float_v<T>) {
    float block[kBlock];
    for (; begin < end; begin += kBlock, to += kBlock) {
      int64_t n = std::min(end - begin, kBlock);
      from_first(block, begin, begin + n, first, step);
      scatter<T>(reinterpret_cast<char*>(to), sizeof(T), block, n);
    }
  } else {
    fill(to, begin, end, 0, [=](double i) { return static_cast<T>(first + i * step); });
  }
}

template <class T>
void around(T* to, int64_t begin, int64_t end, int64_t at, T origin, T step) {
  fill(to, begin, end, at, [=](double i) { return std::fma(static_cast<T>(i), step, origin); });
}

template <class T>
void narrow_around(T* to, int64_t begin, int64_t end, int64_t at, float origin, float step) {
  float block[kBlock];
  for (; begin < end; begin += kBlock, to += kBlock) {
    int64_t n = std::min(end - begin, kBlock);
    char* rounded = reinterpret_cast<char*>(to);
    fill(block, begin, begin + n, at, [=](double i) { return static_cast<float>(i) * step; });
    scatter<T>(rounded, sizeof(T), block, n);
    gather<T>(block, rounded, sizeof(T), n);
    for (int64_t i = 0; i < n; ++i) block[i] += origin;
    scatter<T>(rounded, sizeof(T), block, n);
  }
}

}  // namespace

extern const RangeTable range_table;
const RangeTable range_table = {
    {integers<uint8_t>, integers<uint16_t>, integers<uint32_t>, integers<uint64_t>},
    from_first<float>,
    from_first<double>,
    from_first<Half>,
    from_first<BFloat16>,
    around<float>,
    around<double>,
    narrow_around<Half>,
    narrow_around<BFloat16>};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
