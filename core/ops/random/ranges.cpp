// Random integers, in tensors of any real dtype.
#include <limits>

#include "base/python_error.h"
#include "ops/random/draw.h"
#include "ops/random/random.h"
#include "random/sampling.h"

namespace facula {

namespace {

template <class T>
constexpr int kMantissaBits = std::is_same_v<T, Half>       ? 11
                              : std::is_same_v<T, BFloat16> ? 8
                                                            : std::numeric_limits<Wide<T>>::digits;

// value as T and back. What int64 cannot hold becomes its minimum, as on x86.
template <class T>
int64_t through(int64_t value) {
  double rounded = static_cast<Wide<T>>(static_cast<T>(static_cast<Wide<T>>(value)));
  if (!(rounded >= -0x1p63 && rounded < 0x1p63)) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(rounded);
}

// The distance between numbers of type T near a large value.
template <class T>
int64_t spacing(int64_t value) {
  uint64_t magnitude = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  int n = 0;
  while (magnitude >>= 1) ++n;
  return int64_t{1} << (n - kMantissaBits<T> + 1);
}

// Integers that T cannot hold are rounded, and must not be rounded out of [from, to): the bounds
// move inwards to the next that are safe.
template <class T>
int64_t safe_from(int64_t from) {
  int64_t next = through<T>(from + 1);
  return next < from ? next + spacing<T>(from + 1) : from;
}
template <class T>
int64_t safe_to(int64_t to) {
  int64_t last = through<T>(to - 1);
  return last >= to ? last - spacing<T>(to - 1) : to;
}

template <class T>
void check_bound(const char* name, int64_t value) {
  DType dtype = DTypeOf<T>::value;
  bool is_inside = true;
  if constexpr (std::is_same_v<T, Half>) {
    is_inside = value >= -65504 && value <= 65504;
  } else if constexpr (!is_floating_v<T>) {  // every int64 is within the range of the others
    is_inside = value >= static_cast<int64_t>(std::numeric_limits<T>::lowest()) &&
                value <= static_cast<int64_t>(std::numeric_limits<T>::max());
  }
  check(is_inside, "random_: expected bounds within the range of ", dtype, ", got ", name, " = ",
        value, ".");
  if constexpr (is_floating_v<T>) {
    int64_t limit = int64_t{1} << kMantissaBits<T>;
    if (value >= -limit && value <= limit) return;
    int failed = PyErr_WarnFormat(PyExc_UserWarning, 1,
                                  "random_: %s = %lld is outside [-2^%d, 2^%d], so %s cannot hold "
                                  "every integer of the range.",
                                  name, static_cast<long long>(value), kMantissaBits<T>,
                                  kMantissaBits<T>, dtype_name(dtype));
    if (failed) throw_python_error();
  }
}

struct Range {
  int64_t base;
  uint64_t n_values;  // 0: all of int64's
};

template <class T>
Range range_up_to(int64_t from, int64_t to) {
  check(from < to, "random_: expected from < to, got from=", from, " and to=", to, ".");
  if constexpr (is_floating_v<T>) {
    from = safe_from<T>(from);
    to = safe_to<T>(to);
    check(from < to, "random_: no integer of the range is a number of dtype ", DTypeOf<T>::value,
          ".");
  }
  check_bound<T>("from", from);
  check_bound<T>("to - 1", to - 1);
  return {from, static_cast<uint64_t>(to) - static_cast<uint64_t>(from)};
}

template <class T>
Range range_from(int64_t from) {
  int64_t last;
  if constexpr (is_floating_v<T>) {
    last = int64_t{1} << kMantissaBits<T>;
    from = safe_from<T>(from);
    check(from < last, "random_: expected from below ", last, ", the last integer of ",
          DTypeOf<T>::value, " without gaps, got ", from, ".");
  } else {
    last = static_cast<int64_t>(std::numeric_limits<T>::max());
  }
  check_bound<T>("from", from);
  return {from, static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1};
}

template <class T>
Range full_range() {
  constexpr bool has_kernel =
      std::is_same_v<T, int64_t> || (is_floating_v<T> && !std::is_same_v<T, Half>);
  if (!has_kernel) {
    bool is_unknown = std::is_same_v<T, bool> || std::is_same_v<T, Half>;
    fail(is_unknown ? ErrorKind::NotImplemented : ErrorKind::Runtime,
         "random_: expected int64, bfloat16, float32 or float64 for the whole range of int64, got ",
         DTypeOf<T>::value, ".");
  }
  return {0, 0};
}

template <class T>
Range range_of(int64_t from, std::optional<int64_t> to) {
  if (to) return range_up_to<T>(from, *to);
  if (from == std::numeric_limits<int64_t>::min()) return full_range<T>();
  return range_from<T>(from);
}

}  // namespace

Tensor& random_(Tensor& x, Generator& generator) {
  return sample_in_place("random_", "RandomBackward2", x, [&] {
    visit_real("random_", x.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      draw_into<T>(x, [&](T* out, int64_t n, const Dims&) {
        run_draw(n, [&] { fill_random(out, n, generator); });
      });
    });
  });
}

Tensor& random_(Tensor& x, int64_t from, std::optional<int64_t> to, Generator& generator) {
  check(!is_complex(x.dtype()), "random_: expected a real dtype, got ", x, ".");
  Range range;
  visit_real("random_", x.dtype(),
             [&](auto tag) { range = range_of<typename decltype(tag)::type>(from, to); });
  return sample_in_place("random_", "RandomBackward0", x, [&] {
    visit_real("random_", x.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      draw_into<T>(x, [&](T* out, int64_t n, const Dims&) {
        run_draw(n, [&] { fill_random_range(out, n, range.base, range.n_values, generator); });
      });
    });
  });
}

}  // namespace facula
