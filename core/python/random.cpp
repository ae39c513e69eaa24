#include "ops/random/random.h"

#include <nanobind/stl/shared_ptr.h>

#include "autograd/node.h"
#include "bind/bind.h"
#include "bind/default_device.h"
#include "ops/ops.h"
#include "python/new_tensor.h"

namespace facula {

namespace {

using GeneratorArg = std::shared_ptr<Generator>;

Generator* named_default = nullptr;  // the object facula.default_generator

// Who names the default generator means what the thread draws from.
Generator& or_default(const GeneratorArg& generator) {
  return generator && generator.get() != named_default ? *generator : *default_generator();
}

// ---- generators

GeneratorKind kind_from_name(const std::string& name) {
  check_value(name == "mt19937" || name == "philox",
              "Generator: expected kind 'mt19937' or 'philox', got '", name, "'.");
  return name == "philox" ? GeneratorKind::Philox : GeneratorKind::Mt19937;
}

const char* kind_name(const Generator& generator) {
  return generator.kind() == GeneratorKind::Philox ? "philox" : "mt19937";
}

// Any int of 64 bits, signed or not.
uint64_t seed_from(nb::handle seed) {
  check(PyLong_Check(seed.ptr()), "manual_seed: expected an int, got ",
        Py_TYPE(seed.ptr())->tp_name, ".");
  int overflow;
  long long value = PyLong_AsLongLongAndOverflow(seed.ptr(), &overflow);
  if (overflow == 0) return static_cast<uint64_t>(value);
  unsigned long long wide = overflow > 0 ? PyLong_AsUnsignedLongLong(seed.ptr()) : 0;
  bool is_outside = overflow < 0 || PyErr_Occurred();
  PyErr_Clear();
  check_value(!is_outside, "manual_seed: expected a seed in [-2^63, 2^64), got ",
              nb::repr(seed).c_str(), ".");
  return wide;
}

Tensor state_tensor(const Generator& generator) {
  std::vector<uint8_t> bytes = generator.get_state();
  Tensor state = empty({static_cast<int64_t>(bytes.size())}, DType::UInt8);
  std::copy(bytes.begin(), bytes.end(), state.data_as<uint8_t>());
  return state;
}

void set_state(Generator& generator, const Tensor& state) {
  check_type(state.dtype() == DType::UInt8 && state.is_cpu(),
             "set_state: expected a uint8 tensor on the CPU, got ", state, ".");
  Tensor bytes = contiguous(state);
  generator.set_state(bytes.data_as<uint8_t>(), bytes.numel());
}

void bind_generator(nb::module_& m) {
  nb::class_<Generator>(
      m, "Generator",
      "A source of random numbers with a state of its own.\n\n"
      "``kind`` is ``'mt19937'``, whose numbers are those of PyTorch's CPU generator, or\n"
      "``'philox'``, whose numbers depend on seed, call and element alone.")
      .def(
          "__init__",
          [](Generator* self, DeviceArg device, const std::string& kind) {
            Device where = device.device;
            check(where.is_cpu(), "Generator: expected device 'cpu', got ", where,
                  ". A CPU generator serves tensors of every device.");
            new (self) Generator(kind_from_name(kind));
          },
          "device"_a = "cpu", nb::kw_only(), "kind"_a = "mt19937")
      .def_prop_ro("device", [](const Generator&) { return Device{}; })
      .def_prop_ro("kind", &kind_name)
      .def(
          "manual_seed",
          [](GeneratorArg self, nb::handle seed) {
            self->manual_seed(seed_from(seed));
            return self;
          },
          "seed"_a, "Starts the sequence of this seed and returns the generator.")
      .def("seed", &Generator::seed, "Seeds from the system's entropy and returns the seed.")
      .def("initial_seed", &Generator::initial_seed, "The seed of the current sequence.")
      .def("get_state", &state_tensor, "The state as a uint8 tensor.")
      .def(
          "set_state",
          [](GeneratorArg self, const Tensor& state) {
            set_state(*self, state);
            return self;
          },
          "new_state"_a, "Goes on from a state that get_state() returned.")
      .def(
          "clone_state",
          [](const Generator& self) {
            auto copy = std::make_shared<Generator>(self.kind());
            set_state(*copy, state_tensor(self));
            return copy;
          },
          "Another generator in the same state.")
      .def("__getstate__",
           [](const Generator& self) {
             std::vector<uint8_t> state = self.get_state();
             return nb::make_tuple(kind_name(self), nb::bytes(state.data(), state.size()));
           })
      .def("__setstate__", [](Generator& self, const nb::tuple& pair) {
        nb::bytes state = nb::cast<nb::bytes>(pair[1]);
        new (&self) Generator(kind_from_name(nb::cast<std::string>(pair[0])));
        self.set_state(static_cast<const uint8_t*>(state.data()), state.size());
      });
}

void bind_default_generator(nb::module_& m) {
  named_default = default_generator().get();
  m.attr("default_generator") = nb::cast(default_generator());
  m.def(
      "manual_seed",
      [](nb::handle seed) {
        nb::object number = nb::steal(PyNumber_Long(seed.ptr()));
        if (!number.is_valid()) throw nb::python_error();
        default_generator()->manual_seed(seed_from(number));
        return default_generator();
      },
      "seed"_a, "Seeds the default generator and returns it.");
  m.def(
      "seed", [] { return default_generator()->seed(); },
      "Seeds the default generator from the system's entropy and returns the seed.");
  m.def(
      "initial_seed", [] { return default_generator()->initial_seed(); },
      "The seed of the default generator.");
  m.def(
      "get_rng_state", [] { return state_tensor(*default_generator()); },
      "The state of the default generator, as a uint8 tensor.");
  m.def(
      "set_rng_state", [](const Tensor& state) { set_state(*default_generator(), state); },
      "new_state"_a, "Sets the state of the default generator.");
}

// ---- creation

struct Options {
  std::optional<DType> dtype;
  std::optional<DeviceArg> device;
  bool requires_grad;
};

// An empty tensor of these options, or `out` in this shape, then filled.
template <class Fill>
Tensor create(const char* op, const Dims& size, const Options& options, DType default_dtype,
              const Tensor& out, const Fill& fill) {
  Tensor x = out;
  if (out.defined()) {
    check(!options.dtype || *options.dtype == out.dtype(), op, ": expected out of the given dtype ",
          options.dtype.value_or(out.dtype()), ", got ", out, ".");
    check_inplace(op, out);  // before anything about it changes
    if (out.sizes() != size) resize_(out, size);
  } else {
    Device device = device_or_default(options.device);
    x = empty(size, options.dtype.value_or(default_dtype), device);
  }
  fill(x);
  if (options.requires_grad) require_grad(x, true);
  return x;
}

// nanobind takes None for these where the annotation says so.
Tensor or_none(const std::optional<Tensor>& x) { return x.value_or(Tensor()); }

Dims size_from(const char* op, const nb::args& args, const nb::object& size) {
  if (size.is_none()) {
    check_type(args.size() > 0, op, ": expected a size, as ints or as one tuple of ints.");
    return dims_from_args(op, args);
  }
  Dims dims;
  check_type(args.size() == 0 && dims_from_object(size.ptr(), dims), op,
             ": expected size as one tuple of ints, got ", nb::repr(size).c_str(), ".");
  return dims;
}

// layout and pin_memory are accepted for their only value here.
#define OPTIONS                                                                                  \
  "dtype"_a.none() = nb::none(), "layout"_a.none() = nb::none(), "device"_a.none() = nb::none(), \
  "pin_memory"_a = false, "requires_grad"_a = false
#define GENERATOR "generator"_a.none() = nb::none()
#define OUT "out"_a.none() = nb::none()

template <class Fill>
void def_random_factory(nb::module_& m, const char* name, const Fill& fill, const char* doc) {
  m.def(
      name,
      [name, fill](const nb::args& args, const nb::object& size, const GeneratorArg& generator,
                   const std::optional<Tensor>& out, std::optional<DType> dtype, nb::handle,
                   std::optional<DeviceArg> device, bool, bool requires_grad) {
        return create(name, size_from(name, args, size), {dtype, device, requires_grad},
                      get_default_dtype(), or_none(out),
                      [&](Tensor& x) { fill(x, or_default(generator)); });
      },
      "args"_a, "size"_a = nb::none(), GENERATOR, OUT, OPTIONS, doc);
}

template <class Fill>
void def_random_like(nb::module_& m, const char* name, const Fill& fill, const char* doc) {
  m.def(
      name,
      [fill](const Tensor& input, const GeneratorArg& generator, std::optional<DType> dtype,
             nb::handle, std::optional<DeviceArg> device, bool, bool requires_grad,
             MemoryFormat format) {
        Tensor x = empty_like(input, dtype.value_or(input.dtype()),
                              device ? device->device : input.device(), format);
        fill(x, or_default(generator));
        if (requires_grad) require_grad(x, true);
        return x;
      },
      "input"_a, nb::kw_only(), GENERATOR, OPTIONS, "memory_format"_a = MemoryFormat::Preserve,
      doc);
}

void bind_factories(nb::module_& m) {
  auto uniform = [](Tensor& x, Generator& g) { uniform_(x, 0, 1, g); };
  auto normal = [](Tensor& x, Generator& g) { normal_(x, 0, 1, g); };
  def_random_factory(m, "rand", uniform, "Uniform numbers in [0, 1).");
  def_random_factory(m, "randn", normal, "Normal numbers of mean 0 and variance 1.");
  def_random_like(m, "rand_like", uniform, "Uniform numbers in [0, 1) in the form of input.");
  def_random_like(m, "randn_like", normal,
                  "Normal numbers of mean 0 and variance 1 in the form of input.");
}

Tensor randint(int64_t low, int64_t high, const nb::object& size, const GeneratorArg& generator,
               const std::optional<Tensor>& out, const Options& options) {
  Dims dims;
  check_type(dims_from_object(size.ptr(), dims),
             "randint: expected size as one tuple of ints, got ", nb::repr(size).c_str(), ".");
  return create("randint", dims, options, DType::Int64, or_none(out), [&](Tensor& x) {
    told_as("randint", [&] { random_(x, low, high, or_default(generator)); });
  });
}

Tensor randint_like(const Tensor& input, int64_t low, int64_t high, const GeneratorArg& generator,
                    const Options& options, MemoryFormat format) {
  Tensor x = empty_like(input, options.dtype.value_or(input.dtype()),
                        options.device ? options.device->device : input.device(), format);
  random_(x, low, high, or_default(generator));
  if (options.requires_grad) require_grad(x, true);
  return x;
}

void bind_integers(nb::module_& m) {
  const char* doc = "Integers in [low, high), low 0 if left out.";
  m.def(
      "randint",
      [](int64_t high, const nb::object& size, const GeneratorArg& generator,
         const std::optional<Tensor>& out, std::optional<DType> dtype, nb::handle,
         std::optional<DeviceArg> device, bool, bool requires_grad) {
        return randint(0, high, size, generator, out, {dtype, device, requires_grad});
      },
      "high"_a, "size"_a, nb::kw_only(), GENERATOR, OUT, OPTIONS, doc);
  m.def(
      "randint",
      [](int64_t low, int64_t high, const nb::object& size, const GeneratorArg& generator,
         const std::optional<Tensor>& out, std::optional<DType> dtype, nb::handle,
         std::optional<DeviceArg> device, bool, bool requires_grad) {
        return randint(low, high, size, generator, out, {dtype, device, requires_grad});
      },
      "low"_a, "high"_a, "size"_a, nb::kw_only(), GENERATOR, OUT, OPTIONS, doc);
  const char* like_doc = "Integers in [low, high) in the form of input, low 0 if left out.";
  m.def(
      "randint_like",
      [](const Tensor& input, int64_t high, const GeneratorArg& generator,
         std::optional<DType> dtype, nb::handle, std::optional<DeviceArg> device, bool,
         bool requires_grad, MemoryFormat format) {
        return randint_like(input, 0, high, generator, {dtype, device, requires_grad}, format);
      },
      "input"_a, "high"_a, nb::kw_only(), GENERATOR, OPTIONS,
      "memory_format"_a = MemoryFormat::Preserve, like_doc);
  m.def(
      "randint_like",
      [](const Tensor& input, int64_t low, int64_t high, const GeneratorArg& generator,
         std::optional<DType> dtype, nb::handle, std::optional<DeviceArg> device, bool,
         bool requires_grad, MemoryFormat format) {
        return randint_like(input, low, high, generator, {dtype, device, requires_grad}, format);
      },
      "input"_a, "low"_a, "high"_a, nb::kw_only(), GENERATOR, OPTIONS,
      "memory_format"_a = MemoryFormat::Preserve, like_doc);
  m.def(
      "randperm",
      [](int64_t n, const GeneratorArg& generator, const std::optional<Tensor>& out,
         std::optional<DType> dtype, nb::handle, std::optional<DeviceArg> device, bool,
         bool requires_grad) {
        Device where = device_or_default(device);
        DType type = out ? out->dtype() : dtype.value_or(DType::Int64);
        check(!dtype || *dtype == type, "randperm: expected out of the given dtype ",
              dtype.value_or(type), ", got ", *out, ".");
        Tensor y = told_as("randperm", [&] { return randperm(n, type, or_default(generator)); });
        y = to(y, where, type, false);
        if (out && out->sizes() != y.sizes()) resize_(*out, y.sizes());
        y = into_out("randperm", y, or_none(out));
        if (requires_grad) require_grad(y, true);
        return y;
      },
      "n"_a, nb::kw_only(), GENERATOR, OUT, OPTIONS, "A random permutation of 0 .. n - 1.");
}

// ---- distributions

void bind_distributions(nb::module_& m) {
  m.def(
      "normal",
      [](const Tensor& mean, const Tensor& std, const GeneratorArg& generator,
         const std::optional<Tensor>& out) {
        return normal(mean, std, or_default(generator), or_none(out));
      },
      "mean"_a, "std"_a, nb::kw_only(), GENERATOR, OUT,
      "Normal numbers; mean and std are tensors or numbers, or numbers and a size.");
  m.def(
      "normal",
      [](const Tensor& mean, double std, const GeneratorArg& generator,
         const std::optional<Tensor>& out) {
        return normal(mean, std, or_default(generator), or_none(out));
      },
      "mean"_a, "std"_a = 1.0, nb::kw_only(), GENERATOR, OUT);
  m.def(
      "normal",
      [](double mean, const Tensor& std, const GeneratorArg& generator,
         const std::optional<Tensor>& out) {
        return normal(mean, std, or_default(generator), or_none(out));
      },
      "mean"_a, "std"_a, nb::kw_only(), GENERATOR, OUT);
  m.def(
      "normal",
      [](double mean, double std, const Dims& size, const GeneratorArg& generator,
         const std::optional<Tensor>& out, std::optional<DType> dtype, nb::handle,
         std::optional<DeviceArg> device, bool, bool requires_grad) {
        return create("normal", size, {dtype, device, requires_grad}, get_default_dtype(),
                      or_none(out),
                      [&](Tensor& x) { normal_(x, mean, std, or_default(generator)); });
      },
      "mean"_a, "std"_a, "size"_a, nb::kw_only(), GENERATOR, OUT, OPTIONS);

  auto bernoulli_of = [](const Tensor& input, const GeneratorArg& generator,
                         const std::optional<Tensor>& out) {
    if (!out) return bernoulli(input, or_default(generator));
    check(!is_grad_enabled() || !input.requires_grad(),
          "bernoulli: out= takes no part in differentiation, but input requires grad.");
    if (out->sizes() != input.sizes()) resize_(*out, input.sizes());
    Tensor y = *out;
    return bernoulli_(y, input, or_default(generator));
  };
  auto bernoulli_with_p = [](const Tensor& input, double p, const GeneratorArg& generator) {
    return bernoulli(input, p, or_default(generator));
  };
  const char* doc = "Ones with the probability that input (or p) says, else zeros.";
  m.def("bernoulli", bernoulli_of, "input"_a, nb::kw_only(), GENERATOR, OUT, doc);
  m.def("bernoulli", bernoulli_with_p, "input"_a, "p"_a, nb::kw_only(), GENERATOR);
  def_method(
      "bernoulli",
      [bernoulli_of](const Tensor& x, const GeneratorArg& generator) {
        return bernoulli_of(x, generator, std::nullopt);
      },
      nb::kw_only(), GENERATOR, doc);
  def_method("bernoulli", bernoulli_with_p, "p"_a, nb::kw_only(), GENERATOR);

  auto multinomial_of = [](const Tensor& input, int64_t num_samples, bool replacement,
                           const GeneratorArg& generator, const std::optional<Tensor>& out) {
    check(!out || out->dtype() == DType::Int64, "multinomial: expected out of dtype int64, got ",
          out.value_or(input), ".");
    Tensor y = multinomial(input, num_samples, replacement, or_default(generator));
    if (out && out->sizes() != y.sizes()) resize_(*out, y.sizes());
    return into_out("multinomial", y, or_none(out));
  };
  def_op(m, "multinomial", multinomial_of, "num_samples"_a, "replacement"_a = false, nb::kw_only(),
         GENERATOR, OUT, "Indices drawn with the weights in each row of input.");
  m.def(
      "poisson",
      [](const Tensor& input, const GeneratorArg& generator) {
        return poisson(input, or_default(generator));
      },
      "input"_a, GENERATOR, "Poisson numbers with the rates in input.");
  m.def(
      "_standard_gamma",
      [](const Tensor& input, const GeneratorArg& generator) {
        return standard_gamma(input, or_default(generator));
      },
      "input"_a, GENERATOR, "Gamma numbers of the shapes in input and scale 1.");
  m.def(
      "binomial",
      [](const Tensor& count, const Tensor& prob, const GeneratorArg& generator) {
        return binomial(count, prob, or_default(generator));
      },
      "count"_a, "prob"_a, GENERATOR, "Numbers of successes in count trials of probability prob.");
}

// ---- methods that fill a tensor

using OneParameter = Tensor& (*)(Tensor&, double, Generator&);
using TwoParameters = Tensor& (*)(Tensor&, double, double, Generator&);

auto filler(OneParameter fill) {
  return [fill](Tensor x, double a, const GeneratorArg& generator) {
    return fill(x, a, or_default(generator));
  };
}
auto filler(TwoParameters fill) {
  return [fill](Tensor x, double a, double b, const GeneratorArg& generator) {
    return fill(x, a, b, or_default(generator));
  };
}

void bind_fillers() {
  def_method("uniform_", filler(&uniform_), "from"_a = 0.0, "to"_a = 1.0, nb::kw_only(), GENERATOR,
             "Fills the tensor with uniform numbers in [from, to).");
  def_method("normal_", filler(&normal_), "mean"_a = 0.0, "std"_a = 1.0, nb::kw_only(), GENERATOR,
             "Fills the tensor with normal numbers.");
  def_method("log_normal_", filler(&log_normal_), "mean"_a = 1.0, "std"_a = 2.0, nb::kw_only(),
             GENERATOR, "Fills the tensor with numbers whose logarithm is normal.");
  def_method("cauchy_", filler(&cauchy_), "median"_a = 0.0, "sigma"_a = 1.0, nb::kw_only(),
             GENERATOR, "Fills the tensor with Cauchy numbers.");
  def_method("exponential_", filler(&exponential_), "lambd"_a = 1.0, nb::kw_only(), GENERATOR,
             "Fills the tensor with exponential numbers of rate lambd.");
  def_method("geometric_", filler(&geometric_), "p"_a, nb::kw_only(), GENERATOR,
             "Fills the tensor with numbers of trials up to the first success.");
  def_method(
      "bernoulli_",
      [](Tensor x, const Tensor& p, const GeneratorArg& generator) {
        return bernoulli_(x, p, or_default(generator));
      },
      "p"_a, nb::kw_only(), GENERATOR, "Fills the tensor with ones of probability p, else zeros.");
  def_method("bernoulli_", filler(static_cast<OneParameter>(&bernoulli_)), "p"_a = 0.5,
             nb::kw_only(), GENERATOR);
  def_method(
      "random_",
      [](Tensor x, const GeneratorArg& generator) { return random_(x, or_default(generator)); },
      nb::kw_only(), GENERATOR, "Fills the tensor with integers in [from, to).");
  def_method(
      "random_",
      [](Tensor x, int64_t to, const GeneratorArg& generator) {
        return random_(x, 0, to, or_default(generator));
      },
      "to"_a, nb::kw_only(), GENERATOR);
  def_method(
      "random_",
      [](Tensor x, int64_t from, std::optional<int64_t> to, const GeneratorArg& generator) {
        return random_(x, from, to, or_default(generator));
      },
      "from"_a, "to"_a.none(), nb::kw_only(), GENERATOR);
}

}  // namespace

FACULA_BINDINGS {
  bind_generator(m);
  bind_default_generator(m);
  bind_factories(m);
  bind_integers(m);
  bind_distributions(m);
  bind_fillers();
}

}  // namespace facula
