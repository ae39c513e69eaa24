// The elements of a matrix on and below a diagonal, or on and above it, row by row.
#pragma once
#ifndef __CUDACC_RTC__
#include <cstdint>
#endif

namespace facula::math {

struct Triangle {
  int64_t n_rows, n_columns, offset;
  bool is_lower;

  struct Range {
    int64_t first, last;  // not included
  };
  static int64_t clamp(int64_t x, int64_t low, int64_t high) {
    return x < low ? low : x > high ? high : x;
  }
  // How many the first n rows have below the diagonal that is `shift` further up.
  int64_t n_below(int64_t n, int64_t shift) const {
    int64_t first = offset + shift;  // so many has row 0, if that is a number of elements
    int64_t begin = clamp(-first, 0, n);
    int64_t end = clamp(n_columns - first, begin, n);  // from here on all of a row
    return (first + begin + first + end - 1) * (end - begin) / 2 + (n - end) * n_columns;
  }
  int64_t numel(int64_t n) const {
    return is_lower ? n_below(n, 1) : n * n_columns - n_below(n, 0);
  }
  // The rows that have some: of very many, all others may have none.
  Range rows() const {
    return is_lower ? Range{clamp(-offset, 0, n_rows), n_rows}
                    : Range{0, clamp(n_columns - offset, 0, n_rows)};
  }
  Range columns(int64_t row) const {
    int64_t border = clamp(row + offset + is_lower, 0, n_columns);
    return is_lower ? Range{0, border} : Range{border, n_columns};
  }
  // The row of element number i, by halving.
  int64_t row_of(int64_t i) const {
    Range among{0, n_rows};
    while (among.last - among.first > 1) {
      int64_t middle = among.first + (among.last - among.first) / 2;
      (numel(middle) <= i ? among.first : among.last) = middle;
    }
    return among.first;
  }
};

}  // namespace facula::math
