// Brings points of lines into vectors and back: real and imaginary parts apart, 2 * lanes numbers
// for each vector of complex ones.
#pragma once
#include <algorithm>

#include "cpu/fft/butterflies.h"
#include "cpu/transpose.h"
#include "cpu/vec_lanes.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Point j of line l: (re[j * step + l * line_step], im[...]). A part that is null is zero, or not
// wanted. Parts exchanged give the inverse transform.
template <class T>
struct Points {
  T* re;
  T* im;
  int64_t step, line_step;

  T* first() const { return !re ? im : !im ? re : std::min(re, im); }
  bool is_pairs() const { return re && im && (im == re + 1 || re == im + 1); }
  // Neighbours in memory along the line, or from line to line.
  bool is_line() const { return is_pairs() ? step == 2 : (!re || !im) && step == 1; }
  bool is_across() const { return is_pairs() ? line_step == 2 : line_step == 1; }
  Points line(int64_t l) const { return from(l * line_step); }
  Points from(int64_t offset) const {
    return {re ? re + offset : re, im ? im + offset : im, step, line_step};
  }
};

// (re, im), (re, im), ... as parts, and back.
template <class T>
FACULA_FN Cx<Vec<T>> split_pairs(Vec<T> a, Vec<T> b) {
  return {evens(a, b), odds(a, b)};
}
template <class T>
FACULA_FN void join_pairs(Cx<Vec<T>> x, Vec<T>& a, Vec<T>& b) {
  a = turns_of_lower(x.re, x.im);
  b = turns_of_upper(x.re, x.im);
}
template <class T, int... kLane>
FACULA_FN Vec<T> reversed(Vec<T> x, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(x.v, x.v, (Vec<T>::kLanes - 1 - kLane)...);
}
template <class T>
FACULA_FN Vec<T> reversed(Vec<T> x) {
  return reversed(x, LaneNumbers<T>());
}

// n pairs from `at` on, those beyond as zero.
template <class T>
FACULA_FN Cx<Vec<T>> load_pairs(const T* at, int64_t n) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  if (n == lanes) return split_pairs(Vec<T>::load(at), Vec<T>::load(at + lanes));
  return split_pairs(Vec<T>::load(at, std::min(2 * n, lanes)),
                     Vec<T>::load(at + lanes, std::max<int64_t>(2 * n - lanes, 0)));
}
template <class T>
FACULA_FN void store_pairs(T* at, int64_t n, Cx<Vec<T>> x) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  Vec<T> a, b;
  join_pairs(x, a, b);
  if (n == lanes) {
    a.store(at);
    b.store(at + lanes);
  } else {
    a.store(at, std::min(2 * n, lanes));
    b.store(at + lanes, std::max<int64_t>(2 * n - lanes, 0));
  }
}

template <class T>
FACULA_FN Cx<Vec<T>> load_block(const T* block) {
  return {Vec<T>::load(block), Vec<T>::load(block + Vec<T>::kLanes)};
}
template <class T>
FACULA_FN void store_block(T* block, Cx<Vec<T>> x) {
  x.re.store(block);
  x.im.store(block + Vec<T>::kLanes);
}

template <class T>
FACULA_FN void turn_over(Cx<Vec<T>> (&square)[Vec<T>::kLanes]) {
  constexpr int lanes = Vec<T>::kLanes;
  Vec<T> part[lanes];
  for (int i = 0; i < lanes; ++i) part[i] = square[i].re;
  transpose(part);
  for (int i = 0; i < lanes; ++i) square[i].re = part[i], part[i] = square[i].im;
  transpose(part);
  for (int i = 0; i < lanes; ++i) square[i].im = part[i];
}

// What is read or written next is asked for ahead: no machine finds that order by itself. It is the
// same place of the next lines; across long ones it is the next points, since all of the next lines
// would be in the same few sets of the cache where steps are powers of two.
template <int kWrites, class T>
FACULA_FN void prefetch_pairs(const T* at) {
  __builtin_prefetch(at, kWrites, 2);
  __builtin_prefetch(at + Vec<T>::kLanes, kWrites, 2);
}

template <class T>
int64_t numbers_ahead(const Points<T>& p, int64_t n) {
  constexpr int64_t long_line = 128, points_ahead = 16;
  return n > long_line ? points_ahead * p.step : Vec<T>::kLanes * p.line_step;
}

// Points of lines in pairs that are neighbours along the lines. `first` is where in a block the
// first of a pair goes.
template <class T>
void gather_pair_lines(const T* from, int64_t line_step, int64_t n, int64_t n_lines, T* blocks,
                       int64_t first) {
  constexpr int64_t lanes = Vec<T>::kLanes, half = lanes / 2;
  for (int64_t j = 0; j < n; j += half) {
    int64_t n_points = std::min(half, n - j);
    Vec<T> low[half], high[half];
    if (n_points == half && n_lines == lanes) {
      const T* at = from + 2 * j;
      for (int64_t l = 0; l < lanes; ++l) {
        (l < half ? low[l] : high[l - half]) = Vec<T>::load(at + l * line_step);
        __builtin_prefetch(at + (l + lanes) * line_step, 0, 2);
      }
    } else {
      for (int64_t l = 0; l < lanes; ++l) {
        const T* at = from + 2 * j + std::min(l, n_lines - 1) * line_step;
        (l < half ? low[l] : high[l - half]) = Vec<T>::load(at, l < n_lines ? 2 * n_points : 0);
        __builtin_prefetch(at + lanes * line_step, 0, 2);
      }
    }
    transpose_pairs(low);
    transpose_pairs(high);
    for (int64_t i = 0; i < half; ++i) {
      if (i == n_points) break;
      T* block = blocks + 2 * lanes * (j + i);
      Cx<Vec<T>> x = split_pairs(low[i], high[i]);
      x.re.store(block + first);
      x.im.store(block + lanes - first);
    }
  }
}
// point(j) gives point j of the lines, first and second of its pairs.
template <class T, class Point>
void scatter_pair_lines(T* to, int64_t line_step, int64_t n, int64_t n_lines, const Point& point) {
  constexpr int64_t lanes = Vec<T>::kLanes, half = lanes / 2;
  for (int64_t j = 0; j < n; j += half) {
    int64_t n_points = std::min(half, n - j);
    Vec<T> low[half], high[half];
    for (int64_t i = 0; i < half; ++i)
      join_pairs(point(j + std::min(i, n_points - 1)), low[i], high[i]);
    transpose_pairs(low);
    transpose_pairs(high);
    if (n_points == half && n_lines == lanes) {
      T* at = to + 2 * j;
      for (int64_t l = 0; l < lanes; ++l) {
        (l < half ? low[l] : high[l - half]).store(at + l * line_step);
        __builtin_prefetch(at + (l + lanes) * line_step, 1, 2);
      }
    } else {
      for (int64_t l = 0; l < lanes; ++l) {
        if (l == n_lines) break;
        T* at = to + 2 * j + l * line_step;
        (l < half ? low[l] : high[l - half]).store(at, 2 * n_points);
        __builtin_prefetch(at + lanes * line_step, 1, 2);
      }
    }
  }
}

// The same for one part alone, the real or the imaginary one.
template <class T>
void gather_part_lines(const T* from, int64_t line_step, int64_t n, int64_t n_lines, T* blocks,
                       int64_t first) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  for (int64_t j = 0; j < n; j += lanes) {
    int64_t n_points = std::min(lanes, n - j);
    Vec<T> square[lanes], zero = T(0);
    for (int64_t l = 0; l < lanes; ++l) {
      const T* at = from + j + std::min(l, n_lines - 1) * line_step;
      square[l] = Vec<T>::load(at, l < n_lines ? n_points : 0);
      __builtin_prefetch(at + lanes * line_step, 0, 2);
    }
    transpose(square);
    for (int64_t i = 0; i < lanes; ++i) {
      if (i == n_points) break;
      T* block = blocks + 2 * lanes * (j + i);
      square[i].store(block + first);
      zero.store(block + lanes - first);
    }
  }
}
template <class T, class Part>
void scatter_part_lines(T* to, int64_t line_step, int64_t n, int64_t n_lines, const Part& part) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  for (int64_t j = 0; j < n; j += lanes) {
    int64_t n_points = std::min(lanes, n - j);
    Vec<T> square[lanes];
    for (int64_t i = 0; i < lanes; ++i) square[i] = part(j + std::min(i, n_points - 1));
    transpose(square);
    for (int64_t l = 0; l < lanes; ++l) {
      if (l == n_lines) break;
      square[l].store(to + j + l * line_step, n_points);
      __builtin_prefetch(to + j + (l + lanes) * line_step, 1, 2);
    }
  }
}

// Up to `lanes` lines, the same point of them in a block. Lanes without a line are zero.
template <class T>
void gather_lines(const Points<T>& p, int64_t n, int64_t n_lines, T* blocks) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  const T* at = p.first();
  int64_t first = at == p.re ? 0 : lanes;
  if (p.is_across() && p.is_pairs()) {
    int64_t ahead = numbers_ahead(p, n);
    for (int64_t j = 0; j < n; ++j, at += p.step) {
      Cx<Vec<T>> x = load_pairs(at, n_lines);
      x.re.store(blocks + 2 * lanes * j + first);
      x.im.store(blocks + 2 * lanes * j + lanes - first);
      prefetch_pairs<0>(at + ahead);
    }
  } else if (p.is_across()) {
    Vec<T> zero = T(0);
    for (int64_t j = 0; j < n; ++j) {
      T* block = blocks + 2 * lanes * j;
      (p.re ? Vec<T>::load(p.re + j * p.step, n_lines) : zero).store(block);
      (p.im ? Vec<T>::load(p.im + j * p.step, n_lines) : zero).store(block + lanes);
    }
  } else if (p.is_line()) {
    p.is_pairs() ? gather_pair_lines(at, p.line_step, n, n_lines, blocks, first)
                 : gather_part_lines(at, p.line_step, n, n_lines, blocks, first);
  } else {
    for (int64_t j = 0; j < n; ++j) {
      T* block = blocks + 2 * lanes * j;
      int64_t offset = j * p.step;
      for (int64_t l = 0; l < lanes; ++l, offset += p.line_step) {
        block[l] = l < n_lines && p.re ? p.re[offset] : T(0);
        block[lanes + l] = l < n_lines && p.im ? p.im[offset] : T(0);
      }
    }
  }
}

// The way back. point(j) gives point j of the lines.
template <class T, class Point>
void scatter_lines(const Points<T>& p, int64_t n, int64_t n_lines, const Point& point) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  T* at = p.first();
  bool is_exchanged = at != p.re;
  auto pair = [&](int64_t j) FACULA_INLINE {
    Cx<Vec<T>> x = point(j);
    return is_exchanged ? Cx<Vec<T>>{x.im, x.re} : x;
  };
  if (p.is_across() && p.is_pairs()) {
    int64_t ahead = numbers_ahead(p, n);
    for (int64_t j = 0; j < n; ++j, at += p.step) {
      store_pairs(at, n_lines, pair(j));
      prefetch_pairs<1>(at + ahead);
    }
  } else if (p.is_across()) {
    for (int64_t j = 0; j < n; ++j) {
      Cx<Vec<T>> x = point(j);
      if (p.re) x.re.store(p.re + j * p.step, n_lines);
      if (p.im) x.im.store(p.im + j * p.step, n_lines);
    }
  } else if (p.is_line() && p.is_pairs()) {
    scatter_pair_lines(at, p.line_step, n, n_lines, pair);
  } else if (p.is_line()) {
    scatter_part_lines(at, p.line_step, n, n_lines, [&](int64_t j) { return pair(j).re; });
  } else {
    for (int64_t j = 0; j < n; ++j) {
      T block[2 * lanes];
      store_block(block, point(j));
      int64_t offset = j * p.step;
      for (int64_t l = 0; l < n_lines; ++l, offset += p.line_step) {
        if (p.re) p.re[offset] = block[l];
        if (p.im) p.im[offset] = block[lanes + l];
      }
    }
  }
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
