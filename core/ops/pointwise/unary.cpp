#include "ops/pointwise/unary.h"

#include "autograd/node_name.h"
#include "cpu/pointwise/loop_tables.h"
#include "cpu/run.h"
#include "cuda/cuda.h"
#include "ops/ops.h"
#include "ops/pointwise/binding.h"

namespace facula {

namespace {

constexpr double kLn2 = 0.6931471805599453, kLn10 = 2.302585092994046,
                 kTwoOverSqrtPi = 1.1283791670955126, kPi = 3.141592653589793,
                 kSqrtHalf = 0.7071067811865475, kSqrtTwoOverPi = 0.7978845608028654;

void check_dtype(const char* name, UnaryOp op, Refused refused, const Tensor& x, DType dtype) {
  check(refused != Refused::BOOL || x.dtype() != DType::Bool, name, ": not supported for ", x, ".",
        op == UnaryOp::neg ? " Invert a mask with ~ or logical_not()." : "");
  check(refused != Refused::COMPLEX || !is_complex(x.dtype()), name, ": not supported for ", x,
        ".");
  check_not_implemented(cpu::get_unary_table().get(op, dtype) != nullptr, name,
                        ": not implemented for ", x, ".");
}

void run(const char* name, UnaryOp op, const Tensor& out, const Tensor& x) {
  Walk walk = make_walk(name, out, {x});
  if (!walk.device.is_cpu()) return cuda::run_unary(op, out.dtype(), walk);
  run_cpu(walk, cpu::get_unary_table().get(op, out.dtype()));
}

// Over x itself, which must be allowed to hold the result; counts the write.
void apply_unary_(const char* name, UnaryOp op, Kinds kinds, const Tensor& x, Refused refused) {
  DType dtype = compute_dtype(kinds, x.dtype());
  check_not_implemented(refused != Refused::COMPLEX_FIRST || !is_complex(x.dtype()), name,
                        ": not defined for ", x, ".");
  check_dtype(name, op, refused, x, dtype);
  check_inplace_result(name, x, x.sizes(), dtype);
  run(name, op, x, x);
  bump_version(x);
}

// ---- gradients that take more than a line

Tensor zeros_like(const Tensor& x) { return zeros(x.sizes(), x.dtype(), x.device()); }

// The kernel of a derivative that is made from the gradient and the result; its own gradients are
// those of g and y.
template <class Backward>
Tensor slope_by_kernel(const char* name, const char* node, BinaryOp op, const Tensor& g,
                       const Tensor& y, Backward&& backward) {
  return record(node, apply_binary(name, op, g, y, y.dtype()), {g, y}, std::move(backward));
}

Tensor tanh_backward(const Tensor& g, const Tensor& y) {
  if (is_complex(y.dtype())) return g * conj(1 - square(y));
  return slope_by_kernel(
      "tanh_backward", "TanhBackwardBackward0", BinaryOp::tanh_backward, g, y,
      [g = save(g), y = save(y)](const Tensor& gg, Needs need) -> TensorList {
        return {need[0] ? tanh_backward(gg, y) : Tensor(), need[1] ? gg * g * y * -2 : Tensor()};
      });
}

Tensor relu_backward(const Tensor& g, const Tensor& y) {
  return slope_by_kernel(
      "relu_backward", "ThresholdBackwardBackward0", BinaryOp::relu_backward, g, y,
      [y = save(y)](const Tensor& gg, Needs need) -> TensorList {
        return {need[0] ? relu_backward(gg, y) : Tensor(), need[1] ? zeros_like(gg) : Tensor()};
      });
}

// (pi x cos(pi x) - sin(pi x)) / (pi x^2), 0 at 0 and where the square of x underflows.
Tensor sinc_backward(const Tensor& g, const Tensor& x) {
  Tensor turned = x * kPi, square = turned * x;
  Tensor slope = (turned * cos(turned) - sin(turned)) / square;
  return where(eq(square, wrapped_number(0)), zeros_like(g), g * conj(slope));
}

// The part of g across the direction of x, divided by |x|; real signs are constant.
Tensor sgn_backward(const Tensor& g, const Tensor& x, const Tensor& y) {
  if (!is_complex(x.dtype())) return zeros_like(g);
  Tensor size = abs(x);
  Tensor along = real(g * conj(y));
  return where(eq(size, wrapped_number(0)), zeros_like(g), (g - y * along) / size);
}

// i0(x) - i1(x) / x, 1/2 at 0.
Tensor i1_backward(const Tensor& g, const Tensor& x, const Tensor& y) {
  Tensor is_zero = eq(x, wrapped_number(0));
  Tensor safe = where(is_zero, wrapped_number(1.0), x);
  return g * where(is_zero, wrapped_number(0.5), i0(safe) - y / safe);
}

// i0e(x) - i1e(x) (sign(x) + 1 / x), 1/2 at 0.
Tensor i1e_backward(const Tensor& g, const Tensor& x, const Tensor& y) {
  Tensor is_zero = eq(x, wrapped_number(0));
  Tensor safe = where(is_zero, wrapped_number(1.0), x);
  Tensor slope = special_i0e(safe) - y * (sgn(safe) + reciprocal(safe));
  return g * where(is_zero, wrapped_number(0.5), slope);
}

const Tensor none;  // stands in rows without a gradient

}  // namespace

Tensor sigmoid_backward(const Tensor& g, const Tensor& y) {
  if (is_complex(y.dtype())) return g * conj((1 - y) * y);
  return slope_by_kernel("sigmoid_backward", "SigmoidBackwardBackward0", BinaryOp::sigmoid_backward,
                         g, y,
                         [g = save(g), y = save(y)](const Tensor& gg, Needs need) -> TensorList {
                           return {need[0] ? sigmoid_backward(gg, y) : Tensor(),
                                   need[1] ? gg * g * (1 - Tensor(y) * 2) : Tensor()};
                         });
}

Tensor apply_unary(const char* name, UnaryOp op, Kinds kinds, const Tensor& x, const Into& into,
                   Refused refused) {
  if (refused == Refused::COMPLEX_FIRST) {
    check_into_history(name, into, {x});
    check_not_implemented(!is_complex(x.dtype()), name, ": not defined for ", x, ".");
  }
  Tensor y = unary_result(name, kinds, x, into);
  check_dtype(name, op, refused, x, y.dtype());
  run(name, op, y, cast_to(x, y.dtype()));
  return y;
}

Tensor apply_parametric(const char* name, ParametricOp op, Kinds kinds, const Tensor& x,
                        std::array<Scalar, 3> numbers, const Into& into) {
  Tensor y = unary_result(name, kinds, x, into), input = cast_to(x, y.dtype());
  Loop loop = cpu::get_parametric_table().get(op, y.dtype());
  check_not_implemented(loop != nullptr, name, ": not implemented for ", input, ".");
  Walk walk = make_walk(name, y, {input});
  if (walk.device.is_cpu()) {
    run_cpu(walk, loop, numbers.data());
  } else {
    cuda::run_parametric(op, y.dtype(), walk, numbers.data());
  }
  return y;
}

// The form in place writes over x at once where no copy of the old x is needed.
#define UNARY(name, names, forms, kinds, refused, formula, gradient, ...)                      \
  static Tensor record_##name(Tensor result, const Tensor& input) {                            \
    if (!has_gradient(#gradient)) return result;                                               \
    constexpr bool uses_x = mentions(#gradient, 'x'), uses_y = mentions(#gradient, 'y');       \
    static constexpr NodeName node(#name);                                                     \
    SavedTensor saved_x = save(uses_x ? input : Tensor()),                                     \
                saved_y = save_output(uses_y ? result : Tensor());                             \
    return record(node, result, {input},                                                       \
                  [x = saved_x, y = saved_y](const Tensor& g) -> Tensor { return gradient; }); \
  }                                                                                            \
  Tensor name(const Tensor& x, const Into& into) {                                             \
    return record_##name(                                                                      \
        apply_unary(#name, UnaryOp::name, Kinds::kinds, x, into, Refused::refused), x);        \
  }                                                                                            \
  Tensor& name##_(Tensor& x) {                                                                 \
    bool has_history = is_grad_enabled() && x.requires_grad();                                 \
    if (has_history && (mentions(#gradient, 'x') || x.is_view()))                              \
      return in_place(#name "_", x,                                                            \
                      [](const Tensor& t, const Into& into) { return name(t, into); });        \
    check_inplace(#name "_", x);                                                               \
    apply_unary_(#name "_", UnaryOp::name, Kinds::kinds, x, Refused::refused);                 \
    if (has_history) rebase_history(x, record_##name(alias(x), x));                            \
    return x;                                                                                  \
  }
#include "tables/unary.def"

FACULA_BINDINGS {
#define UNARY(name, names, forms, kinds, refused, formula, gradient, sentence, input, result) \
  def_unary(m, #name, names, Forms::forms, name, name, name##_,                               \
            {sentence, "facula.tensor(" input ")", "tensor(" result ")"});                    \
  list_row("unary", #name);
#include "tables/unary.def"
}

}  // namespace facula
