#include "cpu/shape/copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cpu/row.h"
#include "cpu/shape/copy_line.h"
#include "cpu/transpose.h"
#include "cpu/vec_lanes.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// Planes go by value: bytes that are written could be those of a plane elsewhere, for all that the
// compiler knows, and it would make no vectors of the loops.

// Rows without gaps, in steps that are chosen once for all of them.
void copy_dense_rows(Plane p, int64_t nbytes) {
  constexpr int64_t kLong = 512;
  if (nbytes > kLong) {
    for (int64_t row = 0; row < p.n_rows; ++row)
      copy_long(p.to + row * p.to_row, p.from + row * p.from_row, nbytes);
  } else if (nbytes > 0) {
    with_step(nbytes, [p, nbytes](auto step) {
      for (int64_t row = 0; row < p.n_rows; ++row)
        copy_by<step>(p.to + row * p.to_row, p.from + row * p.from_row, nbytes);
    });
  }
}

// Rows of one element again and again; the last vector overlaps the one before it.
template <class T>
void copy_repeated(Plane p) {
  constexpr int64_t lanes = kVecBytes / static_cast<int64_t>(sizeof(T));
  for (int64_t row = 0; row < p.n_rows; ++row) {
    T* to = reinterpret_cast<T*>(p.to + row * p.to_row);
    T element = *reinterpret_cast<const T*>(p.from + row * p.from_row);
    if constexpr (std::is_integral_v<T>) {
      if (p.n >= lanes) {
        Native<T> v = element - Native<T>{};
        for (int64_t i = 0; i < p.n - lanes; i += lanes) std::memcpy(to + i, &v, kVecBytes);
        std::memcpy(to + p.n - lanes, &v, kVecBytes);
        continue;
      }
    }
    for (int64_t i = 0; i < p.n; ++i) to[i] = element;
  }
}

// Rows from elements that are kGap apart, in steps of which the compiler makes shuffles; but not of
// all steps of two, and poor ones of those backwards.
template <class T, int kGap>
void copy_spaced_rows(Plane p) {
  for (int64_t row = 0; row < p.n_rows; ++row) {
    T* to = reinterpret_cast<T*>(p.to + row * p.to_row);
    const T* from = reinterpret_cast<const T*>(p.from + row * p.from_row);
    int64_t i = 0;
    if constexpr (std::abs(kGap) == 2 && (sizeof(T) == 4 || sizeof(T) == 8)) {
      using F = std::conditional_t<sizeof(T) == 4, float, double>;
      constexpr int L = Vec<F>::kLanes, first = kGap < 0 ? 2 * L - 1 : 0;
      // The last two vectors would reach past the last element.
      for (; i + L < p.n; i += L) {
        const F* lanes = reinterpret_cast<const F*>(from + kGap * i) - first;
        take_lanes<first, kGap>(Vec<F>::load(lanes), Vec<F>::load(lanes + L), LaneNumbers<F>())
            .store(reinterpret_cast<F*>(to + i));
      }
    }
#pragma GCC ivdep
    for (; i < p.n; ++i) to[i] = from[kGap * i];
  }
}

#if defined(FACULA_AVX512)
// Lanes kFirst and after it of v, each of them twice.
template <int kFirst, class T, int... kLane>
FACULA_FN Native<T> doubled_lanes(Native<T> v, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(v, v, (kFirst + kLane / 2)...);
}
// What lies between is not written, not even as it was: it may be another thread's.
template <class T>
FACULA_FN void store_evens(T* to, Native<T> v) {
  auto bits = reinterpret_cast<__m512i>(v);
  if constexpr (sizeof(T) == 2) _mm512_mask_storeu_epi16(to, 0x55555555, bits);
  if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(to, 0x5555, bits);
  if constexpr (sizeof(T) == 8) _mm512_mask_storeu_epi64(to, 0x55, bits);
}

// Rows to every second place, from elements that are kGap apart, one or two.
template <class T, int kGap>
void copy_to_every_second(Plane p) {
  constexpr int L = kVecBytes / sizeof(T), step = L / kGap;
  constexpr auto lanes = std::make_integer_sequence<int, L>();
  for (int64_t row = 0; row < p.n_rows; ++row) {
    T* to = reinterpret_cast<T*>(p.to + row * p.to_row);
    const T* from = reinterpret_cast<const T*>(p.from + row * p.from_row);
    int64_t i = 0;
    // With gaps, the last vector would be read past the last element.
    for (; i + step < p.n; i += step) {
      Native<T> v;
      std::memcpy(&v, from + kGap * i, sizeof(v));
      if constexpr (kGap == 1) {
        store_evens(to + 2 * i, doubled_lanes<0, T>(v, lanes));
        store_evens(to + 2 * i + L, doubled_lanes<L / 2, T>(v, lanes));
      } else {
        store_evens(to + 2 * i, v);
      }
    }
    for (; i < p.n; ++i) to[2 * i] = from[kGap * i];
  }
}
#endif

// n elements in the lanes of a vector and back; F is only what carries the bits. Elements of
// 16 bits are the lower halves of lanes of float.
template <class F, class T>
FACULA_FN Vec<F> load_bits(const T* from, int64_t n) {
  if constexpr (sizeof(T) == sizeof(F)) {
    return load_lanes<Vec<F>>(reinterpret_cast<const F*>(from), n);
  } else {
    Native<T, kVecBytes / sizeof(F) * sizeof(T)> bits = {};
    n == Vec<F>::kLanes ? std::memcpy(&bits, from, sizeof(bits))
                        : std::memcpy(&bits, from, n * sizeof(T));
    return bit_cast<F>(Vec<uint32_t>(__builtin_convertvector(bits, Native<uint32_t>)));
  }
}
template <class F, class T>
FACULA_FN void store_bits(Vec<F> v, T* to, int64_t n) {
  if constexpr (sizeof(T) == sizeof(F)) {
    store_lanes(v, reinterpret_cast<F*>(to), n);
  } else {
    using Bits = Native<T, kVecBytes / sizeof(F) * sizeof(T)>;
    Bits bits = __builtin_convertvector(bit_cast<uint32_t>(v).v, Bits);
    n == Vec<F>::kLanes ? std::memcpy(to, &bits, sizeof(bits))
                        : std::memcpy(to, &bits, n * sizeof(T));
  }
}

// Without gaps in `to` along a row and in `from` across them: squares are turned over in registers.
template <class F, class T>
void copy_transposed(Plane p) {
  constexpr int64_t side = Vec<F>::kLanes;
  for (int64_t row = 0; row < p.n_rows; row += side) {
    int64_t n_rows = std::min(side, p.n_rows - row);
    for (int64_t i = 0; i < p.n; i += side) {
      int64_t n = std::min(side, p.n - i);
      Vec<F> square[side];
      for (int64_t j = 0; j < side; ++j) {
        auto* from = reinterpret_cast<const T*>(p.from + (i + j) * p.from_step) + row;
        square[j] = j < n ? load_bits<F>(from, n_rows) : Vec<F>(F(0));
      }
      transpose(square);
      for (int64_t j = 0; j < n_rows; ++j)
        store_bits(square[j], reinterpret_cast<T*>(p.to + (row + j) * p.to_row) + i, n);
    }
  }
}

// The same of bytes, squares of 16 at a time: each round puts the rows of the upper and of the
// lower half in turns, byte by byte.
template <int... kByte>
FACULA_FN Native<uint8_t, 16> bytes_in_turns(Native<uint8_t, 16> a, Native<uint8_t, 16> b,
                                             int first, std::integer_sequence<int, kByte...>) {
  return first == 0 ? __builtin_shufflevector(a, b, (kByte / 2 + kByte % 2 * 16)...)
                    : __builtin_shufflevector(a, b, (8 + kByte / 2 + kByte % 2 * 16)...);
}
void copy_transposed_bytes(Plane p) {
  constexpr int64_t side = 16;
  constexpr auto bytes = std::make_integer_sequence<int, side>();
  for (int64_t row = 0; row < p.n_rows; row += side) {
    int64_t n_rows = std::min(side, p.n_rows - row);
    for (int64_t i = 0; i < p.n; i += side) {
      int64_t n = std::min(side, p.n - i);
      Native<uint8_t, side> square[side] = {}, turned[side];
      for (int64_t j = 0; j < n; ++j) {
        const char* from = p.from + (i + j) * p.from_step + row;
        n_rows == side ? std::memcpy(&square[j], from, side)
                       : std::memcpy(&square[j], from, n_rows);
      }
      for (int round = 0; round < 4; ++round) {
        for (int j = 0; j < side / 2; ++j) {
          turned[2 * j] = bytes_in_turns(square[j], square[j + side / 2], 0, bytes);
          turned[2 * j + 1] = bytes_in_turns(square[j], square[j + side / 2], 1, bytes);
        }
        std::copy_n(turned, side, square);
      }
      for (int64_t j = 0; j < n_rows; ++j) {
        char* to = p.to + (row + j) * p.to_row + i;
        n == side ? std::memcpy(to, &square[j], side) : std::memcpy(to, &square[j], n);
      }
    }
  }
}

// C planes into pixels of C elements, or back: loops of which the compiler makes shuffles.
template <class T, int C>
void copy_to_pixels(Plane p) {
  T* to = reinterpret_cast<T*>(p.to);
  const T* from[C];
  for (int c = 0; c < C; ++c) from[c] = reinterpret_cast<const T*>(p.from + c * p.from_step);
#pragma GCC ivdep
  for (int64_t i = 0; i < p.n_rows; ++i)
    for (int c = 0; c < C; ++c) to[C * i + c] = from[c][i];
}
template <class T, int C>
void copy_from_pixels(Plane p) {
  T* to[C];
  for (int c = 0; c < C; ++c) to[c] = reinterpret_cast<T*>(p.to + c * p.to_row);
  const T* from = reinterpret_cast<const T*>(p.from);
#pragma GCC ivdep
  for (int64_t i = 0; i < p.n; ++i)
    for (int c = 0; c < C; ++c) to[c][i] = from[C * i + c];
}
// Pixels one behind the other, from anywhere. Three elements go as four: what is too much is
// written over by the next pixel, and only the first and the last may be at an end of the memory,
// since no two are at one place.
template <class T, int C>
void copy_pixels(Plane p) {
  constexpr int64_t pixel = C * sizeof(T), wide = (C == 3 ? 4 : C) * sizeof(T);
  char* last = p.to + (p.n_rows - 1) * pixel;
  std::memcpy(p.to, p.from, pixel);
  if (p.n_rows == 1) return;
#pragma GCC unroll 4
  for (p.to += pixel, p.from += p.from_row; p.to != last; p.to += pixel, p.from += p.from_row)
    std::memcpy(p.to, p.from, wide);
  std::memcpy(last, p.from, pixel);
}

// True where one dimension has C elements that lie together, and the copy has been made.
template <class T, int C>
bool copy_by_pixels(Plane p) {
  constexpr int64_t size = sizeof(T), pixel = C * size;
  bool writes_pixels = p.n == C && p.to_step == size && p.to_row == pixel;
  bool reads_pixels = p.n_rows == C && p.from_row == size && p.from_step == pixel;
  if (writes_pixels && p.from_row == size) return copy_to_pixels<T, C>(p), true;
  if (writes_pixels && p.from_step == size && p.from_row != 0) return copy_pixels<T, C>(p), true;
  if (reads_pixels && p.to_step == size) return copy_from_pixels<T, C>(p), true;
  return false;
}

struct Bytes16 {
  uint64_t low, high;
};

template <class T>
void copy_plane(Plane p) {
  constexpr int64_t size = sizeof(T);
  if (copy_by_pixels<T, 3>(p) || copy_by_pixels<T, 4>(p) || copy_by_pixels<T, 2>(p)) return;
  bool is_dense = p.to_step == size && p.from_step == size;
  if (is_dense && (p.n > 1 || p.n_rows == 1)) return copy_dense_rows(p, p.n * size);
  if (p.to_step == size && p.from_step == 0) return copy_repeated<T>(p);
  if (p.to_step == size && p.from_row == size) {
    if constexpr (size == 1) return copy_transposed_bytes(p);
    if constexpr (size == 2 || size == 4) return copy_transposed<float, T>(p);
    if constexpr (size == 8) return copy_transposed<double, T>(p);
  }
  if (p.to_step == size && p.n > 1) {
    if (p.from_step == -size) return copy_spaced_rows<T, -1>(p);
    if (p.from_step == 2 * size) return copy_spaced_rows<T, 2>(p);
    if (p.from_step == -2 * size) return copy_spaced_rows<T, -2>(p);
  }
#if defined(FACULA_AVX512)
  if constexpr (size == 2 || size == 4 || size == 8) {
    bool is_spaced = p.to_step == 2 * size && p.n > 1;
    if (is_spaced && p.from_step == size) return copy_to_every_second<T, 1>(p);
    if (is_spaced && p.from_step == 2 * size) return copy_to_every_second<T, 2>(p);
  }
#endif
  // Along the longer side, and in strips where an operand lies across it: a line that is crossed is
  // still there for the next row.
  if (p.n < p.n_rows) {
    std::swap(p.n, p.n_rows);
    std::swap(p.to_step, p.to_row);
    std::swap(p.from_step, p.from_row);
  }
  bool is_across =
      std::abs(p.to_row) < std::abs(p.to_step) || std::abs(p.from_row) < std::abs(p.from_step);
  const int64_t strip = is_across ? 32 : p.n;
  for (int64_t begin = 0; begin < p.n; begin += strip) {
    int64_t n = std::min(strip, p.n - begin);
    for (int64_t row = 0; row < p.n_rows; ++row) {
      char* to = p.to + row * p.to_row + begin * p.to_step;
      const char* from = p.from + row * p.from_row + begin * p.from_step;
      for (int64_t i = 0; i < n; ++i)
        *reinterpret_cast<T*>(to + i * p.to_step) =
            *reinterpret_cast<const T*>(from + i * p.from_step);
    }
  }
}

#if defined(FACULA_SIMD)
void copy_past_caches(char* to, const char* from, int64_t nbytes) {
  int64_t at = 0;
  for (; at + kVecBytes <= nbytes; at += kVecBytes) {
    Vec<float> bits = Vec<float>::load(reinterpret_cast<const float*>(from + at));
    FACULA_SIMD(stream_ps)(reinterpret_cast<float*>(to + at), bits.v);
  }
  std::memcpy(to + at, from + at, nbytes - at);
}
void fence() { _mm_sfence(); }
#else
constexpr decltype(CopyTable::past_caches) copy_past_caches = nullptr;
constexpr decltype(CopyTable::fence) fence = nullptr;
#endif

}  // namespace

extern const CopyTable copy_table;
const CopyTable copy_table = {{copy_plane<uint8_t>, copy_plane<uint16_t>, copy_plane<uint32_t>,
                               copy_plane<uint64_t>, copy_plane<Bytes16>},
                              copy_line,
                              copy_past_caches,
                              fence};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
