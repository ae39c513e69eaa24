#include "cpu/copy.h"

#include <algorithm>
#include <cstring>

#include "cpu/transpose.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// Rows without gaps. Vectors rather than memcpy, whose call costs as much as a short row; the last
// vector overlaps the one before it.
void copy_dense_rows(const Plane& p, int64_t nbytes) {
  constexpr int64_t kLong = 4096;
  for (int64_t row = 0; row < p.n_rows; ++row) {
    char* to = p.to + row * p.to_row;
    const char* from = p.from + row * p.from_row;
    if (nbytes < kVecBytes || nbytes > kLong) {
      std::memcpy(to, from, nbytes);
      continue;
    }
    auto copy_vector = [&](int64_t at) {
      Native<float> v;
      std::memcpy(&v, from + at, kVecBytes);
      std::memcpy(to + at, &v, kVecBytes);
    };
    for (int64_t at = 0; at + kVecBytes <= nbytes; at += kVecBytes) copy_vector(at);
    copy_vector(nbytes - kVecBytes);
  }
}

// Without gaps in `to` along a row and in `from` across them: squares are turned over in registers.
// F is only what carries the bits.
template <class F>
void copy_transposed(const Plane& p) {
  constexpr int64_t side = Vec<F>::kLanes;
  for (int64_t row = 0; row < p.n_rows; row += side) {
    int64_t n_rows = std::min(side, p.n_rows - row);
    for (int64_t i = 0; i < p.n; i += side) {
      int64_t n = std::min(side, p.n - i);
      Vec<F> square[side];
      for (int64_t j = 0; j < side; ++j) {
        auto* from = reinterpret_cast<const F*>(p.from + (i + j) * p.from_step) + row;
        square[j] = j >= n           ? Vec<F>(F(0))
                    : n_rows == side ? Vec<F>::load(from)
                                     : Vec<F>::load(from, n_rows);
      }
      transpose(square);
      for (int64_t j = 0; j < n_rows; ++j) {
        F* to = reinterpret_cast<F*>(p.to + (row + j) * p.to_row) + i;
        n == side ? square[j].store(to) : square[j].store(to, n);
      }
    }
  }
}

struct Bytes16 {
  uint64_t low, high;
};

template <class T>
void copy_plane(const Plane& p) {
  constexpr int64_t size = sizeof(T);
  if (p.to_step == size && p.from_step == size) return copy_dense_rows(p, p.n * size);
  if (p.to_step == size && p.from_row == size) {
    if constexpr (size == 4) return copy_transposed<float>(p);
    if constexpr (size == 8) return copy_transposed<double>(p);
  }
  // In strips, so that a line of `from` that is read across is still there for the next row.
  constexpr int64_t kStrip = 32;
  for (int64_t begin = 0; begin < p.n; begin += kStrip) {
    int64_t n = std::min(kStrip, p.n - begin);
    for (int64_t row = 0; row < p.n_rows; ++row) {
      char* to = p.to + row * p.to_row + begin * p.to_step;
      const char* from = p.from + row * p.from_row + begin * p.from_step;
      for (int64_t i = 0; i < n; ++i)
        *reinterpret_cast<T*>(to + i * p.to_step) =
            *reinterpret_cast<const T*>(from + i * p.from_step);
    }
  }
}

}  // namespace

extern const CopyTable copy_table;
const CopyTable copy_table = {{copy_plane<uint8_t>, copy_plane<uint16_t>, copy_plane<uint32_t>,
                               copy_plane<uint64_t>, copy_plane<Bytes16>}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
