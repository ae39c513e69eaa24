#include "cpu/index/index.h"

#include <algorithm>
#include <cstring>

#include "cpu/loops.h"
#include "cpu/reduce/sort_key.h"
#include "cpu/shape/copy.h"
#include "cpu/shape/copy_line.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// Calls f(i, offset in bytes) for n indices.
template <class F>
FACULA_INLINE inline void for_each_place(const char* index, int64_t index_step, int64_t n,
                                         const IndexBounds& bounds, int64_t wrap, int64_t step,
                                         F f) {
  uint64_t size = static_cast<uint64_t>(bounds.size);
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i, index += index_step) {
    int64_t place = *reinterpret_cast<const int64_t*>(index);
    place += place >> 63 & wrap;
    if (__builtin_expect(static_cast<uint64_t>(place) >= size, 0))
      return bounds.is_outside->store(true);
    f(i, place * step);
  }
}

// How far to go in operand 0, operand 1 and the index from one element to the next.
struct Steps {
  int64_t y, x, index;
};

// Calls loop(steps, wrap) with constants where a contiguous index goes along a line. `moving` is
// the operand that is not indexed.
template <int moving, class F>
FACULA_INLINE inline void with_steps(const int64_t* strides, const IndexBounds& bounds, F loop) {
  constexpr int64_t index_item = sizeof(int64_t);
  // By value: the writes might change them, for all that the compiler knows.
  Steps steps{strides[0], strides[1], strides[2]};
  Steps along_line{moving == 0 ? steps.y : 0, moving == 1 ? steps.x : 0, index_item};
  if (strides[1 - moving] != 0 || steps.index != index_item) {
    loop(steps, bounds.wrap);
  } else if (bounds.wrap == 0) {
    loop(along_line, 0);
  } else {
    loop(along_line, bounds.wrap);
  }
}

// Rows of n elements, each at a place of its own.
template <class T>
void read_plane(char** data, const int64_t* strides, const int64_t* row_strides, int64_t n,
                int64_t n_rows, const IndexBounds& bounds) {
  char *y = data[0], *x = data[1], *index = data[2];
  int64_t y_row = row_strides[0], x_row = row_strides[1], index_row = row_strides[2];
  int64_t step = bounds.step;
  with_steps<0>(strides, bounds, [&](Steps steps, int64_t wrap) FACULA_INLINE {
    for (int64_t row = 0; row < n_rows; ++row, y += y_row, x += x_row, index += index_row)
      for_each_place(index, steps.index, n, bounds, wrap, step, [&](int64_t i, int64_t offset) {
        std::memcpy(y + i * steps.y, x + i * steps.x + offset, sizeof(T));
      });
  });
}

// n elements as they are.
template <class T>
void copy_row(char* y, int64_t y_step, const char* x, int64_t x_step, int64_t n) {
  constexpr int64_t size = sizeof(T);
  if (y_step == size && x_step == size) return copy_line(y, x, n * size);
  get_copy_table().by_size[__builtin_ctzll(size)]({y, x, n, 1, y_step, x_step, 0, 0});
}

template <class T>
void read_at(char** data, const int64_t* strides, int64_t n, const void* params) {
  const IndexBounds& bounds = *static_cast<const IndexBounds*>(params);
  char *y = data[0], *x = data[1], *index = data[2];
  int64_t step = bounds.step;
  if (strides[2] == 0)  // the whole row at one place
    return for_each_place(index, 0, 1, bounds, bounds.wrap, step, [&](int64_t, int64_t offset) {
      x += offset;
      copy_row<T>(y, strides[0], x, strides[1], n);
    });
  const int64_t row[3] = {};
  read_plane<T>(data, strides, row, n, 1, bounds);
}

template <class T, WriteMode mode>
T combined(T old, T value) {
  if constexpr (mode == WriteMode::Set) {
    return value;
  } else if constexpr (is_reduced_float_v<T> &&
                       (mode == WriteMode::AMin || mode == WriteMode::AMax)) {
    // By keys, without a conversion. For a minimum that of NaN becomes the least.
    constexpr uint16_t turn = mode == WriteMode::AMin;
    uint16_t a = to_key(old) + turn, b = to_key(value) + turn;
    // Of a choice the compiler would make a branch, which is guessed wrong every other time.
    uint16_t mask = static_cast<uint16_t>(-static_cast<int>(turn ? b < a : b > a));
    old.bits = static_cast<uint16_t>((value.bits & mask) | (old.bits & ~mask));
    return old;
  } else if constexpr (is_reduced_float_v<T>) {
    return T(combined<float, mode>(old, value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return mode == WriteMode::Add || mode == WriteMode::AMax ? old || value : old && value;
  } else if constexpr (mode == WriteMode::Add) {
    return static_cast<T>(old + value);
  } else if constexpr (mode == WriteMode::Prod) {
    return static_cast<T>(old * value);
  } else if constexpr (is_complex_v<T>) {
    return value;  // complex numbers have no order; refused before
  } else {
    // In two steps, each an instruction without a branch: a branch would be guessed wrong every
    // other time.
    T extremum = (mode == WriteMode::AMin ? value < old : value > old) ? value : old;
    return value != value ? value : extremum;
  }
}

// n elements that go to as many places, y_step bytes apart.
template <class T, WriteMode mode>
void write_row(char* y, int64_t y_step, const char* x, int64_t x_step, int64_t n) {
  constexpr int64_t size = sizeof(T);
  bool has_gaps = y_step != size || (x_step != size && x_step != 0);
  if (mode != WriteMode::Set && (is_reduced_float_v<T> || has_gaps)) {
    // Blocks are combined as vectors; one by one, which of two is larger would be guessed wrong.
    using W = Wide<T>;
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      int64_t m = std::min(n - begin, kBlock);
      W old[kBlock], values[kBlock];
      gather<T>(old, y + begin * y_step, y_step, m);
      gather<T>(values, x + begin * x_step, x_step, m);
      for (int64_t i = 0; i < m; ++i) old[i] = combined<W, mode>(old[i], values[i]);
      scatter<T>(y + begin * y_step, y_step, old, m);
    }
    return;
  }
  T* target = reinterpret_cast<T*>(y);
  const T* values = reinterpret_cast<const T*>(x);
  if (mode == WriteMode::Set && x_step != 0) {
    copy_row<T>(y, y_step, x, x_step, n);
  } else if (y_step == size && x_step == size) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) target[i] = combined<T, mode>(target[i], values[i]);
  } else if (y_step == size && x_step == 0) {
    T value = *values;
    for (int64_t i = 0; i < n; ++i) target[i] = combined<T, mode>(target[i], value);
  } else {
    for (int64_t i = 0; i < n; ++i, y += y_step, x += x_step) {
      target = reinterpret_cast<T*>(y);
      *target = combined<T, mode>(*target, *reinterpret_cast<const T*>(x));
    }
  }
}

template <class T, WriteMode mode>
void write_at(char** data, const int64_t* strides, int64_t n, const void* params) {
  const IndexBounds& bounds = *static_cast<const IndexBounds*>(params);
  char *y = data[0], *x = data[1], *index = data[2];
  if (strides[2] == 0 && strides[0] != 0)
    return for_each_place(index, 0, 1, bounds, bounds.wrap, bounds.step,
                          [&](int64_t, int64_t offset) {
                            write_row<T, mode>(y + offset, strides[0], x, strides[1], n);
                          });
  int64_t step = bounds.step;
  with_steps<1>(strides, bounds, [&](Steps steps, int64_t wrap) FACULA_INLINE {
    for_each_place(index, steps.index, n, bounds, wrap, step, [&](int64_t i, int64_t offset) {
      T* target = reinterpret_cast<T*>(y + i * steps.y + offset);
      *target = combined<T, mode>(*target, *reinterpret_cast<const T*>(x + i * steps.x));
    });
  });
}

// The bytes of a bool may come from elsewhere and be more than 0 and 1.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class T>
bool is_set(T value) {
  if constexpr (is_reduced_float_v<T>) {
    return (value.bits & 0x7fff) != 0;
  } else {
    return value != T(0);
  }
}

void read_lines(char** data, const int64_t* steps, int64_t n, int64_t nbytes,
                const IndexBounds& bounds) {
  char *y = data[0], *x = data[1];
  int64_t y_step = steps[0], x_step = steps[1];
  for_each_place(data[2], steps[2], n, bounds, bounds.wrap, bounds.step,
                 [&](int64_t i, int64_t offset) {
                   copy_line(y + i * y_step, x + i * x_step + offset, nbytes);
                 });
}

bool are_inside(const int64_t* index, int64_t n, int64_t low, int64_t high) {
  // One that is below has its sign set, and one that is above that of the difference.
  int64_t signs = 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t place = static_cast<int64_t>(static_cast<uint64_t>(index[i]) - low);
    signs |= place | static_cast<int64_t>(static_cast<uint64_t>(high - low - 1) - place);
  }
  return signs >= 0;
}

template <class Element>
int64_t find_nonzero(const char* data, int64_t n, uint64_t* bits) {
  using T = Stored<Element>;
  const T* x = reinterpret_cast<const T*>(data);
  int64_t count = 0;
  for (int64_t i = 0; i < n; i += 64) {
    // In two loops without branches: elements become bytes, and eight bytes of 0 and 1 eight
    // bits.
    alignas(64) uint8_t flags[64] = {};
    if (n - i >= 64) {
      for (int k = 0; k < 64; ++k) flags[k] = is_set(x[i + k]);
    } else {
      for (int64_t k = 0; k < n - i; ++k) flags[k] = is_set(x[i + k]);
    }
    uint64_t word = 0;
    for (int k = 0; k < 8; ++k) {
      uint64_t bytes;
      std::memcpy(&bytes, flags + 8 * k, 8);
      word |= (bytes * 0x0102040810204080 >> 56) << 8 * k;
    }
    bits[i / 64] = word;
    count += __builtin_popcountll(word);
  }
  return count;
}

// With the number of rows as a constant, or 0 for any.
template <int constant_rows>
void write_rows(const Positions& p, const uint64_t* bits, int64_t begin, int64_t end, int64_t at) {
  const int n_rows = constant_rows ? constant_rows : p.n_rows;
  const int64_t size = p.sizes[0], row_step = p.row_step;
  const int64_t* weights = p.weights[0].data();
  int64_t counter[kMaxDims], base[kMaxDims] = {};
  int64_t* out = p.out;
  auto move = [&](int d, int64_t steps) {
    for (int j = 0; j < n_rows; ++j) base[j] += steps * p.weights[d][j];
  };
  int64_t rest = begin / size, line_end = (rest + 1) * size;
  for (int d = 1; d < p.n_dims; ++d) {
    counter[d] = rest % p.sizes[d];
    rest /= p.sizes[d];
    move(d, counter[d]);
  }
  for (int64_t first = begin; first < end; first += 64) {
    for (uint64_t set = bits[first / 64]; set; set &= set - 1, ++at) {
      int64_t i = first + __builtin_ctzll(set);
      for (; i >= line_end; line_end += size) {
        for (int d = 1; d < p.n_dims; ++d) {
          move(d, 1);
          if (++counter[d] < p.sizes[d]) break;
          move(d, -counter[d]);
          counter[d] = 0;
        }
      }
      int64_t column = i - (line_end - size);
      for (int j = 0; j < n_rows; ++j) out[j * row_step + at] = base[j] + column * weights[j];
    }
  }
}

void write_positions(const Positions& positions, const uint64_t* bits, int64_t begin, int64_t end,
                     int64_t at) {
  constexpr decltype(&write_rows<0>) by_rows[] = {write_rows<0>, write_rows<1>, write_rows<2>,
                                                  write_rows<3>, write_rows<4>};
  by_rows[positions.n_rows <= 4 ? positions.n_rows : 0](positions, bits, begin, end, at);
}

}  // namespace

#define FACULA_READ_AT(T, Name) read_at<T>,
#define FACULA_READ_ROWS(T, Name) read_plane<T>,
#define FACULA_FIND(T, Name) find_nonzero<T>,
#define FACULA_WRITE_AT(T, Name) write_at<T, mode>,
template <WriteMode mode>
constexpr IndexTable::ByDType<Loop> write_loops = {FACULA_FORALL_DTYPES(FACULA_WRITE_AT)};

extern const IndexTable index_table;
const IndexTable index_table = {
    {FACULA_FORALL_DTYPES(FACULA_READ_AT)},
    {FACULA_FORALL_DTYPES(FACULA_READ_ROWS)},
    read_lines,
    {write_loops<WriteMode::Set>, write_loops<WriteMode::Add>, write_loops<WriteMode::Prod>,
     write_loops<WriteMode::AMin>, write_loops<WriteMode::AMax>},
    are_inside,
    {FACULA_FORALL_DTYPES(FACULA_FIND)},
    write_positions};
#undef FACULA_READ_AT
#undef FACULA_READ_ROWS
#undef FACULA_FIND
#undef FACULA_WRITE_AT

}  // namespace FACULA_ISA
}  // namespace facula::cpu
