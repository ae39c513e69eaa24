#include "cpu/shape/range.h"

#include <cmath>

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

void integers(int64_t* to, int64_t begin, int64_t end, int64_t first, int64_t step) {
  uint64_t value = static_cast<uint64_t>(first) + static_cast<uint64_t>(begin) * step;
  for (int64_t i = 0; i < end - begin; ++i, value += step) to[i] = static_cast<int64_t>(value);
}

template <class T>
void from_first(T* to, int64_t begin, int64_t end, double first, double step) {
  fill(to, begin, end, 0, [=](double i) { return static_cast<T>(first + i * step); });
}

template <class T>
void around(T* to, int64_t begin, int64_t end, int64_t at, T origin, T step) {
  fill(to, begin, end, at, [=](double i) { return std::fma(static_cast<T>(i), step, origin); });
}

}  // namespace

extern const RangeTable range_table;
const RangeTable range_table = {integers, from_first<float>, from_first<double>, around<float>,
                                around<double>};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
