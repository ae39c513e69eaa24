// Lines of images, copied with their padding for the convolutions that read windows from them.
#pragma once
#include <algorithm>

#include "base/integers.h"
#include "cpu/vec_lanes.h"

namespace facula::cpu {
inline namespace FACULA_ISA {
namespace {

// Whole vectors are stored, a few numbers further than asked: the next ones come after them, and
// behind the last one there is room. Lines are often too short for a call of memset or memcpy.
template <class T>
void fill_zeros(T* to, int64_t n) {
  for (int64_t i = 0; i < n; i += Vec<T>::kLanes) Vec<T>(T(0)).store(to + i);
}

// The numbers from `first` on of a line that has `size` of them; those outside are zero. Number i
// comes to lie at (i % step) * width + i / step: the pixels of a tap lie together whatever the
// stride.
template <class T>
void copy_padded_line(const T* line, int64_t size, int64_t first, int64_t step, int64_t width,
                      T* to) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  for (int64_t residue = 0; residue < step; ++residue, to += width) {
    // Numbers begin, begin + 1, ... of the residue are inside the line.
    int64_t at = first + residue;
    int64_t begin = at < 0 ? std::min(ceil_div(-at, step), width) : 0;
    int64_t end = at < size ? std::clamp(ceil_div(size - at, step), begin, width) : begin;
    fill_zeros(to, begin);
    int64_t i = begin;
    if (step == 1 && end - begin >= lanes) {
      // The last vector overlaps the one before: masked loads are slow with AVX2.
      for (; i < end - lanes; i += lanes) Vec<T>::load(line + at + i).store(to + i);
      Vec<T>::load(line + at + end - lanes).store(to + end - lanes);
    } else if (step == 1 && i < end) {
      Vec<T>::load(line + at + i, end - i).store(to + i);
    } else if (step == 2 && end - begin >= lanes && size >= 2 * lanes) {
      // Beside those that are taken a number before or after them is read, whichever is there.
      auto copy = [&](int64_t j) FACULA_INLINE {
        const T* from = line + at + 2 * j;
        bool has_next = at + 2 * (j + lanes) <= size;
        Vec<T> taken = has_next ? evens(Vec<T>::load(from), Vec<T>::load(from + lanes))
                                : odds(Vec<T>::load(from - 1), Vec<T>::load(from - 1 + lanes));
        taken.store(to + j);
      };
      for (; i < end - lanes; i += lanes) copy(i);
      copy(end - lanes);
    } else if (step == 2 && i < end) {
      const T* from = line + at + 2 * i;
      int64_t n = size - at - 2 * i, n_low = std::min(n, lanes);
      int64_t n_high = std::min(n - n_low, lanes);
      evens(Vec<T>::load(from, n_low), Vec<T>::load(from + lanes, n_high)).store(to + i);
    } else {
      for (; i < end; ++i) to[i] = line[at + i * step];
    }
    fill_zeros(to + end, width - end);
  }
}

}  // namespace
}  // namespace FACULA_ISA
}  // namespace facula::cpu
