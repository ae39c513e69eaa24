#include "ops/random/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/random/binding.h"
#include "ops/random/draw.h"
#include "random/sampling.h"

namespace facula {

Tensor in_memory_order(const Tensor& x, Dims& order) {
  // An insertion sort by stride, and not std::sort: a dimension of stride 0 compares as equal to
  // all others, and where it ends up decides the order of the numbers.
  int64_t n_dims = x.dim();
  order = Dims(n_dims);
  for (int64_t i = 0; i < n_dims; ++i) order[i] = n_dims - 1 - i;
  auto must_swap = [&](int64_t inner, int64_t outer) {
    int64_t a = x.stride(inner), b = x.stride(outer);
    if (a == 0 || b == 0) return 0;
    if (a != b) return a < b ? -1 : 1;
    return x.size(inner) > x.size(outer) ? 1 : 0;
  };
  for (int64_t i = 1; i < n_dims; ++i) {
    int64_t moving = i;
    for (int64_t j = i - 1; j >= 0; --j) {
      int answer = must_swap(order[j], order[moving]);
      if (answer < 0) break;
      if (answer == 0) continue;
      std::swap(order[j], order[moving]);
      moving = j;
    }
  }
  std::reverse(order.begin(), order.end());
  return permute(x, order);
}

bool draw_on_cuda(const Tensor& x, const cuda::Draw& draw, Generator& generator) {
  if (x.is_cpu() || generator.kind() != GeneratorKind::Philox) return false;
  NoGradGuard guard;
  Dims order;
  Tensor rows = in_memory_order(x, order);
  Tensor target = rows.is_contiguous() ? rows : empty(rows.sizes(), x.dtype(), x.device());
  cuda::draw_samples(target, draw, generator);
  if (!target.is_same(rows)) copy_into(rows, target);
  return true;
}

namespace {

// Fills x with fill(T* out, int64_t n); `Visit` is one of the visit_ functions. On a GPU by `draw`.
template <class Visit, class Fill>
void fill_with(const char* op, const Tensor& x, Visit visit, Generator& generator,
               const cuda::Draw& draw, const Fill& fill) {
  visit(op, x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (draw_on_cuda(x, draw, generator)) return;
    draw_into<T>(x, [&](T* out, int64_t n, const Dims&) { run_draw(n, [&] { fill(out, n); }); });
  });
}
#define VISIT(which) [](auto&&... args) { which(std::forward<decltype(args)>(args)...); }

}  // namespace

Tensor& normal_(Tensor& x, double mean, double std, Generator& generator) {
  check(std >= 0, "normal_: expected std >= 0, got ", std, ".");
  return sample_in_place("normal_", "NormalBackward0", x, [&] {
    NoGradGuard guard;
    Tensor real = is_complex(x.dtype()) ? view_as_real(x) : x;
    // Real and imaginary part share the variance.
    double std_of_part = is_complex(x.dtype()) ? std / std::sqrt(2.0) : std;
    cuda::Draw draw{Distribution::Normal, mean, std_of_part};
    fill_with("normal_", real, VISIT(visit_floating), generator, draw, [&](auto* out, int64_t n) {
      fill_normal(out, n, mean, std_of_part, real.is_contiguous(), generator);
    });
  });
}

Tensor& exponential_(Tensor& x, double lambd, Generator& generator) {
  check(lambd > 0, "exponential_: expected lambd > 0, got ", lambd, ".");
  return sample_in_place("exponential_", "ExponentialBackward0", x, [&] {
    check(is_floating(x.dtype()), "exponential_: expected a floating-point dtype, got ", x, ".");
    cuda::Draw draw{Distribution::Exponential, -1.0 / lambd};
    fill_with("exponential_", x, VISIT(visit_floating), generator, draw,
              [&](auto* out, int64_t n) { fill_exponential(out, n, lambd, generator); });
  });
}

Tensor& bernoulli_(Tensor& x, double p, Generator& generator) {
  check(p >= 0 && p <= 1, "bernoulli_: expected 0 <= p <= 1, got ", p, ".");
  return sample_in_place("bernoulli_", "BernoulliBackward2", x, [&] {
    cuda::Draw draw{Distribution::Bernoulli};
    draw.base = static_cast<int64_t>(std::ceil(p * 0x1p53));
    fill_with("bernoulli_", x, VISIT(visit_real), generator, draw,
              [&](auto* out, int64_t n) { fill_bernoulli(out, n, p, generator); });
  });
}

namespace {

double largest(DType dtype) {
  double max = 0;
  visit_floating("uniform_", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Half>)
      max = 65504;
    else
      max = std::numeric_limits<Wide<T>>::max() * (std::is_same_v<T, BFloat16> ? 1 - 0x1p-8 : 1);
  });
  return max;
}

void check_uniform(const Tensor& x, double from, double to) {
  double max = largest(to_real_dtype(x.dtype()));
  check(std::abs(from) <= max, "uniform_: expected from to be a number of dtype ", x.dtype(),
        ", got ", from, ".");
  check(std::abs(to) <= max, "uniform_: expected to to be a number of dtype ", x.dtype(), ", got ",
        to, ".");
  check(from <= to, "uniform_: expected from <= to, got from=", from, " and to=", to, ".");
  check(to - from <= max, "uniform_: expected to - from to be a number of dtype ", x.dtype(),
        ", got from=", from, " and to=", to, ".");
}

Tensor& uniform_(Tensor& x, double from, double to, Generator& generator) {
  check_uniform(x, from, to);
  return sample_in_place("uniform_", "UniformBackward0", x, [&] {
    NoGradGuard guard;
    Tensor real = is_complex(x.dtype()) ? view_as_real(x) : x;
    cuda::Draw draw{Distribution::Uniform, from, to};
    fill_with("uniform_", real, VISIT(visit_floating), generator, draw,
              [&](auto* out, int64_t n) { fill_uniform(out, n, from, to, generator); });
  });
}

// The factors of rrelu() in training, for a tensor of the CPU: only elements that are not positive
// take a random number, in their order.
Tensor rrelu_slopes(const Tensor& x, double lower, double upper, const GeneratorArg& generator) {
  NoGradGuard guard;
  Tensor in = contiguous(x), y = empty(x.sizes(), x.dtype());
  visit_floating("rrelu", x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = in.data_as<T>();
    T* to = y.data_as<T>();
    int64_t n = in.numel(), n_below = 0, at = 0;
    for (int64_t i = 0; i < n; ++i) n_below += Wide<T>(from[i]) <= 0;
    Tensor draws = empty({n_below + 1}, DType::Float64), used = narrow(draws, 0, 0, n_below);
    uniform_(used, lower, upper, or_default(generator, x.device()));
    const double* numbers = draws.data_as<double>();
    for (int64_t i = 0; i < n; ++i) {
      // The number is read at any rate: a branch would be guessed wrong every other time.
      bool is_below = Wide<T>(from[i]) <= 0;
      double number = numbers[std::min(at, n_below)];  // x may have changed since it was counted
      to[i] = T(static_cast<Wide<T>>(is_below ? number : 1.0));
      at += is_below;
    }
  });
  if (x.is_contiguous()) return y;
  Tensor z = empty_like(x);
  copy_into(z, y);
  return z;
}

Tensor& log_normal_(Tensor& x, double mean, double std, Generator& generator) {
  check(std > 0, "log_normal_: expected std > 0, got ", std, ".");
  return sample_in_place("log_normal_", "LogNormalBackward0", x, [&] {
    cuda::Draw draw{Distribution::LogNormal, mean, std};
    fill_with("log_normal_", x, VISIT(visit_floating), generator, draw,
              [&](auto* out, int64_t n) { fill_log_normal(out, n, mean, std, generator); });
  });
}

Tensor& cauchy_(Tensor& x, double median, double sigma, Generator& generator) {
  check(sigma > 0, "cauchy_: expected sigma > 0, got ", sigma, ".");
  check(is_floating(x.dtype()), "cauchy_: expected a floating-point dtype, got ", x, ".");
  return sample_in_place("cauchy_", "CauchyBackward0", x, [&] {
    cuda::Draw draw{Distribution::Cauchy, median, sigma};
    fill_with("cauchy_", x, VISIT(visit_floating), generator, draw,
              [&](auto* out, int64_t n) { fill_cauchy(out, n, median, sigma, generator); });
  });
}

Tensor& geometric_(Tensor& x, double p, Generator& generator) {
  check(p > 0 && p < 1, "geometric_: expected 0 < p < 1, got ", p, ".");
  return sample_in_place("geometric_", "GeometricBackward0", x, [&] {
    cuda::Draw draw{Distribution::Geometric, std::log1p(-p)};
    fill_with("geometric_", x, VISIT(visit_numeric), generator, draw,
              [&](auto* out, int64_t n) { fill_geometric(out, n, p, generator); });
  });
}

void draw_chances_on_cuda(const Tensor& x, const Tensor& p, Generator& generator) {
  Tensor is_chance = logical_and(ge(p, wrapped_number(0)), le(p, wrapped_number(1)));
  check(item(all(is_chance)).to_bool(), "bernoulli_: expected probabilities in [0, 1].");
  Dims order;
  Tensor rows = in_memory_order(x, order);
  Tensor chances = contiguous(permute(expand(p, x.sizes()), order));
  Tensor target = rows.is_contiguous() ? rows : empty(rows.sizes(), x.dtype(), x.device());
  cuda::draw_chances(target, chances, generator);
  if (!target.is_same(rows)) copy_into(rows, target);
}

Tensor& bernoulli_(Tensor& x, const Tensor& p, Generator& generator) {
  check_same_device("bernoulli_", {x, p});
  return sample_in_place("bernoulli_", "BernoulliBackward1", x, [&] {
    NoGradGuard guard;
    if (!x.is_cpu() && generator.kind() == GeneratorKind::Philox && is_floating(p.dtype()) &&
        !is_complex(x.dtype()))
      return draw_chances_on_cuda(x, p, generator);
    visit_real("bernoulli_", x.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      draw_into<T>(x, [&](T* out, int64_t n, const Dims& order) {
        visit_floating("bernoulli_", p.dtype(), [&](auto p_tag) {
          // Chances of 16 bits are read as floats, which hold them exactly: half as many loops.
          using P = Wide<typename decltype(p_tag)::type>;
          Tensor host = to(expand(p, x.sizes()), Device{}, DTypeOf<P>::value, false);
          Tensor probs = contiguous(permute(host, order));
          const P* values = probs.data_as<P>();
          for (int64_t i = 0; i < n; ++i)
            check(values[i] >= 0 && values[i] <= 1,
                  "bernoulli_: expected probabilities in [0, 1], got ",
                  static_cast<double>(values[i]), ".");
          run_draw(n, [&] { fill_bernoulli(out, values, n, generator); });
        });
      });
    });
  });
}

Tensor bernoulli(const Tensor& p, const GeneratorArg& generator) {
  Tensor y = empty(p.sizes(), p.dtype(), p.device());
  {
    NoGradGuard guard;
    bernoulli_(y, p, or_default(generator, y.device()));
  }
  check_samples_differentiable("bernoulli", p);
  return record("BernoulliBackward0", y, {p},
                [](const Tensor& g) { return zeros(g.sizes(), g.dtype(), g.device()); });
}

Tensor bernoulli_to(const Tensor& p, const GeneratorArg& generator, const OptionalTensor& out) {
  if (!out.defined()) return bernoulli(p, generator);
  check(!is_grad_enabled() || !p.requires_grad(),
        "bernoulli: out= takes no part in differentiation, but input requires grad.");
  if (out.sizes() != p.sizes()) resize_(out, p.sizes());
  Tensor y = out;
  return bernoulli_(y, p, or_default(generator, y.device()));
}

Tensor bernoulli_with_p(const Tensor& like, double p, const GeneratorArg& generator) {
  Tensor y = empty(like.sizes(), like.dtype(), like.device());
  return bernoulli_(y, p, or_default(generator, y.device()));
}

Tensor poisson(const Tensor& rate, const GeneratorArg& source) {
  Generator& generator = or_default(source, rate.device());
  Tensor y = empty(rate.sizes(), rate.dtype(), rate.device());
  if (!y.is_meta()) {
    NoGradGuard guard;
    Tensor host = contiguous(to(rate, Device{}, rate.dtype(), false));
    visit_floating("poisson", rate.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* rates = host.template data_as<T>();
      for (int64_t i = 0; i < host.numel(); ++i) {
        double value = static_cast<Wide<T>>(rates[i]);
        check(value >= 0, "poisson: expected rates that are not negative, got ", value, ".");
      }
      draw_into<T>(y, [&](T* out, int64_t n, const Dims&) {
        run_draw(n, [&] { sample_poisson(out, rates, n, generator); });
      });
    });
  }
  return record("PoissonBackward0", y, {rate},
                [](const Tensor& g) { return zeros(g.sizes(), g.dtype(), g.device()); });
}

void draw_binomial(const Tensor& y, const Tensor& count, const Tensor& prob, Generator& generator) {
  if (y.is_meta()) return;
  NoGradGuard guard;
  Tensor counts = contiguous(to(expand(count, y.sizes()), Device{}, count.dtype(), false));
  Tensor probs = contiguous(to(expand(prob, y.sizes()), Device{}, prob.dtype(), false));
  visit_floating("binomial", y.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_reduced_float_v<T>) {
      fail(ErrorKind::NotImplemented, "binomial: expected float32 or float64, got ", count, ".");
    } else {
      const T* n_trials = counts.template data_as<T>();
      const T* p = probs.template data_as<T>();
      draw_into<T>(y, [&](T* out, int64_t n, const Dims&) {
        run_draw(n, [&] { sample_binomial(out, n_trials, p, n, generator); });
      });
    }
  });
}

Tensor binomial(const Tensor& count, const Tensor& prob, const GeneratorArg& generator) {
  check(count.dtype() == prob.dtype(), "binomial: expected count and prob of one dtype, got ",
        count, " and ", prob, ".");
  Dims shape = broadcast_shapes("binomial", count.sizes(), prob.sizes());
  Tensor y = empty(shape, count.dtype(), count.device());
  draw_binomial(y, count, prob, or_default(generator, count.device()));
  return record("BinomialBackward0", y, {count, prob}, [](const Tensor&, Needs) -> TensorList {
    fail(ErrorKind::NotImplemented, "binomial: numbers of successes have no derivative. Call it ",
         "with count.detach() and prob.detach().");
  });
}

// ---- bindings

using OneParameter = Tensor& (*)(Tensor&, double, Generator&);
using TwoParameters = Tensor& (*)(Tensor&, double, double, Generator&);

auto filler(OneParameter fill) {
  return [fill](Tensor x, double a, const GeneratorArg& generator) {
    return fill(x, a, or_default(generator, x.device()));
  };
}
auto filler(TwoParameters fill) {
  return [fill](Tensor x, double a, double b, const GeneratorArg& generator) {
    return fill(x, a, b, or_default(generator, x.device()));
  };
}

std::string filler_doc(const char* sentence, const char* arguments) {
  return std::string(sentence) + "\n\nArgs:\n" + arguments +
         "    generator: where the random numbers come from; None for the default generator.";
}

void bind_fillers() {
  def_method(
      "uniform_", filler(&uniform_), "from"_a = 0.0, "to"_a = 1.0, nb::kw_only(),
      "generator"_or_none,
      filler_doc("Fills the tensor with uniform numbers in [from, to).",
                 "    from: the least number.\n    to: the bound that all numbers stay below.\n")
          .c_str());
  def_method(
      "normal_", filler(&normal_), "mean"_a = 0.0, "std"_a = 1.0, nb::kw_only(),
      "generator"_or_none,
      filler_doc(
          "Fills the tensor with normal numbers.",
          "    mean: the mean of the numbers.\n    std: the standard deviation of the numbers.\n")
          .c_str());
  def_method("log_normal_", filler(&log_normal_), "mean"_a = 1.0, "std"_a = 2.0, nb::kw_only(),
             "generator"_or_none,
             filler_doc("Fills the tensor with numbers whose logarithm is normal.",
                        "    mean: the mean of the logarithms.\n    std: the standard deviation of "
                        "the logarithms.\n")
                 .c_str());
  def_method("cauchy_", filler(&cauchy_), "median"_a = 0.0, "sigma"_a = 1.0, nb::kw_only(),
             "generator"_or_none,
             filler_doc("Fills the tensor with Cauchy numbers.",
                        "    median: the median of the numbers.\n    sigma: the half width of the "
                        "peak at half of its height.\n")
                 .c_str());
  def_method("exponential_", filler(&exponential_), "lambd"_a = 1.0, nb::kw_only(),
             "generator"_or_none,
             filler_doc("Fills the tensor with exponential numbers.",
                        "    lambd: the rate, of which the mean is the reciprocal.\n")
                 .c_str());
  def_method("geometric_", filler(&geometric_), "p"_a, nb::kw_only(), "generator"_or_none,
             filler_doc("Fills the tensor with numbers of trials up to the first success.",
                        "    p: the probability of a success.\n")
                 .c_str());
  def_method(
      "bernoulli_",
      [](Tensor x, const Tensor& p, const GeneratorArg& generator) {
        return bernoulli_(x, p, or_default(generator, x.device()));
      },
      "p"_a, nb::kw_only(), "generator"_or_none,
      filler_doc("Fills the tensor with ones of probability p, else zeros.",
                 "    p: the probability of a one, a number or a tensor.\n")
          .c_str());
  def_method("bernoulli_", filler(&facula::bernoulli_), "p"_a = 0.5, nb::kw_only(),
             "generator"_or_none);
}

// The size of rand() and randn(): ints, one tuple of ints, or size=.
Dims size_from(const char* op, const nb::args& args, const nb::object& size) {
  if (size.is_none()) return dims_from_args(op, args);
  Dims dims;
  check_type(args.size() == 0 && dims_from_object(size.ptr(), dims), op,
             ": expected size as one tuple of ints, got ", nb::repr(size).c_str(), ".");
  return dims;
}

Tensor rand(const FactoryOptions& options, const nb::args& args, const nb::object& size,
            const GeneratorArg& generator, const OptionalTensor& out) {
  Tensor x = target_of("rand", size_from("rand", args, size), options, get_default_dtype(), out);
  return uniform_(x, 0, 1, or_default(generator, x.device()));
}

Tensor randn(const FactoryOptions& options, const nb::args& args, const nb::object& size,
             const GeneratorArg& generator, const OptionalTensor& out) {
  Tensor x = target_of("randn", size_from("randn", args, size), options, get_default_dtype(), out);
  return normal_(x, 0, 1, or_default(generator, x.device()));
}

void rand_like(Tensor& x, const GeneratorArg& generator) {
  uniform_(x, 0, 1, or_default(generator, x.device()));
}
void randn_like(Tensor& x, const GeneratorArg& generator) {
  normal_(x, 0, 1, or_default(generator, x.device()));
}

void bind_factories(nb::module_& m) {
  def_factory(m, "rand", &rand, R"(Uniform numbers in [0, 1).
    args: the shape, as ints or as one tuple of ints.
    size: the shape, given by name.
    generator: where the random numbers come from; None for the default generator.
    out: where to put the result.
    >>> facula.rand(2, 3).shape
    torch.Size([2, 3]))"_doc,
              "args"_a, "size"_or_none, "generator"_or_none, "out"_or_none);
  def_factory(m, "randn", &randn, R"(Normal numbers of mean 0 and variance 1.
    args: the shape, as ints or as one tuple of ints.
    size: the shape, given by name.
    generator: where the random numbers come from; None for the default generator.
    out: where to put the result.
    >>> facula.randn(2, 3).shape
    torch.Size([2, 3]))"_doc,
              "args"_a, "size"_or_none, "generator"_or_none, "out"_or_none);
  def_like(m, "rand_like", &rand_like, R"(Uniform numbers in [0, 1) in the form of input.
    input: the tensor whose shape, dtype and device the result has.
    generator: where the random numbers come from; None for the default generator.
    >>> facula.rand_like(facula.zeros(2, 3)).shape
    torch.Size([2, 3]))"_doc,
           nb::kw_only(), "generator"_or_none);
  def_like(m, "randn_like", &randn_like,
           R"(Normal numbers of mean 0 and variance 1 in the form of input.
    input: the tensor whose shape, dtype and device the result has.
    generator: where the random numbers come from; None for the default generator.
    >>> facula.randn_like(facula.zeros(2, 3)).shape
    torch.Size([2, 3]))"_doc,
           nb::kw_only(), "generator"_or_none);
}

}  // namespace

FACULA_BINDINGS {
  bind_fillers();
  bind_factories(m);
  const char* doc = R"(Ones with the probability that input (or p) says, else zeros.
    input: probabilities, or, with ``p``, a tensor of the form of the result.
    p: the probability of all elements.
    generator: where the random numbers come from; None for the default generator.
    out: where to put the result.
    >>> facula.bernoulli(facula.tensor([0.0, 1.0]))
    tensor([0., 1.]))"_doc;
  m.def("bernoulli", &bernoulli_to, "input"_a, nb::kw_only(), "generator"_or_none, "out"_or_none,
        doc);
  def_method("bernoulli", &bernoulli, nb::kw_only(), "generator"_or_none, doc);
  m.def("_rrelu_slopes", &rrelu_slopes, "input"_a, "lower"_a, "upper"_a, "generator"_or_none);
  def_op(m, "bernoulli", &bernoulli_with_p, "p"_a, nb::kw_only(), "generator"_or_none);
  m.def("poisson", &poisson, "input"_a, "generator"_or_none,
        R"(Poisson numbers with the rates in input.
    input: the rates, which are also the means; floating point.
    generator: where the random numbers come from; None for the default generator.
    >>> facula.poisson(facula.zeros(2))
    tensor([0., 0.]))"_doc);
  m.def("binomial", &binomial, "count"_a, "prob"_a, "generator"_or_none,
        R"(Numbers of successes in count trials of probability prob.
    count: the numbers of trials, floating point.
    prob: the probabilities of a success.
    generator: where the random numbers come from; None for the default generator.
    >>> facula.binomial(facula.tensor([3.0, 4.0]), facula.tensor([0.0, 1.0]))
    tensor([0., 4.]))"_doc);
}

}  // namespace facula
