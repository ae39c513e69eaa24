// Losses by element: input and target have one shape.
#include "cpu/nn/loss.h"

#include <cstdlib>
#include <sstream>

#include "autograd/node.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "base/warning.h"
#include "cpu/run.h"
#include "cuda/cuda.h"
#include "cuda/nn/nn.h"
#include "ops/nn/loss.h"
#include "ops/ops.h"
#include "ops/pointwise/binding.h"
#include "ops/result_binding.h"

namespace facula {

namespace {

constexpr int64_t kPiece = 16384;  // elements whose losses are summed in one go

enum class Form { PUBLIC, BEHIND };
enum class Shapes { BROADCAST, WARNED, EQUAL };

struct ElementLoss {
  const char* name;
  Form form;
  const char* node;
  const char* number;
  Shapes shapes;
  void (*prepare)(const char* name, const Tensor& x, Tensor& t, double p0);
  LossOp op;
  Tensor (*value)(const Tensor& x, const Tensor& t, double p0);
  Tensor (*slope)(const Tensor& x, const Tensor& t, double p0);
  Tensor (*to_target)(const Tensor& g, const Tensor& gx, const Tensor& x, const Tensor& t);
  Doc doc;
};

Tensor huber_of(const Tensor& d, double delta) {
  return where(le(abs(d), wrapped_number(delta)), square(d) * 0.5, (abs(d) - 0.5 * delta) * delta);
}

void prepare_nothing(const char*, const Tensor&, Tensor&, double) {}
void prepare_floating(const char* op, const Tensor& x, Tensor& t, double) {
  check_not_implemented(is_floating(result_type({x, t})), op,
                        ": expected a floating-point input and target, got ", x, " and ", t,
                        ". Convert them with .float().");
}
void prepare_at_least_zero(const char* op, const Tensor& x, Tensor& t, double beta) {
  check(beta >= 0, op, ": expected beta >= 0, got ", beta, ".");
  if (beta > 0) prepare_floating(op, x, t, beta);
}
void prepare_fixed_target(const char* op, const Tensor& x, Tensor& t, double) {
  check(is_floating(x.dtype()), op, ": expected a floating-point input, got ", x,
        ". Convert it with input.float().");
  check(!t.requires_grad(), op,
        ": not differentiable with respect to target, which requires grad.");
  t = to_dtype(t, x.dtype());
}
void prepare_in_unit_interval(const char* op, const Tensor& x, Tensor& t, double p0) {
  prepare_floating(op, x, t, p0);
  NoGradGuard guard;
  for (auto [what, values] : {std::pair("input", x), std::pair("target", t)}) {
    if (values.numel() == 0 || values.is_meta()) continue;
    if (!values.is_cpu()) {
      cuda::check_unit_interval(op, what, contiguous(values));
      continue;
    }
    auto [low, high] = aminmax(values);
    double from = item(low).to_double(), to = item(high).to_double();
    check(from >= 0 && to <= 1, op, ": expected ", what,
          " with values from 0 to 1, got values from ", from, " to ", to, ". (all elements of ",
          what, " should be between 0 and 1)");
  }
}

constexpr ElementLoss kLosses[] = {
#define LOSS(name, form, node, number, shapes, prepare, value, slope, value_of, slope_of, \
             to_target_, sentence, arguments, result)                                     \
  {#name,                                                                                 \
   Form::form,                                                                            \
   node,                                                                                  \
   number,                                                                                \
   Shapes::shapes,                                                                        \
   prepare_##prepare,                                                                     \
   LossOp::name,                                                                          \
   [](const Tensor& x, const Tensor& t, [[maybe_unused]] double p0) -> Tensor {           \
     return value_of;                                                                     \
   },                                                                                     \
   [](const Tensor& x, const Tensor& t, [[maybe_unused]] double p0) -> Tensor {           \
     return slope_of;                                                                     \
   },                                                                                     \
   []([[maybe_unused]] const Tensor& g, [[maybe_unused]] const Tensor& gx,                \
      [[maybe_unused]] const Tensor& x,                                                   \
      [[maybe_unused]] const Tensor& t) -> Tensor { return to_target_; },                 \
   {sentence, arguments, result}},
#include "tables/loss.def"
};

Tensor reduced(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::None) return losses;
  return reduction == Reduction::Mean ? mean(losses) : sum(losses);
}

template <class T>
T kernel_of(const std::array<std::array<T, kNumDTypes>, static_cast<int>(LossOp::count)>& rows,
            LossOp op, DType dtype) {
  return rows[static_cast<int>(op)][static_cast<int>(dtype)];
}

Tensor run_loss(Loop loop, const Tensor& x, const Tensor& t, double p0, double scale) {
  Tensor y = empty_for(x.sizes(), x.dtype(), {x, t});
  cpu::LossTable::Params params = {p0, scale};
  run_cpu(make_walk("loss", y, {x, t}), loop, &params);
  return y;
}

Tensor loss_on_gpu(LossOp op, const Tensor& x, const Tensor& t, double p0) {
  Tensor y = empty_for(x.sizes(), x.dtype(), {x, t});
  cuda::run_loss(op, x.dtype(), make_walk("loss", y, {x, t}), p0);
  return y;
}

Tensor loss_slope_on_gpu(LossOp op, const Tensor& g, const Tensor& x, const Tensor& t, double p0,
                         double divisor) {
  Tensor y = empty_for(x.sizes(), x.dtype(), {x, t});
  cuda::run_loss_slope(op, x.dtype(), make_walk("loss", y, {expand(g, x.sizes()), x, t}), p0,
                       divisor);
  return y;
}

// The sum of the losses of contiguous tensors, without writing them down.
double sum_of_losses(const ElementLoss& loss, const Tensor& x, const Tensor& t, double p0) {
  auto kernel = kernel_of(cpu::get_loss_table().sum, loss.op, x.dtype());
  std::vector<double> parts(ceil_div(x.numel(), kPiece));
  const char *xs = x.data(), *ts = t.data();
  int64_t size = x.itemsize();
  parallel_for(x.numel(), kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kPiece)
      parts[i / kPiece] = kernel(xs + i * size, ts + i * size, std::min(kPiece, end - i), p0);
  });
  double total = 0;
  for (double part : parts) total += part;
  return total;
}

Tensor loss_value(const ElementLoss& loss, const Tensor& x, const Tensor& t, Reduction reduction,
                  double p0) {
  NoGradGuard guard;
  if (!x.is_cpu()) return reduced(loss_on_gpu(loss.op, x, t, p0), reduction);
  if (reduction != Reduction::None && x.is_contiguous() && t.is_contiguous()) {
    double total = sum_of_losses(loss, x, t, p0);
    if (reduction == Reduction::Mean) total /= static_cast<double>(x.numel());
    return scalar_tensor(total, x.dtype());
  }
  Loop loop = kernel_of(cpu::get_loss_table().value, loss.op, x.dtype());
  return reduced(run_loss(loop, x, t, p0, 1), reduction);
}

double divisor_of(Reduction reduction, const Tensor& x) {
  return reduction == Reduction::Mean ? static_cast<double>(x.numel()) : 1;
}

// The gradient of each loss, from that of the result; a single number where all have the same.
Tensor spread(const Tensor& g, Reduction reduction, const Tensor& x) {
  return reduction == Reduction::Mean ? g / divisor_of(reduction, x) : g;
}

Tensor loss_gradient(const ElementLoss& loss, const Tensor& upstream, const Tensor& x,
                     const Tensor& t, Reduction reduction, double p0) {
  if (!x.is_cpu() && !is_grad_enabled())
    return loss_slope_on_gpu(loss.op, upstream, x, t, p0, divisor_of(reduction, x));
  Tensor g = spread(upstream, reduction, x);
  if (is_grad_enabled()) return g * loss.slope(x, t, p0);
  Loop loop = kernel_of(cpu::get_loss_table().slope, loss.op, x.dtype());
  if (reduction != Reduction::None) return run_loss(loop, x, t, p0, item(g).to_double());
  Tensor gx = run_loss(loop, x, t, p0, 1);
  return mul_(gx, g);
}

// Both in one shape.
void match_shapes(const ElementLoss& loss, Tensor& x, Tensor& t) {
  if (x.sizes() == t.sizes()) return;
  check(loss.shapes != Shapes::EQUAL, loss.name, ": expected a target of the input's shape ",
        x.sizes(), ", got ", t.sizes(), ".");
  if (loss.shapes == Shapes::WARNED) {
    std::ostringstream text;
    text
        << loss.name << ": the target " << t.sizes() << " and the input " << x.sizes()
        << " are broadcast together, which is likely not what was meant. Give them the same shape.";
    warn_user(text.str().c_str());
  }
  Dims sizes = broadcast_shapes(loss.name, x.sizes(), t.sizes());
  x = expand(x, sizes);
  t = expand(t, sizes);
}

Tensor by_element(const ElementLoss& loss, Tensor x, Tensor t, Reduction reduction, double p0) {
  loss.prepare(loss.name, x, t, p0);
  match_shapes(loss, x, t);
  check_same_device(loss.name, {x, t});
  DType dtype = result_type({x, t});
  x = to_dtype(x, dtype);
  t = to_dtype(t, dtype);
  if (!is_floating(dtype)) return reduced(loss.value(x, t, p0), reduction);
  Tensor y = loss_value(loss, x, t, reduction, p0);
  return record(
      loss.node, y, {x, t},
      [&loss, x = save(x), t = save(t), reduction, p0](const Tensor& g, Needs need) -> TensorList {
        Tensor input = x, target = t;
        Tensor gx = loss_gradient(loss, g, input, target, reduction, p0);
        if (!need[1]) return {gx, {}};
        return {gx, loss.to_target(spread(g, reduction, input), gx, input, target)};
      });
}

// The reduction by its name, or by the flags that were its older form.
Reduction reduction_named(nb::handle size_average, nb::handle reduce, nb::handle reduction) {
  nb::module_ names = nb::module_::import_("facula.nn._reduction");
  nb::object name = names.attr("resolve")(size_average, reduce, reduction);
  return reduction_of(nb::cast<int64_t>(names.attr("get_enum")(name)));
}

std::string public_doc(const ElementLoss& loss, const std::string& number) {
  Doc doc = loss.doc;
  std::string text = std::string(doc.sentence) + R"(

Args:
    input: the predictions.
    target: the values to predict, of the input's shape.
    size_average: a deprecated flag, replaced by ``reduction``.
    reduce: a deprecated flag, replaced by ``reduction``.
    reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.)";
  if (!number.empty()) text += "\n    " + number + ": the number of the formula above.";
  doc.sentence = text.c_str();
  return docstring(loss.name, doc, "facula.nn.functional");
}

void def_loss(nb::module_& m, const ElementLoss& loss) {
  list_row("loss", loss.name);
  if (loss.form == Form::BEHIND) {
    m.def(("_" + std::string(loss.name)).c_str(),
          [&loss](const Tensor& x, const Tensor& target, int64_t reduction, double p0) {
            return by_element(loss, x, target, reduction_of(reduction), p0);
          },
          "input"_a, "target"_a, "reduction"_a, "p0"_a = 0.0);
    return;
  }
  std::string number = loss.number, name = number.substr(0, number.find('='));
  std::string doc = public_doc(loss, name);
  auto def = [&](auto&& f, const auto&... numbers) {
    def_functional(m, loss.name, f, "input"_a, "target"_a, "size_average"_or_none, "reduce"_or_none,
                   "reduction"_a = "mean", numbers..., doc.c_str());
  };
  using Flag = nb::typed<nb::object, bool>;
  if (number.empty()) {
    def([&loss](const Tensor& x, const Tensor& t, const Flag& size_average, const Flag& reduce,
                const nb::str& reduction) {
      return by_element(loss, x, t, reduction_named(size_average, reduce, reduction), 0);
    });
  } else {
    def(
        [&loss](const Tensor& x, const Tensor& t, const Flag& size_average, const Flag& reduce,
                const nb::str& reduction, double p0) {
          return by_element(loss, x, t, reduction_named(size_average, reduce, reduction), p0);
        },
        nb::arg(name.c_str()) = std::atof(number.c_str() + name.size() + 1));
  }
}

}  // namespace

FACULA_BINDINGS {
  for (const ElementLoss& loss : kLosses) def_loss(m, loss);
}

}  // namespace facula
