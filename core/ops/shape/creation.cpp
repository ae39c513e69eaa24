#include "ops/shape/creation.h"

#include <algorithm>
#include <cmath>

#include "base/number.h"
#include "base/parallel.h"
#include "bind/count.h"
#include "bind/dims_method.h"
#include "bind/sparse.h"
#include "cpu/shape/range.h"
#include "cuda/index/places.h"
#include "math/evenly_spaced.h"
#include "ops/factory.h"
#include "ops/ops.h"

namespace facula {

namespace {

// Lets fill(to, begin, end) write the elements of [begin, end) to `to`, for all of them.
template <class T, class F>
void fill_in_pieces(const Tensor& y, const F& fill) {
  constexpr int64_t kPiece = 32768;
  T* data = y.data_as<T>();
  parallel_for(y.numel(), kPiece,
               [&](int64_t begin, int64_t end) { fill(data + begin, begin, end); });
}

// The function that fills with value(i).
template <class T, class F>
auto one_by_one(F value) {
  return [value](T* to, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) *to++ = static_cast<T>(value(i));
  };
}

// The function for floating-point numbers of a type.
auto range_of(const cpu::RangeTable& table, float) { return table.floats; }
auto range_of(const cpu::RangeTable& table, double) { return table.doubles; }
auto range_of(const cpu::RangeTable& table, Half) { return table.halves; }
auto range_of(const cpu::RangeTable& table, BFloat16) { return table.bfloats; }

auto range_around(const cpu::RangeTable& table, float) { return table.floats_around; }
auto range_around(const cpu::RangeTable& table, double) { return table.doubles_around; }
auto range_around(const cpu::RangeTable& table, Half) { return table.halves_around; }
auto range_around(const cpu::RangeTable& table, BFloat16) { return table.bfloats_around; }

int64_t arange_length(Scalar start, Scalar end, Scalar step, DType dtype) {
  bool is_integral = start.is_integral() && end.is_integral() && step.is_integral();
  if (is_integral || dtype == DType::Int64) {
    auto fits = [](Scalar x) { return x.is_integral() || std::abs(x.to_double()) < 0x1p63; };
    int64_t distance;
    check(fits(start) && fits(end) && fits(step) &&
              !__builtin_sub_overflow(end.to_int(), start.to_int(), &distance),
          "arange: invalid size, possible overflow.");
    int64_t by = step.to_int();
    check_value(by != 0, "arange: step must be nonzero; ", step.to_double(), " is 0 in int64.");
    check(by != -1 || distance != std::numeric_limits<int64_t>::min(),
          "arange: invalid size, possible overflow.");
    return distance / by + (distance % by != 0);
  }
  double n = std::ceil((end.to_double() - start.to_double()) / step.to_double());
  check(n < 9.2e18, "arange: invalid size, possible overflow.");
  return static_cast<int64_t>(n);
}

}  // namespace

Tensor arange(Scalar start, Scalar end, Scalar step, DType dtype, Device device) {
  double from = start.to_double(), to = end.to_double(), by = step.to_double();
  check(by != 0, "arange: step must be nonzero.");
  check(std::isfinite(from) && std::isfinite(to), "arange: unsupported range: ", from, " -> ", to,
        ".");
  check((by > 0 && to >= from) || (by < 0 && to <= from), "arange: steps of ", by,
        " do not lead from ", from, " to ", to, ".");
  check_not_implemented(dtype != DType::Bool && !is_complex(dtype), "arange: not implemented for ",
                        dtype, ".");
  int64_t n = arange_length(start, end, step, dtype);
  Tensor y = empty({n}, dtype, device);
  if (!device.is_cpu()) {
    cuda::make_range(y, start, step);
    return y;
  }
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const cpu::RangeTable& table = cpu::get_range_table();
    if constexpr (std::is_integral_v<T>) {
      auto fill = table.integers[__builtin_ctz(sizeof(T))];
      int64_t first = start.to_int(), each = step.to_int();
      fill_in_pieces<T>(
          y, [=](T* to, int64_t begin, int64_t end) { fill(to, begin, end, first, each); });
    } else if constexpr (is_floating_v<T>) {  // complex numbers were refused
      auto fill = range_of(table, T());
      fill_in_pieces<T>(y,
                        [=](T* to, int64_t begin, int64_t end) { fill(to, begin, end, from, by); });
    }
  });
  return y;
}

namespace {

template <class T>
math::EvenlySpaced<T> evenly_spaced(Scalar start, Scalar end, int64_t steps) {
  using Numbers = math::EvenlySpaced<T>;
  using W = typename Numbers::W;
  W first = start.to<T>(), last = end.to<T>();
  W step = -0.0;  // which added to one number alone leaves it as it is, its sign included
  if (steps > 1) {
    auto n = static_cast<double>(steps - 1);
    if constexpr (is_complex_v<T>)
      step = (last - first) / static_cast<typename W::value_type>(n);
    else
      step = Numbers::rounded(Numbers::rounded(last - first) / W(n));
  }
  return {first, last, step, steps == 1 ? 1 : steps / 2, steps};
}

// The numbers of [begin, end), all at once.
template <class T>
void fill(const math::EvenlySpaced<T>& numbers, T* to, int64_t begin, int64_t end) {
  if constexpr (is_floating_v<T>) {
    int64_t middle = std::clamp(numbers.n_from_first, begin, end);
    auto around = range_around(cpu::get_range_table(), T());
    around(to, begin, middle, 0, numbers.first, numbers.step);
    around(to + (middle - begin), middle, end, numbers.steps - 1, numbers.last, numbers.step);
  } else {
    one_by_one<T>(numbers)(to, begin, end);
  }
}

}  // namespace

Tensor linspace(Scalar start, Scalar end, int64_t steps, DType dtype, Device device) {
  check(steps >= 0, "linspace: expected steps of at least 0, got ", steps, ".");
  check_not_implemented(dtype != DType::Bool, "linspace: not implemented for bool.");
  check_fits("linspace", "start", start, dtype);
  check_fits("linspace", "end", end, dtype);
  if (is_complex(dtype) && device.is_cpu()) {  // only real numbers are made as vectors
    auto from = start.to<Complex128>(), to = end.to<Complex128>();
    DType real = to_real_dtype(dtype);
    return complex(linspace(from.real(), to.real(), steps, real, device),
                   linspace(from.imag(), to.imag(), steps, real, device));
  }
  Tensor y = empty({steps}, dtype, device);
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto numbers = evenly_spaced<T>(start, end, steps);
    if (!device.is_cpu())
      return cuda::make_evenly_spaced(y, numbers.n_from_first, Complex128(numbers.first),
                                      Complex128(numbers.last), Complex128(numbers.step));
    fill_in_pieces<T>(y,
                      [&](T* to, int64_t first, int64_t last) { fill(numbers, to, first, last); });
  });
  return y;
}

Tensor logspace(Scalar start, Scalar end, int64_t steps, double base, DType dtype, Device device) {
  check(steps >= 0, "logspace: expected steps of at least 0, got ", steps, ".");
  check_not_implemented(dtype != DType::Bool, "logspace: not implemented for bool.");
  check_fits("logspace", "start", start, dtype);
  check_fits("logspace", "end", end, dtype);
  if (!device.is_cpu()) {
    // Exponents of integers are numbers between the integers start and end.
    auto whole = [&](Scalar x) { return is_integral(dtype) ? Scalar(x.to_int()) : x; };
    DType type = is_complex(dtype) ? DType::Complex128 : DType::Float64;
    Tensor exponents = linspace(whole(start), whole(end), steps, type, device);
    return to_dtype(pow(wrapped_number(base), exponents), dtype);
  }
  Tensor y = empty({steps}, dtype);
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = std::conditional_t<is_complex_v<T>, Complex128, double>;
    using Exponent = std::conditional_t<std::is_integral_v<T>, T, W>;
    auto power = evenly_spaced<Exponent>(start, end, steps);
    fill_in_pieces<T>(y, one_by_one<T>([base, power](int64_t i) {
                        return Wide<T>(std::pow(W(base), W(power(i))));
                      }));
  });
  return y;
}

namespace {

// The same checks as when memory is taken, here under the name that the user called.
void check_sizes(const char* op, const Dims& sizes, DType dtype) {
  int64_t nbytes = item_size(dtype);
  bool overflows = false, is_empty = false;
  for (int64_t size : sizes) {
    check(size >= 0, op, ": expected sizes of at least 0, got the shape ", sizes, ".");
    is_empty |= size == 0;
    overflows |= __builtin_mul_overflow(nbytes, size, &nbytes);
  }
  check(!overflows || is_empty, op, ": the shape ", sizes, " of ", dtype,
        " needs more bytes than an int64 can count.");
}

// The rows of the elements of a triangle, then their columns.
Tensor triangle_indices(int64_t n_rows, int64_t n_columns, int64_t offset, bool is_lower,
                        std::optional<DType> dtype, std::optional<DeviceArg> place) {
  const char* op = is_lower ? "tril_indices" : "triu_indices";
  DType type = dtype.value_or(DType::Int64);
  Device device = device_or_default(place);
  check(n_rows >= 0 && n_columns >= 0, op, ": expected row and col >= 0, got ", n_rows, " and ",
        n_columns, ".");
  check_not_implemented(type == DType::Int32 || type == DType::Int64, op,
                        ": expected a dtype of int32 or int64, got ", type, ".");
  check_sizes(op, {2, n_rows, n_columns}, type);
  // However many rows there are, they need not be looked at.
  if (n_rows == 0 || n_columns == 0) return empty({2, 0}, type, device);
  math::Triangle triangle{n_rows, n_columns, std::clamp(offset, -n_rows, n_columns), is_lower};
  int64_t n = triangle.numel(n_rows);
  Tensor x = empty({2, n}, type, device);
  if (!x.is_cpu()) {
    cuda::list_triangle(x, triangle);
    return x;
  }
  constexpr int64_t kPiece = 32768;
  auto range = cpu::get_range_table().integers[__builtin_ctzll(x.itemsize())];
  auto [first_row, last_row] = triangle.rows();
  int64_t grain = std::max<int64_t>(1, kPiece / std::max<int64_t>(n_columns, 1));
  parallel_for(last_row - first_row, grain, [&, skipped = first_row](int64_t begin, int64_t end) {
    char* at = x.data() + triangle.numel(skipped + begin) * x.itemsize();
    for (int64_t r = skipped + begin; r < skipped + end; ++r) {
      auto [first, last] = triangle.columns(r);
      range(at, first, last, r, 0);
      range(at + n * x.itemsize(), first, last, 0, 1);
      at += (last - first) * x.itemsize();
    }
  });
  return x;
}

}  // namespace

Tensor eye(int64_t n, int64_t m, DType dtype, Device device) {
  check(n >= 0, "eye: expected n of at least 0, got ", n, ".");
  check(m >= 0, "eye: expected m of at least 0, got ", m, ".");
  Tensor x = zeros({n, m}, dtype, device);
  Tensor line = diagonal(x);
  fill_(line, 1);
  return x;
}

namespace {

// The dtype asked for, by name or by out=; else the default of the operation.
DType chosen_dtype(const char* op, const FactoryOptions& options, const Tensor& out,
                   DType otherwise) {
  const std::optional<DType>& dtype = options.dtype;
  bool is_given = out.defined();
  check(!dtype || !is_given || *dtype == out.dtype(), op, ": dtype=", dtype.value_or(otherwise),
        " does not match the dtype of out=, ", is_given ? out.dtype() : otherwise, ".");
  return dtype.value_or(is_given ? out.dtype() : otherwise);
}

DType linear_dtype(const char* op, const FactoryOptions& options, const Tensor& out, Scalar a,
                   Scalar b) {
  bool is_complex = a.is_complex() || b.is_complex();
  return chosen_dtype(op, options, out,
                      is_complex ? to_complex_dtype(get_default_dtype()) : get_default_dtype());
}

// An end of a range that is made at `place`: a number, or a tensor that holds one. On meta no
// number is needed.
Scalar end_from(const char* op, const Operand& x, Device place) {
  check(x.tensor.dim() == 0, op, ": expected numbers or 0-d tensors as start and end, got ",
        x.tensor, ".");
  if (!x.tensor.is_meta() || !place.is_meta()) return item(x.tensor);
  return is_complex(x.tensor.dtype()) ? Scalar(std::complex<double>()) : Scalar(0);
}

Tensor full_to(const FactoryOptions& options, const Dims& size, Scalar value,
               const OptionalTensor& out) {
  DType type = chosen_dtype("full", options, out, value.dtype());
  check_sizes("full", size, type);
  return into_out("full", full(size, value, type, options.place()), out);
}

Tensor arange_to(const FactoryOptions& options, Scalar start, Scalar end, Scalar step,
                 const OptionalTensor& out) {
  for (const Scalar& number : {start, end, step})
    check(!number.is_complex(), "arange: expected real numbers, got a complex one.");
  bool is_integral = start.is_integral() && end.is_integral() && step.is_integral();
  DType dtype =
      chosen_dtype("arange", options, out, is_integral ? DType::Int64 : get_default_dtype());
  return into_out("arange", arange(start, end, step, dtype, options.place()), out);
}

Tensor arange_from_0(const FactoryOptions& options, Scalar end, const OptionalTensor& out) {
  return arange_to(options, 0, end, 1, out);
}

Tensor linspace_to(const FactoryOptions& options, const Operand& from, const Operand& to,
                   int64_t steps, const OptionalTensor& out) {
  Scalar start = end_from("linspace", from, options.place()),
         end = end_from("linspace", to, options.place());
  DType dtype = linear_dtype("linspace", options, out, start, end);
  return into_out("linspace", linspace(start, end, steps, dtype, options.place()), out);
}

Tensor logspace_to(const FactoryOptions& options, const Operand& from, const Operand& to,
                   int64_t steps, double base, const OptionalTensor& out) {
  Scalar start = end_from("logspace", from, options.place()),
         end = end_from("logspace", to, options.place());
  DType dtype = linear_dtype("logspace", options, out, start, end);
  return into_out("logspace", logspace(start, end, steps, base, dtype, options.place()), out);
}

Tensor eye_to(const FactoryOptions& options, Count n, std::optional<Count> m,
              const OptionalTensor& out) {
  DType type = chosen_dtype("eye", options, out, get_default_dtype());
  return into_out("eye", eye(n, m.value_or(n), type, options.place()), out);
}

void bind_ranges(nb::module_& m) {
  def_factory(m, "arange", &arange_from_0, "", "end"_a, nb::kw_only(), "out"_or_none);
  def_factory(m, "arange", &arange_to, R"(The numbers from start (0) to before end by step (1).
    start: the first number.
    end: the end, which is not reached.
    step: the distance of the numbers; it may be negative.
    out: where to put the result.
    >>> facula.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000]))"_doc,
              "start"_a, "end"_a, "step"_a = Scalar(1), nb::kw_only(), "out"_or_none);
  def_factory(m, "linspace", &linspace_to,
              R"(``steps`` numbers at equal distances from start to end, both included.
    start: the first number.
    end: the last number.
    steps: how many numbers are wanted.
    out: where to put the result.
    >>> facula.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000]))"_doc,
              "start"_a, "end"_a, "steps"_a, nb::kw_only(), "out"_or_none);
  def_factory(m, "logspace", &logspace_to,
              R"(Powers of ``base`` with exponents at equal distances from start to end.
    start: the first exponent.
    end: the last exponent.
    steps: how many numbers are wanted.
    base: what is raised to the exponents.
    out: where to put the result.
    >>> facula.logspace(0, 2, 3)
    tensor([  1.,  10., 100.]))"_doc,
              "start"_a, "end"_a, "steps"_a, "base"_a = 10.0, nb::kw_only(), "out"_or_none);
}

// The shape is f(2, 3), f((2, 3)) or f(size=(2, 3)).
template <class Make>
void def_sized(nb::module_& m, const char* name, Make make, const char* doc,
               bool has_sparse = false) {
  m.def(
      name,
      [name, make, has_sparse](const nb::args& args, std::optional<Dims> size,
                               const OptionalTensor& out, std::optional<DType> dtype,
                               nb::handle layout, std::optional<DeviceArg> device, bool pin_memory,
                               bool requires_grad, MemoryFormat format) {
        bool is_sparse = has_sparse && !is_strided(layout);
        if (!is_sparse) check_strided(layout);
        check_type(!size || args.size() == 0, name, ": the size is given twice.");
        Dims sizes = size ? *size : dims_from_args(name, args);
        DType type = chosen_dtype(name, {dtype, device}, out, get_default_dtype());
        check(!is_sparse || !out.defined(), name, ": out= is for dense tensors.");
        if (is_sparse)
          return with_grad(sparse::call("empty", layout, nb::steal(size_object(sizes)),
                                        nb::handle(dtype_object(type)), device_or_default(device)),
                           requires_grad);
        check_sizes(name, sizes, type);
        Tensor made = make(sizes, type, device_or_default(device), format, out);
        return with_grad(pinned_if(pin_memory && !out.defined(), made), requires_grad);
      },
      "args"_a, nb::kw_only(), "size"_or_none, "out"_or_none, FACULA_FACTORY_ARGUMENTS,
      "memory_format"_a = MemoryFormat::Contiguous,
      factory_doc(doc, "    memory_format: the order of the elements in memory.\n").c_str());
}

// What a factory called `name` returns, where out= may be given and every element has one value.
auto filled_with(const char* name, Scalar value) {
  return [name, value](const Dims& sizes, DType dtype, Device device, MemoryFormat format,
                       const Tensor& out) {
    Tensor x = empty(sizes, dtype, device, format);
    copy_into(x, scalar_tensor(value, dtype));
    return into_out(name, x, out);
  };
}

void bind_sized(nb::module_& m) {
  def_sized(
      m, "empty",
      [](const Dims& s, DType t, Device d, MemoryFormat f, const Tensor& out) {
        if (!out.defined()) return empty(s, t, d, f);
        resize_(out, s);
        return out;
      },
      R"(A tensor whose memory is as it comes.
    args: the shape, as ints or as one tuple of ints.
    size: the shape, given by name.
    out: where to put the result.
    >>> facula.empty(2, 3).shape
    torch.Size([2, 3]))"_doc,
      /*has_sparse=*/true);
  def_sized(m, "zeros", filled_with("zeros", 0),
            R"(A tensor of zeros.
    args: the shape, as ints or as one tuple of ints.
    size: the shape, given by name.
    out: where to put the result.
    >>> facula.zeros(2)
    tensor([0., 0.]))"_doc,
            /*has_sparse=*/true);
  def_sized(m, "ones", filled_with("ones", 1),
            R"(A tensor of ones.
    args: the shape, as ints or as one tuple of ints.
    size: the shape, given by name.
    out: where to put the result.
    >>> facula.ones(2, dtype=facula.int64)
    tensor([1, 1]))"_doc);
}

void bind_others(nb::module_& m) {
  m.def("_triangle_indices", &triangle_indices, "row"_a, "col"_a, "offset"_a, "is_lower"_a,
        "dtype"_or_none, "device"_or_none);
  def_factory(m, "full", &full_to, R"(A tensor filled with one value, whose type it takes.
    size: the shape.
    fill_value: the value of all elements.
    out: where to put the result.
    >>> facula.full((2,), 7)
    tensor([7, 7]))"_doc,
              "size"_a, "fill_value"_a, nb::kw_only(), "out"_or_none);
  def_factory(m, "eye", &eye_to, R"(A matrix with ones on the diagonal and zeros elsewhere.
    n: the number of rows.
    m: the number of columns; by default that of the rows.
    out: where to put the result.
    >>> facula.eye(2)
    tensor([[1., 0.],
            [0., 1.]]))"_doc,
              "n"_a, "m"_or_none, nb::kw_only(), "out"_or_none);
  m.def(
      "scalar_tensor",
      [](Scalar s, std::optional<DType> dtype, std::optional<DeviceArg> device,
         bool requires_grad) {
        DType type = dtype.value_or(get_default_dtype());
        check_number("scalar_tensor", s, type);
        return with_grad(scalar_tensor(s, type, device_or_default(device)), requires_grad);
      },
      "s"_a, nb::kw_only(), "dtype"_or_none, "device"_or_none, "requires_grad"_a = false,
      R"(A 0-d tensor.
    s: the value of the result.
    dtype: the dtype of the result; None for the default dtype.
    device: where the result is made; None for the default device.
    requires_grad: whether operations on the result are recorded.
    >>> facula.scalar_tensor(2)
    tensor(2.))"_doc);
  m.def(
      "empty_strided",
      [](const IntList& size, const IntList& stride, std::optional<DType> dtype, nb::handle layout,
         std::optional<DeviceArg> device, bool requires_grad, bool pin_memory) {
        check_strided(layout);
        Tensor made = empty_strided(size, stride, dtype.value_or(get_default_dtype()),
                                    device_or_default(device));
        return with_grad(pinned_if(pin_memory, made), requires_grad);
      },
      "size"_a, "stride"_a, nb::kw_only(), "dtype"_or_none, "layout"_or_none, "device"_or_none,
      "requires_grad"_a = false, "pin_memory"_a = false,
      factory_doc(R"(A tensor with the given strides, whose memory is as it comes.
    size: the shape.
    stride: the distances of neighbours along each dimension, in elements.
    >>> facula.empty_strided((2, 3), (1, 2)).stride()
    (1, 2))"_doc)
          .c_str());
}

void bind_like(nb::module_& m) {
  void (*leave)(Tensor&) = [](Tensor&) {};
  void (*fill_with_0)(Tensor&) = [](Tensor& y) { copy_into(y, wrapped_number(0)); };
  void (*fill_with_1)(Tensor&) = [](Tensor& y) { copy_into(y, wrapped_number(1)); };
  void (*fill_with)(Tensor&, Scalar) = [](Tensor& y, Scalar value) {
    check_fits("full_like", "fill_value", value, y.dtype());
    copy_into(y, wrapped_number(value));
  };
  def_like(m, "empty_like", leave,
           R"(A tensor of the form of the input, whose memory is as it comes.
    input: the tensor whose shape, dtype and device the result has.
    >>> facula.empty_like(facula.ones(2, 3)).shape
    torch.Size([2, 3]))"_doc,
           nb::kw_only());
  def_like(m, "zeros_like", fill_with_0, R"(Zeros in the form of the input.
    input: the tensor whose shape, dtype and device the result has.
    >>> facula.zeros_like(facula.ones(2))
    tensor([0., 0.]))"_doc,
           nb::kw_only());
  def_like(m, "ones_like", fill_with_1, R"(Ones in the form of the input.
    input: the tensor whose shape, dtype and device the result has.
    >>> facula.ones_like(facula.zeros(2))
    tensor([1., 1.]))"_doc,
           nb::kw_only());
  def_like(m, "full_like", fill_with, R"(One value in the form of the input.
    input: the tensor whose shape, dtype and device the result has.
    fill_value: the value of all elements.
    >>> facula.full_like(facula.zeros(2), 3)
    tensor([3., 3.]))"_doc,
           "fill_value"_a, nb::kw_only());
}

// The docstring of new_zeros() and the like, from its sentence, its own arguments and its example.
std::string new_doc(const char* sentence, const char* arguments, const char* example) {
  return std::string(sentence) + "\n\nArgs:\n" + arguments +
         R"(    dtype: the dtype of the result; None for that of this tensor.
    device: where the result is made; None for the device of this tensor.
    requires_grad: whether operations on the result are recorded.
    layout: strided, the only one.
    pin_memory: whether the result is in memory that a GPU reads directly.

Example:
)" + example;
}

// x.new_zeros(2, 3): as the factory, with dtype and device of x.
template <class Make>
void def_new(const char* name, Make make, const char* sentence, const char* example) {
  std::string doc = new_doc(sentence, R"(    args: the shape, as ints or as one tuple of ints.
    size: the shape, given by name.
)",
                            example);
  def_method(
      name,
      [name, make](const Tensor& x, const nb::args& args, std::optional<Dims> size,
                   std::optional<DType> dtype, std::optional<DeviceArg> device, bool requires_grad,
                   nb::handle layout, bool pin_memory) {
        check_strided(layout);
        Dims sizes = size ? *size : dims_from_args(name, args);
        Tensor made = make(sizes, dtype.value_or(x.dtype()), device ? device->device : x.device());
        return with_grad(pinned_if(pin_memory, made), requires_grad);
      },
      "args"_a, nb::kw_only(), "size"_or_none, "dtype"_or_none, "device"_or_none,
      "requires_grad"_a = false, "layout"_or_none, "pin_memory"_a = false, doc.c_str());
}

void bind_new() {
  def_new(
      "new_empty", [](const Dims& s, DType t, Device d) { return empty(s, t, d); },
      "A tensor with the dtype and device of this one, whose memory is as it comes.",
      "    >>> facula.zeros(2).new_empty(2, 3).shape\n    torch.Size([2, 3])");
  def_new(
      "new_zeros", [](const Dims& s, DType t, Device d) { return full(s, 0, t, d); },
      "Zeros with the dtype and device of this tensor.",
      "    >>> facula.tensor([1, 2]).new_zeros(3)\n    tensor([0, 0, 0])");
  def_new(
      "new_ones", [](const Dims& s, DType t, Device d) { return full(s, 1, t, d); },
      "Ones with the dtype and device of this tensor.",
      "    >>> facula.tensor([1, 2]).new_ones(3)\n    tensor([1, 1, 1])");
  def_method(
      "new_full",
      [](const Tensor& x, const Dims& size, Scalar value, std::optional<DType> dtype,
         std::optional<DeviceArg> device, bool requires_grad, nb::handle layout, bool pin_memory) {
        check_strided(layout);
        Tensor made =
            full(size, value, dtype.value_or(x.dtype()), device ? device->device : x.device());
        return with_grad(pinned_if(pin_memory, made), requires_grad);
      },
      "size"_a, "fill_value"_a, nb::kw_only(), "dtype"_or_none, "device"_or_none,
      "requires_grad"_a = false, "layout"_or_none, "pin_memory"_a = false,
      new_doc("A tensor filled with one value, with the dtype and device of this one.",
              "    size: the shape.\n    fill_value: the value of all elements.\n",
              "    >>> facula.tensor([1, 2]).new_full((3,), 7)\n    tensor([7, 7, 7])")
          .c_str());
}

}  // namespace

FACULA_BINDINGS {
  bind_sized(m);
  bind_others(m);
  bind_ranges(m);
  bind_like(m);
  bind_new();
}

}  // namespace facula
