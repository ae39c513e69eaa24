#include "cpu/index.h"

#include <cstring>

namespace facula::cpu {

namespace {

template <class T>
void read_at(char** data, const int64_t* strides, int64_t n, const void*) {
  char *y = data[0], *x = data[1], *offset = data[2];
  if (strides[2] == 0 && strides[0] == sizeof(T) && strides[1] == sizeof(T)) {
    // A whole row at one offset.
    std::memcpy(y, x + *reinterpret_cast<int64_t*>(offset), n * sizeof(T));
    return;
  }
  // The strides in variables: the writes might change them, for all that the compiler knows.
  int64_t y_step = strides[0], x_step = strides[1], offset_step = strides[2];
  for (int64_t i = 0; i < n; ++i, y += y_step, x += x_step, offset += offset_step)
    std::memcpy(y, x + *reinterpret_cast<int64_t*>(offset), sizeof(T));
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
void write_at(char** data, const int64_t* strides, int64_t n, const void*) {
  char *y = data[0], *x = data[1], *offset = data[2];
  if (strides[2] == 0 && strides[0] == sizeof(T) && strides[1] == sizeof(T)) {
    // A whole row at one offset.
    T* target = reinterpret_cast<T*>(y + *reinterpret_cast<int64_t*>(offset));
    const T* values = reinterpret_cast<const T*>(x);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) target[i] = combined<T, mode>(target[i], values[i]);
    return;
  }
  int64_t y_step = strides[0], x_step = strides[1], offset_step = strides[2];
  for (int64_t i = 0; i < n; ++i, y += y_step, x += x_step, offset += offset_step) {
    T* target = reinterpret_cast<T*>(y + *reinterpret_cast<int64_t*>(offset));
    *target = combined<T, mode>(*target, *reinterpret_cast<const T*>(x));
  }
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
