#include "ops/pointwise/complex.h"

#include "cpu/pointwise/loop_tables.h"
#include "cpu/run.h"
#include "ops/ops.h"
#include "ops/pointwise/binding.h"

namespace facula {

namespace {

Tensor& abs_(Tensor& x) {
  check(!is_complex(x.dtype()), "abs_: expected a real tensor, got ", x, ". Use abs().");
  return in_place("abs_", x, [](const Tensor& t, const Into& into) { return abs(t, into); });
}

Tensor conjugate(const Tensor& x, const Into& into) {
  return is_complex(x.dtype()) ? conj_physical(x, into) : x;
}
Tensor& conjugate_(Tensor& x) {
  if (is_complex(x.dtype())) return conj_physical_(x);
  check_writable("conj_physical_", x);  // also where x is expanded: nothing is written
  return x;
}

// A complex tensor of two real ones. Both have the same floating dtype.
Tensor from_parts(const char* name, const Tensor& real_part, const Tensor& imag_part) {
  Dims shape = broadcast_shapes(name, real_part.sizes(), imag_part.sizes());
  NoGradGuard guard;
  Tensor y = empty_for(shape, to_complex_dtype(real_part.dtype()), {real_part, imag_part});
  if (y.is_cpu() && real_part.is_cpu() && imag_part.is_cpu()) {
    run_cpu(make_walk(name, y, {real_part, imag_part}),
            cpu::get_complex_table().loops[static_cast<int>(real_part.dtype())]);
    return y;
  }
  Tensor parts = view_as_real(y);
  copy_into(select(parts, -1, 0), real_part);
  copy_into(select(parts, -1, 1), imag_part);
  return y;
}

void check_parts(const char* name, const Tensor& a, const Tensor& b, const Into& into) {
  check_into(name, into, broadcast_shapes(name, a.sizes(), b.sizes()), to_complex_dtype(a.dtype()),
             {a, b}, OutDType::Same);
  check_not_implemented(a.dtype() != DType::Float16 || b.dtype() != DType::Float16, name,
                        ": the result of two float16 tensors would be complex32, which is not "
                        "available. Convert them with .float().");
  bool has_complex = a.dtype() == DType::Float32 || a.dtype() == DType::Float64;
  check(has_complex, name, ": expected both inputs to be float32 or float64, got ", a, " and ", b,
        ".");
  check(a.dtype() == b.dtype(), name, ": expected both inputs to have one dtype, got ", a, " and ",
        b, ".");
}

void def_parts(nb::module_& m, const char* name, BinaryCall f, const char* first,
               const char* second, const Doc& doc) {
  m.def(
      name,
      [f, name](const Tensor& a, const Tensor& b, const Out& out) {
        return with_out(name, out, [&](const Into& into) { return f(a, b, into); });
      },
      nb::arg(first), nb::arg(second), nb::kw_only(), "out"_or_none, docstring(name, doc).c_str());
}

// Views with marks: what they are, and copies without.
void bind_lazy(nb::module_& m) {
  for (const char* name : {"_conj", "_neg_view"}) {
    auto view = name[1] == 'c' ? conj_view : neg_view;
    m.def(name, view, "input"_a, "The view of the same memory with the mark changed.");
    def_method(name, view, "The view of the same memory with the mark changed.");
  }
  def_op(
      m, "resolve_conj", [](const Tensor& x) { return x.is_conj() ? clone(x) : x; },
      R"(A copy of a conjugate view with its elements in memory; any other tensor itself.
    input: any tensor.
    >>> x = facula.tensor([1 + 2j]).conj()
    >>> x.is_conj(), x.resolve_conj().is_conj()
    (True, False))"_doc);
  def_op(
      m, "resolve_neg", [](const Tensor& x) { return x.is_neg() ? clone(x) : x; },
      R"(A copy of a negated view with its elements in memory; any other tensor itself.
    input: any tensor.
    >>> x = facula.tensor([1 + 2j]).conj().imag
    >>> x.is_neg(), x.resolve_neg().is_neg()
    (True, False))"_doc);
  def_op(
      m, "is_conj", [](const Tensor& x) { return x.is_conj(); },
      R"(Whether the tensor is a view of memory that holds the conjugates of its elements.
    input: any tensor.
    >>> facula.is_conj(facula.tensor([1 + 2j]).conj())
    True)"_doc);
  def_op(
      m, "is_neg", [](const Tensor& x) { return x.is_neg(); },
      R"(Whether the tensor is a view of memory that holds its elements with the other sign.

So is the imaginary part of a conjugate view.
    input: any tensor.
    >>> facula.is_neg(facula.tensor([1 + 2j]).conj().imag)
    True)"_doc);
}

}  // namespace

Tensor abs(const Tensor& x, const Into& into) {
  Tensor y;
  if (is_complex(x.dtype())) {
    NoGradGuard guard;
    y = hypot(real(x), imag(x));
  } else {
    y = apply_parametric("abs", ParametricOp::abs, Kinds::NUM, x, {}, into);
  }
  return record("AbsBackward0", y, {x}, [x = save(x)](const Tensor& g) { return g * sgn(x); });
}

Tensor angle(const Tensor& x, const Into&) {
  Tensor y;
  {
    NoGradGuard guard;
    if (is_complex(x.dtype())) {
      y = contiguous(atan2(imag(x), real(x)));
    } else {
      y = apply_parametric("angle", ParametricOp::angle, Kinds::F, x, {}, Into{});
    }
  }
  return record("AngleBackward0", y, {x}, [x = save(x)](const Tensor& g) -> Tensor {
    if (!is_complex(x.raw().dtype())) return zeros(g.sizes(), g.dtype(), g.device());
    Tensor z = x;
    Tensor size = square(real(z)) + square(imag(z));
    Tensor turned = complex(neg(imag(z)), real(z));
    return where(eq(size, wrapped_number(0)), wrapped_number(0), g * turned / size);
  });
}

Tensor conj(const Tensor& x) {
  if (!is_complex(x.dtype())) return x;
  Tensor y;
  {
    NoGradGuard guard;
    y = conj_physical(x);
  }
  return record("ConjBackward0", y, {x}, [](const Tensor& g) { return conj(g); });
}

Tensor conj_view(const Tensor& x) {
  if (!is_complex_kind(x.dtype())) return x;
  Tensor y = make_view(x, x.sizes(), x.strides(), x.offset());
  set_lazy(y, x->lazy ^ kLazyConj);
  return record("ConjBackward0", y, {x}, [](const Tensor& g) { return conj(g); });
}

Tensor neg_view(const Tensor& x) {
  Tensor y = make_view(x, x.sizes(), x.strides(), x.offset());
  set_lazy(y, x->lazy ^ kLazyNeg);
  return record("NegViewBackward0", y, {x}, [](const Tensor& g) { return neg(g); });
}

Tensor real(const Tensor& x) {
  if (!is_complex(x.dtype())) return x;
  return select(view_as_real(x.is_conj() ? conj_view(x) : x), -1, 0);
}

Tensor imag(const Tensor& x) {
  check(is_complex(x.dtype()), "imag: expected a complex tensor, got ", x, ".");
  if (x.is_conj()) return select(neg_view(view_as_real(conj_view(x))), -1, 1);
  return select(view_as_real(x), -1, 1);
}

Tensor complex(const Tensor& real_part, const Tensor& imag_part, const Into& into) {
  check_parts("complex", real_part, imag_part, into);
  return record("ComplexBackward0", from_parts("complex", real_part, imag_part),
                {real_part, imag_part}, [](const Tensor& g, Needs need) -> TensorList {
                  return {need[0] ? real(g) : Tensor(), need[1] ? imag(g) : Tensor()};
                });
}

Tensor polar(const Tensor& size, const Tensor& angle, const Into& into) {
  check_parts("polar", size, angle, into);
  Tensor y;
  {
    NoGradGuard guard;
    y = from_parts("polar", size * cos(angle), size * sin(angle));
  }
  return record(
      "PolarBackward0", y, {size, angle},
      [angle = save(angle), y = save_output(y)](const Tensor& g, Needs need) -> TensorList {
        Tensor z = y;
        Tensor direction = complex(cos(angle), sin(angle));
        return {need[0] ? real(g * conj(direction)) : Tensor(),
                need[1] ? real(g * conj(z * Scalar(std::complex<double>(0, 1)))) : Tensor()};
      });
}

FACULA_BINDINGS {
  Doc abs_doc{"The absolute value of each element.", "facula.tensor([-1.0, 2.0])",
              "tensor([1., 2.])"};
  def_unary(m, "abs", "", Forms::ALL, abs, abs, abs_, abs_doc);
  def_unary(m, "absolute", "", Forms::NO_FUNCTION_, abs, abs, abs_, abs_doc);
  def_predicate(m, "angle", angle,
                {"The argument of each element: the angle of a complex number.",
                 "facula.tensor([-1.0, 2.0])", "tensor([3.1416, 0.0000])"});
  def_unary(m, "conj_physical", "", Forms::ALL, conjugate,
            [](const Tensor& x) { return conjugate(x, Into{}); }, conjugate_,
            {"The complex conjugate of each element; a real tensor itself.",
             "facula.tensor([1 + 2j])", "tensor([1.-2.j])"});
  def_op(m, "conj", conj_view,
         R"(The complex conjugate of each element, a view; a real tensor itself.

The view shares the memory of ``input``: writes to one are seen in the other. Its conjugates are
computed where they are used, and ``resolve_conj()`` is a copy that has them in memory.
    input: the elements.
    >>> x = facula.tensor([1 + 2j])
    >>> y = facula.conj(x)
    >>> y, y.is_conj(), y.data_ptr() == x.data_ptr()
    (tensor([1.-2.j]), True, True))"_doc);
  m.def("real", real, "input"_a, R"(The real part of each element, a view; a real tensor itself.
    input: the elements, real or complex.
    >>> facula.real(facula.tensor([1 + 2j]))
    tensor([1.]))"_doc);
  m.def("imag", imag, "input"_a, R"(The imaginary part of each element of a complex tensor, a view.
    input: the elements, complex.
    >>> facula.imag(facula.tensor([1 + 2j]))
    tensor([2.]))"_doc);
  bind_lazy(m);
  def_parts(m, "complex", complex, "real", "imag",
            {"A complex tensor of its real and imaginary parts.",
             "facula.tensor([1.0]), facula.tensor([2.0])", "tensor([1.+2.j])",
             "real: the real parts.\nimag: the imaginary parts, of the same dtype.\n"
             "out: where to put the result."});
  def_parts(m, "polar", polar, "abs", "angle",
            {"A complex tensor of absolute values and angles.",
             "facula.tensor([2.0]), facula.tensor([0.0])", "tensor([2.+0.j])",
             "abs: the absolute values.\nangle: the angles in radians, of the same dtype.\n"
             "out: where to put the result."});
}

}  // namespace facula
