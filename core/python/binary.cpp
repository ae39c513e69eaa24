#include "ops/pointwise/binary.h"

#include "ops/ops.h"
#include "ops/pointwise/binding.h"

namespace facula {

FACULA_BINDINGS {
  const char* pair = "facula.tensor([1.0, 5.0]), facula.tensor([2.0, 3.0])";
  const char* ints = "facula.tensor([12, 5]), facula.tensor([10, 3])";
  def_binary(m, {"maximum"}, Numbers::None, maximum,
             {"The larger of two elements; NaN if either is.", pair, "tensor([2., 5.])"});
  def_binary(m, {"minimum"}, Numbers::None, minimum,
             {"The smaller of two elements; NaN if either is.", pair, "tensor([1., 3.])"});
  def_binary(m, {"fmax"}, Numbers::None, fmax,
             {"The larger of two elements; a number wins over NaN.", pair, "tensor([2., 5.])"});
  def_binary(m, {"fmin"}, Numbers::None, fmin,
             {"The smaller of two elements; a number wins over NaN.", pair, "tensor([1., 3.])"});
  def_binary(m, {"atan2", "arctan2"}, Numbers::None, atan2,
             {"The angle of the point ``(other, input)``, in ``(-pi, pi]``.", pair,
              "tensor([0.4636, 1.0304])"});
  def_binary(m, {"hypot"}, Numbers::None, hypot,
             {"``sqrt(input**2 + other**2)`` without overflow on the way.", pair,
              "tensor([2.2361, 5.8310])"});
  def_binary(m, {"copysign"}, Numbers::Second, copysign,
             {"The size of ``input`` with the sign of ``other``.", "facula.tensor([1.0, -2.0]), -1",
              "tensor([-1., -2.])"});
  def_binary(
      m, {"nextafter"}, Numbers::None, nextafter,
      {"The next number after ``input`` towards ``other``.", pair, "tensor([1.0000, 5.0000])"});
  def_binary(
      m, {"logaddexp"}, Numbers::None, logaddexp,
      {"``log(exp(input) + exp(other))`` without overflow.", pair, "tensor([2.3133, 5.1269])"});
  def_binary(m, {"logaddexp2"}, Numbers::None, logaddexp2,
             {"``log2(2**input + 2**other)`` without overflow.", pair, "tensor([2.5850, 5.3219])"});
  def_binary(m, {"xlogy"}, Numbers::OneOf, xlogy,
             {"``input * log(other)``, 0 where ``input`` is.", pair, "tensor([0.6931, 5.4931])"});
  def_binary(m, {"igamma"}, Numbers::None, igamma,
             {"The regularised lower incomplete gamma function ``P(input, other)``.", pair,
              "tensor([0.8647, 0.1847])"});
  def_binary(m, {"igammac"}, Numbers::None, igammac,
             {"The regularised upper incomplete gamma function ``Q(input, other)``.", pair,
              "tensor([0.1353, 0.8153])"});
  def_binary(m, {"ldexp"}, Numbers::None, ldexp,
             {"``input * 2**other``.", pair, "tensor([ 4., 40.])"});
  def_binary(m, {"gcd"}, Numbers::None, gcd,
             {"The greatest common divisor.", ints, "tensor([2, 1])"});
  def_binary(m, {"lcm"}, Numbers::None, lcm,
             {"The least common multiple.", ints, "tensor([60, 15])"});
  def_binary(m, {"bitwise_and"}, Numbers::OneOf, bitwise_and,
             {"The bits that both have.", ints, "tensor([8, 1])"});
  def_binary(m, {"bitwise_or"}, Numbers::OneOf, bitwise_or,
             {"The bits that one of them has.", ints, "tensor([14,  7])"});
  def_binary(m, {"bitwise_xor"}, Numbers::OneOf, bitwise_xor,
             {"The bits that exactly one of them has.", ints, "tensor([6, 6])"});
  def_binary(m, {"bitwise_left_shift"}, Numbers::OneOf, bitwise_left_shift,
             {"``input << other``.", "facula.tensor([1, 2]), 3", "tensor([ 8, 16])"});
  def_binary(m, {"bitwise_right_shift"}, Numbers::OneOf, bitwise_right_shift,
             {"``input >> other``.", "facula.tensor([8, 16]), 3", "tensor([1, 2])"});

  const char* heaviside_doc = R"(0 below zero, 1 above, ``values`` at zero.

Example:
    >>> facula.heaviside(facula.tensor([-1.0, 0.0, 1.0]), facula.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000]))";
  m.def(
      "heaviside",
      [](const Tensor& x, const Tensor& v, const Out& out) {
        return with_out("heaviside", out, [&] { return heaviside(x, v); });
      },
      "input"_a, "values"_a, nb::kw_only(), "out"_a.none() = nb::none(), heaviside_doc);
  def_method("heaviside", heaviside, "values"_a, heaviside_doc);
  def_method(
      "heaviside_",
      [](Tensor x, const Tensor& v) -> Tensor {
        return in_place("heaviside_", x, [&](const Tensor& t) { return heaviside(t, v); });
      },
      "values"_a);

  m.def(
      "complex",
      [](const Tensor& a, const Tensor& b, const Out& out) {
        return with_out("complex", out, [&] { return complex(a, b); });
      },
      "real"_a, "imag"_a, nb::kw_only(), "out"_a.none() = nb::none(),
      R"(A complex tensor of its real and imaginary parts.

Example:
    >>> facula.complex(facula.tensor([1.0]), facula.tensor([2.0]))
    tensor([1.+2.j]))");
  m.def(
      "polar",
      [](const Tensor& a, const Tensor& b, const Out& out) {
        return with_out("polar", out, [&] { return polar(a, b); });
      },
      "abs"_a, "angle"_a, nb::kw_only(), "out"_a.none() = nb::none(),
      R"(A complex tensor of absolute values and angles.

Example:
    >>> facula.polar(facula.tensor([2.0]), facula.tensor([0.0]))
    tensor([2.+0.j]))");
}

}  // namespace facula
