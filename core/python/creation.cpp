#include "ops/shape/creation.h"

#include "autograd/node.h"
#include "base/number.h"
#include "bind/bind.h"
#include "bind/default_device.h"
#include "ops/ops.h"
#include "python/new_tensor.h"

namespace facula {

namespace {

using MaybeDType = std::optional<DType>;
using MaybeDevice = std::optional<DeviceArg>;
using Out = std::optional<Tensor>;

Tensor finish(Tensor x, bool requires_grad) {
  if (requires_grad) require_grad(x, true);
  return x;
}

// The dtype asked for, by name or by out=; else the default of the operation.
DType chosen_dtype(const char* op, const MaybeDType& dtype, const Out& out, DType otherwise) {
  check(!dtype || !out || *dtype == out->dtype(), op, ": dtype=", dtype.value_or(otherwise),
        " does not match the dtype of out=, ", out ? out->dtype() : otherwise, ".");
  return dtype.value_or(out ? out->dtype() : otherwise);
}

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

// dtype, layout, device, pin_memory, requires_grad: layout and pin_memory are accepted for their
// only value here.
#define FACTORY_ARGS                                                             \
  nb::kw_only(), "out"_a.none() = nb::none(), "dtype"_a.none() = nb::none(),     \
                 "layout"_a.none() = nb::none(), "device"_a.none() = nb::none(), \
                 "pin_memory"_a = false, "requires_grad"_a = false

// The shape is f(2, 3), f((2, 3)) or f(size=(2, 3)).
template <class Make>
void def_sized(nb::module_& m, const char* name, Make make, const char* doc) {
  m.def(
      name,
      [name, make](const nb::args& args, std::optional<Dims> size, const Out& out, MaybeDType dtype,
                   nb::handle, MaybeDevice device, bool, bool requires_grad, MemoryFormat format) {
        check_type(!size || args.size() == 0, name, ": the size is given twice.");
        Dims sizes = size ? *size : dims_from_args(name, args);
        check_type(size || args.size() > 0, name, ": the size is missing.");
        DType type = chosen_dtype(name, dtype, out, get_default_dtype());
        check_sizes(name, sizes, type);
        return finish(make(sizes, type, device_or_default(device), format, out.value_or(Tensor())),
                      requires_grad);
      },
      "args"_a, nb::kw_only(), "size"_a.none() = nb::none(), "out"_a.none() = nb::none(),
      "dtype"_a.none() = nb::none(), "layout"_a.none() = nb::none(), "device"_a.none() = nb::none(),
      "pin_memory"_a = false, "requires_grad"_a = false,
      "memory_format"_a = MemoryFormat::Contiguous, doc);
}

template <class Make>
void def_like(nb::module_& m, const char* name, Make make, const char* doc) {
  m.def(
      name,
      [make](const Tensor& x, MaybeDType dtype, nb::handle, MaybeDevice device, bool,
             bool requires_grad, MemoryFormat format) {
        Tensor y =
            empty_like(x, dtype.value_or(x.dtype()), device ? device->device : x.device(), format);
        make(y);
        return finish(y, requires_grad);
      },
      "input"_a, nb::kw_only(), "dtype"_a.none() = nb::none(), "layout"_a.none() = nb::none(),
      "device"_a.none() = nb::none(), "pin_memory"_a = false, "requires_grad"_a = false,
      "memory_format"_a = MemoryFormat::Preserve, doc);
}

// x.new_zeros(2, 3): as the factory, with dtype and device of x.
template <class Make>
void def_new(const char* name, Make make, const char* doc) {
  def_method(
      name,
      [name, make](const Tensor& x, const nb::args& args, std::optional<Dims> size,
                   MaybeDType dtype, MaybeDevice device, bool requires_grad) {
        Dims sizes = size ? *size : dims_from_args(name, args);
        return finish(make(sizes, dtype.value_or(x.dtype()), device ? device->device : x.device()),
                      requires_grad);
      },
      "args"_a, nb::kw_only(), "size"_a.none() = nb::none(), "dtype"_a.none() = nb::none(),
      "device"_a.none() = nb::none(), "requires_grad"_a = false, doc);
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

DType arange_dtype(const MaybeDType& dtype, const Out& out, Scalar a, Scalar b, Scalar c) {
  bool is_integral = a.is_integral() && b.is_integral() && c.is_integral();
  return chosen_dtype("arange", dtype, out, is_integral ? DType::Int64 : get_default_dtype());
}

DType linear_dtype(const char* op, const MaybeDType& dtype, const Out& out, Scalar a, Scalar b) {
  bool is_complex = a.is_complex() || b.is_complex();
  return chosen_dtype(op, dtype, out,
                      is_complex ? to_complex_dtype(get_default_dtype()) : get_default_dtype());
}

// An end of a range: a number, or a tensor that holds one.
Scalar end_from(const char* op, const Operand& x) {
  check(x.tensor.dim() == 0, op, ": expected numbers or 0-d tensors as start and end, got ",
        x.tensor, ".");
  return item(x.tensor);
}

}  // namespace

FACULA_BINDINGS {
  m.def(
      "tensor",
      [](nb::handle data, MaybeDType dtype, MaybeDevice device, bool requires_grad, bool) {
        Device where = device                  ? device->device
                       : is_tensor(data.ptr()) ? as_tensor(data.ptr()).device()
                                               : default_device();
        return finish(tensor_from_data(data.ptr(), dtype, where), requires_grad);
      },
      "data"_a.none(), nb::kw_only(), "dtype"_a.none() = nb::none(), "device"_a.none() = nb::none(),
      "requires_grad"_a = false, "pin_memory"_a = false,
      R"(A new tensor with a copy of the data: a number, nested sequences of numbers, an array, a tensor.

The dtype is inferred: int64 for ints, the default dtype for floats, bool, complex.

Example:
    >>> facula.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]]))");
  def_sized(
      m, "empty",
      [](const Dims& s, DType t, Device d, MemoryFormat f, const Tensor& out) {
        if (!out.defined()) return empty(s, t, d, f);
        resize_(out, s);
        return out;
      },
      R"(A tensor whose memory is as it comes.

Example:
    >>> facula.empty(2, 3).shape
    torch.Size([2, 3]))");
  def_sized(m, "zeros", filled_with("zeros", 0),
            R"(A tensor of zeros.

Example:
    >>> facula.zeros(2)
    tensor([0., 0.]))");
  def_sized(m, "ones", filled_with("ones", 1),
            R"(A tensor of ones.

Example:
    >>> facula.ones(2, dtype=facula.int64)
    tensor([1, 1]))");
  m.def(
      "full",
      [](const Dims& size, Scalar value, const Out& out, MaybeDType dtype, nb::handle,
         MaybeDevice device, bool, bool requires_grad) {
        DType type = chosen_dtype("full", dtype, out, value.dtype());
        check_sizes("full", size, type);
        return finish(into_out("full", full(size, value, type, device_or_default(device)),
                               out.value_or(Tensor())),
                      requires_grad);
      },
      "size"_a, "fill_value"_a, FACTORY_ARGS,
      R"(A tensor filled with one value, whose type it takes.

Example:
    >>> facula.full((2,), 7)
    tensor([7, 7]))");
  m.def(
      "scalar_tensor",
      [](Scalar s, MaybeDType dtype, MaybeDevice device, bool requires_grad) {
        DType type = dtype.value_or(get_default_dtype());
        check_number("scalar_tensor", s, type);
        return finish(scalar_tensor(s, type, device_or_default(device)), requires_grad);
      },
      "s"_a, nb::kw_only(), "dtype"_a.none() = nb::none(), "device"_a.none() = nb::none(),
      "requires_grad"_a = false, "A 0-d tensor.");
  m.def(
      "empty_strided",
      [](const Dims& size, const Dims& stride, MaybeDType dtype, nb::handle, MaybeDevice device,
         bool requires_grad, bool) {
        return finish(empty_strided(size, stride, dtype.value_or(get_default_dtype()),
                                    device_or_default(device)),
                      requires_grad);
      },
      "size"_a, "stride"_a, nb::kw_only(), "dtype"_a.none() = nb::none(),
      "layout"_a.none() = nb::none(), "device"_a.none() = nb::none(), "requires_grad"_a = false,
      "pin_memory"_a = false, "A tensor with the given strides, whose memory is as it comes.");

  def_like(
      m, "empty_like", [](const Tensor&) {},
      "A tensor of the form of the input, whose memory is as it comes.");
  def_like(
      m, "zeros_like", [](const Tensor& y) { copy_into(y, wrapped_number(0)); },
      "Zeros in the form of the input.");
  def_like(
      m, "ones_like", [](const Tensor& y) { copy_into(y, wrapped_number(1)); },
      "Ones in the form of the input.");
  m.def(
      "full_like",
      [](const Tensor& x, Scalar value, MaybeDType dtype, nb::handle, MaybeDevice device, bool,
         bool requires_grad, MemoryFormat format) {
        Tensor y =
            empty_like(x, dtype.value_or(x.dtype()), device ? device->device : x.device(), format);
        check_fits("full_like", "fill_value", value, y.dtype());
        copy_into(y, wrapped_number(value));
        return finish(y, requires_grad);
      },
      "input"_a, "fill_value"_a, nb::kw_only(), "dtype"_a.none() = nb::none(),
      "layout"_a.none() = nb::none(), "device"_a.none() = nb::none(), "pin_memory"_a = false,
      "requires_grad"_a = false, "memory_format"_a = MemoryFormat::Preserve,
      "One value in the form of the input.");
  def_new(
      "new_empty", [](const Dims& s, DType t, Device d) { return empty(s, t, d); },
      "As empty, with this tensor's dtype and device.");
  def_new(
      "new_zeros", [](const Dims& s, DType t, Device d) { return full(s, 0, t, d); },
      "As zeros, with this tensor's dtype and device.");
  def_new(
      "new_ones", [](const Dims& s, DType t, Device d) { return full(s, 1, t, d); },
      "As ones, with this tensor's dtype and device.");
  def_method(
      "new_full",
      [](const Tensor& x, const Dims& size, Scalar value, MaybeDType dtype, MaybeDevice device,
         bool requires_grad) {
        return finish(
            full(size, value, dtype.value_or(x.dtype()), device ? device->device : x.device()),
            requires_grad);
      },
      "size"_a, "fill_value"_a, nb::kw_only(), "dtype"_a.none() = nb::none(),
      "device"_a.none() = nb::none(), "requires_grad"_a = false,
      "As full, with this tensor's dtype and device.");
  def_method(
      "new_tensor",
      [](const Tensor& x, nb::handle data, MaybeDType dtype, MaybeDevice device,
         bool requires_grad) {
        return finish(tensor_from_data(data.ptr(), dtype.value_or(x.dtype()),
                                       device ? device->device : x.device()),
                      requires_grad);
      },
      "data"_a.none(), nb::kw_only(), "dtype"_a.none() = nb::none(), "device"_a.none() = nb::none(),
      "requires_grad"_a = false,
      "A copy of the data as a tensor of this tensor's dtype and device.");

  auto make_arange = [](Scalar start, Scalar end, Scalar step, const Out& out, MaybeDType dtype,
                        nb::handle, MaybeDevice device, bool, bool requires_grad) {
    Tensor x = arange(start, end, step, arange_dtype(dtype, out, start, end, step),
                      device_or_default(device));
    return finish(into_out("arange", x, out.value_or(Tensor())), requires_grad);
  };
  m.def(
      "arange",
      [make_arange](Scalar end, const Out& out, MaybeDType dtype, nb::handle layout,
                    MaybeDevice device, bool pin, bool requires_grad) {
        return make_arange(0, end, 1, out, dtype, layout, device, pin, requires_grad);
      },
      "end"_a, FACTORY_ARGS);
  m.def("arange", make_arange, "start"_a, "end"_a, "step"_a = Scalar(1), FACTORY_ARGS,
        R"(The numbers from start (0) to before end by step (1).

Example:
    >>> facula.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000]))");
  m.def(
      "linspace",
      [](const Operand& from, const Operand& to, int64_t steps, const Out& out, MaybeDType dtype,
         nb::handle, MaybeDevice device, bool, bool requires_grad) {
        Scalar start = end_from("linspace", from), end = end_from("linspace", to);
        Tensor x = linspace(start, end, steps, linear_dtype("linspace", dtype, out, start, end),
                            device_or_default(device));
        return finish(into_out("linspace", x, out.value_or(Tensor())), requires_grad);
      },
      "start"_a, "end"_a, "steps"_a, FACTORY_ARGS,
      R"(``steps`` numbers at equal distances from start to end, both included.

Example:
    >>> facula.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000]))");
  m.def(
      "logspace",
      [](const Operand& from, const Operand& to, int64_t steps, double base, const Out& out,
         MaybeDType dtype, nb::handle, MaybeDevice device, bool, bool requires_grad) {
        Scalar start = end_from("logspace", from), end = end_from("logspace", to);
        Tensor x =
            logspace(start, end, steps, base, linear_dtype("logspace", dtype, out, start, end),
                     device_or_default(device));
        return finish(into_out("logspace", x, out.value_or(Tensor())), requires_grad);
      },
      "start"_a, "end"_a, "steps"_a, "base"_a = 10.0, FACTORY_ARGS,
      R"(Powers of ``base`` with exponents at equal distances from start to end.

Example:
    >>> facula.logspace(0, 2, 3)
    tensor([  1.,  10., 100.]))");
  m.def(
      "eye",
      [](int64_t n, std::optional<int64_t> cols, const Out& out, MaybeDType dtype, nb::handle,
         MaybeDevice device, bool, bool requires_grad) {
        DType type = chosen_dtype("eye", dtype, out, get_default_dtype());
        return finish(into_out("eye", eye(n, cols.value_or(n), type, device_or_default(device)),
                               out.value_or(Tensor())),
                      requires_grad);
      },
      "n"_a, "m"_a.none() = nb::none(), FACTORY_ARGS,
      R"(A matrix with ones on the diagonal and zeros elsewhere.

Example:
    >>> facula.eye(2)
    tensor([[1., 0.],
            [0., 1.]]))");
}

}  // namespace facula
