#include "cpu/index.h"

#include <cstring>

namespace facula::cpu {

namespace {

#define FACULA_INLINE __attribute__((always_inline))

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

// Whether the whole row is at one place.
template <class T>
bool is_row(const int64_t* strides) {
  return strides[2] == 0 && strides[0] == sizeof(T) && strides[1] == sizeof(T);
}

// How far to go in operand 0, operand 1 and the index from one element to the next.
struct Steps {
  int64_t y, x, index;
};

// Calls loop(steps, wrap, step) with constants where a contiguous index, none of it negative, goes
// along a contiguous line. `moving` is the operand that is not indexed.
template <class T, int moving, class F>
FACULA_INLINE inline void with_steps(const int64_t* strides, const IndexBounds& bounds, F loop) {
  constexpr int64_t item = sizeof(T), index_item = sizeof(int64_t);
  // By value: the writes might change them, for all that the compiler knows.
  Steps steps{strides[0], strides[1], strides[2]};
  if (strides[1 - moving] == 0 && steps.index == index_item && bounds.step == item &&
      bounds.wrap == 0) {
    loop(Steps{moving == 0 ? steps.y : 0, moving == 1 ? steps.x : 0, index_item}, 0, item);
  } else {
    loop(steps, bounds.wrap, bounds.step);
  }
}

template <class T>
void read_at(char** data, const int64_t* strides, int64_t n, const void* params) {
  const IndexBounds& bounds = *static_cast<const IndexBounds*>(params);
  char *y = data[0], *x = data[1], *index = data[2];
  if (is_row<T>(strides))
    return for_each_place(
        index, 0, 1, bounds, bounds.wrap, bounds.step,
        [&](int64_t, int64_t offset) { std::memcpy(y, x + offset, n * sizeof(T)); });
  with_steps<T, 0>(strides, bounds, [&](Steps steps, int64_t wrap, int64_t step) FACULA_INLINE {
    for_each_place(index, steps.index, n, bounds, wrap, step, [&](int64_t i, int64_t offset) {
      std::memcpy(y + i * steps.y, x + i * steps.x + offset, sizeof(T));
    });
  });
}

template <class T, WriteMode mode>
T combined(T old, T value) {
  if constexpr (mode == WriteMode::Set) {
    return value;
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
    if (value != value) return value;
    bool takes = mode == WriteMode::AMin ? value < old : value > old;
    return takes ? value : old;
  }
}

template <class T, WriteMode mode>
void write_at(char** data, const int64_t* strides, int64_t n, const void* params) {
  const IndexBounds& bounds = *static_cast<const IndexBounds*>(params);
  char *y = data[0], *x = data[1], *index = data[2];
  if (is_row<T>(strides))
    return for_each_place(index, 0, 1, bounds, bounds.wrap, bounds.step,
                          [&](int64_t, int64_t offset) {
                            T* target = reinterpret_cast<T*>(y + offset);
                            const T* values = reinterpret_cast<const T*>(x);
#pragma GCC ivdep
                            for (int64_t i = 0; i < n; ++i)
                              target[i] = combined<T, mode>(target[i], values[i]);
                          });
  with_steps<T, 1>(strides, bounds, [&](Steps steps, int64_t wrap, int64_t step) FACULA_INLINE {
    for_each_place(index, steps.index, n, bounds, wrap, step, [&](int64_t i, int64_t offset) {
      T* target = reinterpret_cast<T*>(y + i * steps.y + offset);
      *target = combined<T, mode>(*target, *reinterpret_cast<const T*>(x + i * steps.x));
    });
  });
}

template <WriteMode mode>
Loop write_loop_for(DType dtype) {
  return visit_dtype(dtype,
                     [](auto tag) -> Loop { return write_at<typename decltype(tag)::type, mode>; });
}

// The bytes of a bool may come from elsewhere and be more than 0 and 1.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class T>
bool is_set(T value) {
  if constexpr (is_reduced_float_v<T>) {
    return static_cast<float>(value) != 0;
  } else {
    return value != T(0);
  }
}

}  // namespace

Loop read_at_loop(DType dtype) {
  return visit_dtype(dtype, [](auto tag) -> Loop { return read_at<typename decltype(tag)::type>; });
}

Loop write_at_loop(DType dtype, WriteMode mode) {
  switch (mode) {
    case WriteMode::Set:
      return write_loop_for<WriteMode::Set>(dtype);
    case WriteMode::Add:
      return write_loop_for<WriteMode::Add>(dtype);
    case WriteMode::Prod:
      return write_loop_for<WriteMode::Prod>(dtype);
    case WriteMode::AMin:
      return write_loop_for<WriteMode::AMin>(dtype);
    default:
      return write_loop_for<WriteMode::AMax>(dtype);
  }
}

int64_t count_nonzero(DType dtype, const char* data, int64_t n) {
  return visit_dtype(dtype, [&](auto tag) {
    using T = Stored<typename decltype(tag)::type>;
    const T* x = reinterpret_cast<const T*>(data);
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) count += is_set(x[i]);
    return count;
  });
}

int64_t find_nonzero(DType dtype, const char* data, int64_t n, int64_t* positions,
                     int64_t capacity) {
  return visit_dtype(dtype, [&](auto tag) {
    using T = Stored<typename decltype(tag)::type>;
    const T* x = reinterpret_cast<const T*>(data);
    int64_t found = 0;
    // Without a branch on the element, which would be guessed wrong half of the time.
    for (int64_t i = 0; i < n && found < capacity; ++i) {
      positions[found] = i;
      found += is_set(x[i]);
    }
    return found;
  });
}

}  // namespace facula::cpu
