// Random integers, in tensors of any real dtype.
#include <limits>
#include <sstream>

#include "base/warning.h"
#include "ops/random/binding.h"
#include "ops/random/draw.h"
#include "ops/random/random.h"
#include "random/sampling.h"
#include "tensor/backend.h"

namespace facula {

// An int, which PyTorch takes here from a tensor of one element and any number of dimensions, too.
struct Bound {
  int64_t value;
  operator int64_t() const { return value; }
};

}  // namespace facula

template <>
struct nanobind::detail::type_caster<facula::Bound> {
  NB_TYPE_CASTER(facula::Bound, const_name("int"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    if (facula::index_from_object(src.ptr(), value.value)) return true;
    facula::Dims one;
    if (!facula::is_tensor(src.ptr()) || !facula::dims_from_object(src.ptr(), one)) return false;
    value.value = one[0];
    return true;
  }
};

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
    is_inside = value < 0 ? value >= static_cast<int64_t>(std::numeric_limits<T>::lowest())
                          : static_cast<uint64_t>(value) <=
                                static_cast<uint64_t>(std::numeric_limits<T>::max());
  }
  check(is_inside, "random_: expected bounds within the range of ", dtype, ", got ", name, " = ",
        value, ".");
  if constexpr (is_floating_v<T>) {
    int64_t limit = int64_t{1} << kMantissaBits<T>;
    if (value >= -limit && value <= limit) return;
    std::ostringstream text;
    text << "random_: " << name << " = " << value << " is outside [-2^"
         << kMantissaBits<T> << ", 2^" << kMantissaBits<T> << "], so " << dtype_name(dtype)
         << " cannot hold every integer of the range.";
    warn_user(text.str().c_str());
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

Tensor& random_(Tensor& x, Generator& generator) {
  return sample_in_place("random_", "RandomBackward2", x, [&] {
    visit_real("random_", x.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      if (draw_on_cuda(x, {Distribution::Integer}, generator)) return;
      draw_into<T>(x, [&](T* out, int64_t n, const Dims&) {
        run_draw(n, [&] { fill_random(out, n, generator); });
      });
    });
  });
}

// Integers in [from, to), or from `from` up to what the dtype holds.
Tensor& random_(Tensor& x, int64_t from, std::optional<int64_t> to, Generator& generator) {
  check(!is_complex(x.dtype()), "random_: expected a real dtype, got ", x, ".");
  Range range;
  visit_any_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T> || is_floating_v<T>) {
      range = range_of<T>(from, to);
    } else {
      refuse_stored_only(x.dtype());
    }
  });
  return sample_in_place("random_", "RandomBackward0", x, [&] {
    // uint16, uint32 and uint64 are drawn as the signed integers of the same bits.
    Tensor bits = is_wide_unsigned(x.dtype()) ? view_dtype(x, carrier(x.dtype())) : x;
    visit_real("random_", bits.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      cuda::Draw draw{Distribution::Range, 0, 0, range.base, range.n_values};
      if (draw_on_cuda(bits, draw, generator)) return;
      draw_into<T>(bits, [&](T* out, int64_t n, const Dims&) {
        run_draw(n, [&] { fill_random_range(out, n, range.base, range.n_values, generator); });
      });
    });
  });
}

// Keys in order, as fill_permutation() does it for this generator: unsigned ones, less 2^63.
Tensor permutation_on_cuda(int64_t n, DType dtype, Device device, Generator& generator) {
  NoGradGuard guard;
  Tensor keys = empty({n}, DType::Int64, device);
  cuda::draw_samples(keys, {Distribution::Range, 0, 0, std::numeric_limits<int64_t>::min(), 0},
                     generator);
  return to_dtype(sort(keys).second, dtype);
}

Tensor permutation(int64_t n, DType dtype, Device place, Generator& generator) {
  bool is_on_cuda = !place.is_cpu() && generator.kind() == GeneratorKind::Philox;
  bool is_drawn_here = !is_on_cuda && !place.is_meta();
  Tensor y = empty({is_drawn_here ? n : 0}, dtype);
  visit_numeric("randperm", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    // Every integer up to n - 1 must have a value of its own in T.
    int digits = std::is_same_v<T, Half> ? 11 : std::is_same_v<T, BFloat16> ? 8 : 0;
    if (digits == 0) digits = std::numeric_limits<T>::digits;
    bool is_exact = is_floating_v<T> ? n - 1 <= int64_t{1} << digits
                                     : digits == 63 || n <= int64_t{1} << digits;
    check(is_exact, "randperm: the integers up to n - 1 = ", n - 1, " do not all exist in ", dtype,
          ". Give a wider dtype.");
    T* out = y.data_as<T>();
    if (is_drawn_here) run_draw(n, [&] { fill_permutation(out, n, generator); });
  });
  if (is_on_cuda) return permutation_on_cuda(n, dtype, place, generator);
  if (place.is_meta()) return empty({n}, dtype, place);
  return to(y, place, dtype, false);
}

Tensor randperm(const FactoryOptions& options, Bound n, const GeneratorArg& generator,
                const OptionalTensor& out) {
  DType type = out.defined() ? out.dtype() : options.dtype.value_or(DType::Int64);
  Device place = options.place();
  check(!options.dtype || *options.dtype == type, "randperm: expected out of the given dtype ",
        options.dtype.value_or(type), ", got ", out, ".");
  if (!place.is_cpu()) place = backend_of(place).resolve(place);
  Tensor y = told_as("randperm",
                     [&] { return permutation(n, type, place, or_default(generator, place)); });
  if (out.defined() && out.sizes() != y.sizes()) resize_(out, y.sizes());
  return into_out("randperm", y, out);
}

Tensor randint(const FactoryOptions& options, Bound low, Bound high, const nb::object& size,
               const GeneratorArg& generator, const OptionalTensor& out) {
  Dims dims;
  check_type(dims_from_object(size.ptr(), dims),
             "randint: expected size as one tuple of ints, got ", nb::repr(size).c_str(), ".");
  Tensor x = target_of("randint", dims, options, DType::Int64, out);
  return told_as("randint",
                 [&] { return random_(x, low, high, or_default(generator, x.device())); });
}

Tensor randint_from_0(const FactoryOptions& options, Bound high, const nb::object& size,
                      const GeneratorArg& generator, const OptionalTensor& out) {
  return randint(options, {0}, high, size, generator, out);
}

void randint_like(Tensor& x, int64_t low, int64_t high, const GeneratorArg& generator) {
  random_(x, low, high, or_default(generator, x.device()));
}

void randint_like_from_0(Tensor& x, int64_t high, const GeneratorArg& generator) {
  random_(x, 0, high, or_default(generator, x.device()));
}

}  // namespace

FACULA_BINDINGS {
  def_method(
      "random_",
      [](Tensor x, const GeneratorArg& generator) {
        return random_(x, or_default(generator, x.device()));
      },
      nb::kw_only(), "generator"_or_none, R"(Fills the tensor with integers in [from, to).
    from: the least integer; 0 by default.
    to: one more than the largest integer; by default all that the dtype holds exactly.
    generator: where the random numbers come from; None for the default generator.)"_doc);
  def_method(
      "random_",
      [](Tensor x, int64_t to, const GeneratorArg& generator) {
        return random_(x, 0, to, or_default(generator, x.device()));
      },
      "to"_a, nb::kw_only(), "generator"_or_none);
  def_method(
      "random_",
      [](Tensor x, int64_t from, std::optional<int64_t> to, const GeneratorArg& generator) {
        return random_(x, from, to, or_default(generator, x.device()));
      },
      "from"_a, "to"_a.none(), nb::kw_only(), "generator"_or_none);
  def_factory(m, "randint", &randint_from_0, R"(Integers in [low, high), low 0 if left out.
    low: the least integer.
    high: one more than the largest integer.
    size: the shape, as one tuple of ints.
    generator: where the random numbers come from; None for the default generator.
    out: where to put the result.
    >>> facula.randint(5, 6, (3,))
    tensor([5, 5, 5]))"_doc,
              "high"_a, "size"_a, nb::kw_only(), "generator"_or_none, "out"_or_none);
  def_factory(m, "randint", &randint, "", "low"_a, "high"_a, "size"_a, nb::kw_only(),
              "generator"_or_none, "out"_or_none);
  def_like(m, "randint_like", &randint_like_from_0,
           R"(Integers in [low, high) in the form of input, low 0 if left out.
    input: the tensor whose shape, dtype and device the result has.
    low: the least integer.
    high: one more than the largest integer.
    generator: where the random numbers come from; None for the default generator.
    >>> facula.randint_like(facula.zeros(3), 5, 6)
    tensor([5., 5., 5.]))"_doc,
           "high"_a, nb::kw_only(), "generator"_or_none);
  def_like(m, "randint_like", &randint_like, "", "low"_a, "high"_a, nb::kw_only(),
           "generator"_or_none);
  def_factory(m, "randperm", &randperm, R"(A random permutation of 0 .. n - 1.
    n: the number of integers.
    generator: where the random numbers come from; None for the default generator.
    out: where to put the result.
    >>> facula.randperm(3).sort().values
    tensor([0, 1, 2]))"_doc,
              "n"_a, nb::kw_only(), "generator"_or_none, "out"_or_none);
}

}  // namespace facula
