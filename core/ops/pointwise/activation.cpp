#include "ops/pointwise/activation.h"

#include <cstdlib>
#include <sstream>

#include "base/number.h"
#include "cpu/run.h"
#include "cuda/cuda.h"
#include "math/activations.h"
#include "ops/ops.h"
#include "ops/pointwise/binding.h"
#include "ops/result_binding.h"

namespace facula {

namespace {

struct ActivationRow {
  const char* name;
  const char* name_;
  const char* node;
  const char* slope_node;  // of the derivative's own derivative; null where it is not STRAIGHT
  ActivationOp op;
  Kinds kinds;
  const char* numbers;  // "alpha=1, scale=1"
  void (*prepare)(const char* name, const Tensor& x, ActivationNumbers& p, const Into& into);
  Tensor (*slope_of)(const Tensor& g, const Tensor& x, double p0, double p1, double p2);
  bool (*result_serves)(double p0);
};

Tensor number(Scalar value) { return wrapped_number(value); }

// ---- checks of numbers

void check_real(const char* name, const ActivationNumbers& p) {
  for (Scalar number : p)
    check(!number.is_complex(), name, ": expected real numbers, got a complex one.");
}

void prepare_nothing(const char*, const Tensor&, ActivationNumbers&, const Into&) {}

// For those of which PyTorch refuses the dtype before it looks at out=.
void prepare_floating_first(const char* name, const Tensor& x, ActivationNumbers&,
                            const Into& into) {
  check_into_history(name, into, {x});
  check_not_implemented(is_floating(x.dtype()), name, ": expected a floating-point input, got ", x,
                        ". Convert it with input.float().");
}

void prepare_softshrink_lambd(const char* name, const Tensor& x, ActivationNumbers& p,
                              const Into& into) {
  prepare_floating_first(name, x, p, into);
  check(p[0].to_double() >= 0, name, ": expected lambd to be at least 0, got ", p[0].to_double(),
        ".");
}

void prepare_celu_alpha(const char* name, const Tensor&, ActivationNumbers& p, const Into&) {
  check(p[0].to_double() != 0, name, ": alpha cannot be 0.");
}

void prepare_threshold_numbers(const char* name, const Tensor& x, ActivationNumbers& p,
                               const Into&) {
  check_fits(name, "threshold", p[0], x.dtype());
  check_fits(name, "value", p[1], x.dtype());
}

// The limits of an integer tensor are integers.
void prepare_hardtanh_limits(const char* name, const Tensor& x, ActivationNumbers& p, const Into&) {
  check(x.dtype() != DType::Bool, name, ": not supported for ", x, ".");
  for (int i = 0; i < 2; ++i) {
    check_fits(name, "bound", p[i], is_floating(x.dtype()) ? x.dtype() : DType::Int64);
    if (!is_floating(x.dtype())) p[i] = Scalar(p[i].to<int64_t>());
  }
  check(x.dtype() != DType::UInt8 || (p[0].to_double() >= 0 && p[1].to_double() >= 0), name,
        ": expected limits of at least 0 for ", x, ", got ", p[0].to_double(), " and ",
        p[1].to_double(), ".");
  for (int i = 0; i < 2; ++i) check_fits(name, "bound", p[i], x.dtype());
  p[2] = added_to_clamped(p[0], p[1]);
}

// ---- derivatives by tensors that take more than a line

constexpr double kInverseSqrt2Pi = 0.3989422804014327, kSqrtHalf = 0.7071067811865476;

Tensor mish_slope(const Tensor& g, const Tensor& x) {
  Tensor t = tanh(softplus(x, {1, 20}));
  return g * (t + x * (1 - square(t)) * sigmoid(x));
}

Tensor gelu_tanh_slope(const Tensor& g, const Tensor& x) {
  constexpr double sqrt_2_over_pi = 0.7978845608028654;
  Tensor t = tanh((x + x * x * x * 0.044715) * sqrt_2_over_pi);
  Tensor slope = (square(x) * (3 * 0.044715) + 1) * sqrt_2_over_pi;
  return g * ((t + 1) * 0.5 + x * (1 - square(t)) * slope * 0.5);
}

constexpr bool is_straight(const char* slope_of) { return slope_of[0] == 'S'; }

#define STRAIGHT Tensor()
constexpr ActivationRow kRows[] = {
#define ACTIVATION(name, forms, node, kinds, numbers, prepare, serves, formula, slope, slope_of, \
                   ...)                                                                          \
  {#name,                                                                                        \
   #name "_",                                                                                    \
   node "Backward0",                                                                             \
   is_straight(#slope_of) ? node "BackwardBackward0" : nullptr,                                  \
   ActivationOp::name,                                                                           \
   Kinds::kinds,                                                                                 \
   numbers,                                                                                      \
   prepare_##prepare,                                                                            \
   []([[maybe_unused]] const Tensor& g, [[maybe_unused]] const Tensor& x,                        \
      [[maybe_unused]] double p0, [[maybe_unused]] double p1,                                    \
      [[maybe_unused]] double p2) -> Tensor { return slope_of; },                                \
   []([[maybe_unused]] double p0) -> bool { return serves; }},
#include "tables/activation.def"
};
#undef STRAIGHT

const ActivationRow& row_of(ActivationOp op) { return kRows[static_cast<int>(op)]; }

// ---- value and derivative

void run(const ActivationRow& row, const Tensor& out, const Tensor& x, const ActivationNumbers& p) {
  Loop loop = cpu::get_activation_table().get(row.op, x.dtype());
  check_not_implemented(loop != nullptr, row.name, ": not implemented for ", x, ".");
  Walk walk = make_walk(row.name, out, {x});
  if (!walk.device.is_cpu()) return cuda::run_activation(row.op, x.dtype(), walk, p.data());
  run_cpu(walk, loop, p.data());
}

Tensor slope(const ActivationRow& row, const Tensor& g, const Tensor& x,
             const ActivationNumbers& p) {
  bool is_composed = is_complex(x.dtype()) || (!row.slope_node && wants_history(g, x));
  if (is_composed) return row.slope_of(g, x, p[0].to_double(), p[1].to_double(), p[2].to_double());
  PairKernel kernel = {cpu::get_slope_table().get(row.op, x.dtype()),
                       [](int op, DType dtype, const Walk& walk, const cpu::BinaryParams& params) {
                         cuda::run_slope(static_cast<ActivationOp>(op), dtype, walk, params);
                       },
                       static_cast<int>(row.op)};
  Tensor d = apply_pair(row.name, kernel, g, x, x.dtype(), p);
  if (!row.slope_node) return d;
  // Of straight pieces: it does not depend on where in a piece x is.
  return record(row.slope_node, d, {g, x},
                [&row, p, x = save(x)](const Tensor& gg, Needs need) -> TensorList {
                  return {need[0] ? slope(row, gg, x, p) : Tensor(),
                          need[1] ? zeros(gg.sizes(), gg.dtype(), gg.device()) : Tensor()};
                });
}

// `place` is x, or the result where it was written over x.
Tensor record_slope(const ActivationRow& row, const Tensor& y, const Tensor& x, SavedTensor place,
                    const ActivationNumbers& p) {
  return record(row.node, y, {x},
                [&row, p, x = std::move(place)](const Tensor& g) { return slope(row, g, x, p); });
}

Tensor activate(ActivationOp op, const Tensor& x, ActivationNumbers p, const Into& into) {
  const ActivationRow& row = row_of(op);
  check_real(row.name, p);
  row.prepare(row.name, x, p, into);
  Tensor y = unary_result(row.name, row.kinds, x, into);
  run(row, y, cast_to(x, y.dtype()), p);
  return record_slope(row, y, x, save(x), p);
}

Tensor& activate_(ActivationOp op, Tensor& x, ActivationNumbers p) {
  const ActivationRow& row = row_of(op);
  check_real(row.name_, p);
  bool has_history = is_grad_enabled() && x.requires_grad();
  bool serves = row.result_serves(p[0].to_double());
  if (has_history && (!serves || x.is_view()))
    return in_place(row.name_, x,
                    [&](const Tensor& t, const Into& into) { return activate(op, t, p, into); });
  row.prepare(row.name_, x, p, Into{});
  check_inplace(row.name_, x);
  check_inplace_result(row.name_, x, x.sizes(), compute_dtype(row.kinds, x.dtype()));
  run(row, x, x, p);
  bump_version(x);
  if (has_history) {
    Tensor y = alias(x);
    rebase_history(x, record_slope(row, y, x, save_output(y), p));
  }
  return x;
}

}  // namespace

#define ACTIVATION(name, ...)                                                 \
  Tensor name(const Tensor& x, ActivationNumbers numbers, const Into& into) { \
    return activate(ActivationOp::name, x, numbers, into);                    \
  }
#include "tables/activation.def"

Tensor prelu(const Tensor& x, const Tensor& weight) {
  check(x.dtype() == weight.dtype(), "prelu: expected a weight of the input's dtype ", x.dtype(),
        ", got ", weight, ".");
  check(weight.dim() <= 1, "prelu: expected a weight of one dimension at most, got ", weight, ".");
  Tensor w = weight;
  if (weight.numel() != 1) {
    int64_t n_channels = x.dim() > 1 ? x.size(1) : 1;
    check(x.dim() > 0 && n_channels == weight.numel(), "prelu: expected a weight of 1 or of ",
          n_channels, " elements, one per channel (dim 1) of the input ", x, ", got ", weight, ".");
  }
  if (x.dim() == 0) {
    w = reshape(weight, {});
  } else if (x.dim() > 1 && weight.dim() == 1) {
    Dims sizes(x.dim());
    std::fill(sizes.begin(), sizes.end(), 1);
    sizes[1] = weight.numel();
    w = reshape(weight, sizes);
  }
  Tensor y = apply_binary("prelu", BinaryOp::prelu, x, w, x.dtype());
  return record("PreluKernelBackward0", y, {x, w},
                [saved_x = save(x), w = save(w)](const Tensor& g, Needs need) -> TensorList {
                  Tensor x = saved_x, is_above = gt(x, number(0));
                  return {need[0] ? where(is_above, g, g * Tensor(w)) : Tensor(),
                          need[1] ? where(is_above, number(0), g * x) : Tensor()};
                });
}

Tensor glu(const Tensor& x, int64_t dim) {
  check(x.dim() > 0, "glu: expected at least one dimension, got a 0-d tensor.");
  check_not_implemented(is_floating(x.dtype()), "glu: expected a floating-point input, got ", x,
                        ".");
  int64_t at = wrap_dim("glu", dim, x.dim());
  check(x.size(at) % 2 == 0, "glu: expected an even size in dimension ", dim,
        ", which is cut into halves, got ", x.sizes(), ".");
  auto halves = [at](const Tensor& x) {
    int64_t n = x.size(at) / 2;
    return std::pair(narrow(x, at, 0, n), narrow(x, at, n, n));
  };
  Tensor y;
  {
    NoGradGuard guard;
    auto [values, gates] = halves(x);
    y = apply_binary("glu", BinaryOp::glu, values, gates, x.dtype());
  }
  return record("GluBackward0", y, {x}, [x = save(x), at, halves](const Tensor& g) {
    auto [values, gates] = halves(x);
    Tensor open = sigmoid(gates);
    return cat({g * open, sigmoid_backward(g * values, open)}, at);
  });
}

namespace {

// An argument of a bound function: the name is kept by the row.
template <size_t>
using Number = Scalar;

template <size_t... I>
void def_activation(nb::module_& m, const ActivationRow& row, Forms forms, const std::string& doc,
                    const std::string& doc_, const std::vector<std::string>& names,
                    const std::vector<std::optional<double>>& defaults, std::index_sequence<I...>) {
  ActivationOp op = row.op;
  bool is_nn = forms == Forms::NN || forms == Forms::NN_OUT;
  bool has_out = forms == Forms::NN_OUT || forms == Forms::WITH_METHOD;
  auto def = [&](const char* name, auto&& f, const auto&... extra) {
    is_nn ? def_functional(m, name, f, extra...) : (void)m.def(name, f, extra...);
  };
  auto def_all = [&](const auto&... args) {
    if (has_out) {
      def(
          row.name,
          [op](const Tensor& x, Number<I>... p, const Out& out) {
            return with_out(row_of(op).name, out,
                            [&](const Into& into) { return activate(op, x, {p...}, into); });
          },
          "input"_a, args..., nb::kw_only(), "out"_or_none, doc.c_str());
    } else {
      def(
          row.name,
          [op](const Tensor& x, Number<I>... p) { return activate(op, x, {p...}, Into{}); },
          "input"_a, args..., doc.c_str());
      def(
          row.name_, [op](Tensor x, Number<I>... p) -> Tensor { return activate_(op, x, {p...}); },
          "input"_a, args..., doc_.c_str());
    }
    if (forms == Forms::WITH_METHOD)
      def_method(
          row.name,
          [op](const Tensor& x, Number<I>... p) { return activate(op, x, {p...}, Into{}); },
          args..., doc.c_str());
  };
  if (names.empty() || defaults[0]) {
    def_all((nb::arg(names[I].c_str()) = Scalar(*defaults[I]))...);
  } else {
    def_all(nb::arg(names[I].c_str())...);
  }
}

void def_activation(nb::module_& m, ActivationOp op, Forms forms, const Doc& given) {
  list_row("activation", row_of(op).name);
  if (forms == Forms::UNBOUND) return;
  const ActivationRow& row = row_of(op);
  // The numbers of a row, "alpha=1, scale=2": names, and defaults where there are any.
  std::vector<std::string> names;
  std::vector<std::optional<double>> defaults;
  std::istringstream words(row.numbers);
  for (std::string word; std::getline(words >> std::ws, word, ',');) {
    size_t equals = word.find('=');
    names.push_back(word.substr(0, equals));
    defaults.push_back(equals == std::string::npos
                           ? std::nullopt
                           : std::optional(std::atof(word.c_str() + equals + 1)));
  }
  bool is_nn = forms == Forms::NN || forms == Forms::NN_OUT;
  const char* module = is_nn ? "facula.nn.functional" : "facula";
  bool is_public = *given.sentence;  // the others are behind functions written in Python
  bool has_out = forms == Forms::NN_OUT || forms == Forms::WITH_METHOD;
  std::string meanings = "input: the elements.\n";
  for (const std::string& number : names)
    meanings += number + ": the number of the formula above.\n";
  if (has_out) meanings += kOutMeaning;
  Doc full{given.sentence, given.arguments, given.result, meanings.c_str()};
  std::string doc = is_public ? docstring(row.name, full, module) : "",
              doc_ = is_public ? in_place_doc(row.name, full, module) : "";
  switch (names.size()) {
    case 0:
      return def_activation(m, row, forms, doc, doc_, names, defaults,
                            std::make_index_sequence<0>());
    case 1:
      return def_activation(m, row, forms, doc, doc_, names, defaults,
                            std::make_index_sequence<1>());
    case 2:
      return def_activation(m, row, forms, doc, doc_, names, defaults,
                            std::make_index_sequence<2>());
    default:
      return def_activation(m, row, forms, doc, doc_, names, defaults,
                            std::make_index_sequence<3>());
  }
}

}  // namespace

FACULA_BINDINGS {
#define ACTIVATION(name, forms, node, kinds, numbers, prepare, serves, formula, slope, slope_of, \
                   sentence, arguments, result)                                                  \
  def_activation(m, ActivationOp::name, Forms::forms, {sentence, arguments, "tensor(" result ")"});
#include "tables/activation.def"

  def_functional(
      m, "gelu",
      [](const Tensor& x, const std::string& approximate, const Out& out) {
        check(approximate == "none" || approximate == "tanh",
              "gelu: expected 'none' or 'tanh' as approximate, got '", approximate, "'.");
        ActivationOp op = approximate == "tanh" ? ActivationOp::gelu_tanh : ActivationOp::gelu;
        return with_out("gelu", out, [&](const Into& into) { return activate(op, x, {}, into); });
      },
      "input"_a, nb::kw_only(), "approximate"_a = "none", "out"_or_none,
      R"(Each element times the probability that a standard normal number is below it.
    input: the elements, floating point.
    approximate: ``"none"``, or ``"tanh"`` for the approximation by a hyperbolic tangent.
    out: where to put the result.
    >>> facula.nn.functional.gelu(facula.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545]))"_doc);
  def_functional(m, "glu", glu, "input"_a, "dim"_a,
                 "The first half of ``input`` along ``dim`` times the sigmoid of the second.");
  def_op(m, "prelu", prelu, "weight"_a, R"(Each element, times ``weight`` where it is negative.
    input: the elements, floating point.
    weight: one number, or one for each channel (dimension 1 of the input).
    >>> facula.prelu(facula.tensor([-1.0, 2.0]), facula.tensor([0.25]))
    tensor([-0.2500,  2.0000]))"_doc);
}

}  // namespace facula
