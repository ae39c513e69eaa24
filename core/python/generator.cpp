// Generators of random numbers, and the default one.
#include "random/generator.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/bind.h"
#include "ops/ops.h"
#include "tensor/backend.h"

namespace facula {

namespace {

using GeneratorArg = std::shared_ptr<Generator>;

GeneratorKind kind_from_name(const std::string& name) {
  check_value(name == "mt19937" || name == "philox",
              "Generator: expected kind 'mt19937' or 'philox', got '", name, "'.");
  return name == "philox" ? GeneratorKind::Philox : GeneratorKind::Mt19937;
}

GeneratorKind kind_for(Device device) {
  return device.is_cpu() ? GeneratorKind::Mt19937 : GeneratorKind::Philox;
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

nb::class_<Generator> make_generator_type(nb::module_& m) {
  nb::class_<Generator> type(m, "Generator",
                             R"(A source of random numbers with a state of its own.

``kind`` is ``'mt19937'``, whose numbers are those of PyTorch's CPU generator, or
``'philox'``, whose numbers depend on seed, call and element alone: those of a GPU, which
has this kind only, and the same on the CPU.
    >>> generator = facula.Generator().manual_seed(1)
    >>> a = facula.rand(2, generator=generator)
    >>> facula.equal(a, facula.rand(2, generator=generator.manual_seed(1)))
    True)"_doc);
  type.def(
          "__init__",
          [](Generator* self, DeviceArg device, const std::optional<std::string>& kind) {
            Device where = backend_of(device.device).resolve(device.device);
            GeneratorKind chosen = kind ? kind_from_name(*kind) : kind_for(where);
            check(where.is_cpu() || chosen == GeneratorKind::Philox,
                  "Generator: expected kind 'philox' for ", where, ", got '", kind.value_or(""),
                  "'.");
            new (self) Generator(chosen, Generator::kDefaultSeed, where);
          },
          "device"_a = "cpu", nb::kw_only(), "kind"_or_none)
      .def_prop_ro("device", &Generator::device)
      .def_prop_ro("kind", &kind_name)
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
  return type;
}

void bind_generator(nb::class_<Generator> type) {
  type.def(
          "manual_seed",
          [](GeneratorArg self, nb::handle seed) {
            self->manual_seed(seed_from(seed));
            return self;
          },
          "seed"_a, R"(Starts the sequence of a seed and returns the generator.
    seed: an int of 64 bits; equal seeds give equal numbers.
    >>> facula.rand(2, generator=facula.Generator().manual_seed(0))
    tensor([0.4963, 0.7682]))"_doc)
      .def(
          "seed", &Generator::seed,
          R"(Takes a seed from the system's source of randomness, starts its sequence and returns it.
    >>> generator = facula.Generator()
    >>> generator.seed() == generator.initial_seed()
    True)"_doc)
      .def("initial_seed", &Generator::initial_seed,
           R"(The seed with which the current sequence was started.
    >>> facula.Generator().manual_seed(7).initial_seed()
    7)"_doc)
      .def("get_state", &state_tensor,
           R"(The state of the generator, as a uint8 tensor for set_state().
    >>> generator = facula.Generator()
    >>> state = generator.get_state()
    >>> x = facula.rand(2, generator=generator)
    >>> facula.equal(x, facula.rand(2, generator=generator.set_state(state)))
    True)"_doc)
      .def(
          "set_state",
          [](GeneratorArg self, const Tensor& state) {
            set_state(*self, state);
            return self;
          },
          "new_state"_a, R"(Continues the sequence from a state and returns the generator.
    new_state: what get_state() of a generator of this kind returned.
    >>> generator, other = facula.Generator().manual_seed(0), facula.Generator()
    >>> facula.rand(2, generator=other.set_state(generator.get_state()))
    tensor([0.4963, 0.7682]))"_doc)
      .def(
          "clone_state",
          [](const Generator& self) {
            auto copy = std::make_shared<Generator>(self.kind(), 0, self.device());
            set_state(*copy, state_tensor(self));
            return copy;
          },
          R"(A new generator in the state of this one, from which each goes on by itself.
    >>> generator = facula.Generator()
    >>> copy = generator.clone_state()
    >>> facula.equal(facula.rand(2, generator=generator), facula.rand(2, generator=copy))
    True)"_doc);
}

void bind_default_generator(nb::module_& m) {
  m.attr("default_generator") = nb::cast(process_generator());
  def_state(
      m, "manual_seed",
      [](nb::handle seed) {
        nb::object number = nb::steal(PyNumber_Long(seed.ptr()));
        if (!number.is_valid()) throw nb::python_error();
        default_generator()->manual_seed(seed_from(number));
        seed_all_gpus(seed_from(number));
        return default_generator();
      },
      "seed"_a,
      R"(Starts the sequence of a seed in the default generators of the CPU and all GPUs; returns the CPU's.
    seed: an int of 64 bits; equal seeds give equal numbers.
    >>> _ = facula.manual_seed(0)
    >>> facula.rand(2)
    tensor([0.4963, 0.7682]))"_doc);
  def_state(
      m, "seed",
      [] {
        uint64_t seed = default_generator()->seed();
        seed_all_gpus(seed);
        return seed;
      },
      R"(Starts the default generators with a seed from the system's source of randomness, and returns it.
    >>> facula.seed() == facula.initial_seed()
    True)"_doc);
  def_state(
      m, "initial_seed", [] { return default_generator()->initial_seed(); },
      R"(The seed with which the default generator was started.
    >>> _ = facula.manual_seed(7)
    >>> facula.initial_seed()
    7)"_doc);
  def_state(
      m, "get_rng_state", [] { return state_tensor(*default_generator()); },
      R"(The state of the default generator, as a uint8 tensor for set_rng_state().
    >>> state = facula.get_rng_state()
    >>> x = facula.rand(2)
    >>> facula.set_rng_state(state)
    >>> facula.equal(x, facula.rand(2))
    True)"_doc);
  def_state(
      m, "set_rng_state", [](const Tensor& state) { set_state(*default_generator(), state); },
      "new_state"_a, R"(Continues the sequence of the default generator from a state.
    new_state: what get_rng_state() returned.
    >>> facula.set_rng_state(facula.Generator().manual_seed(0).get_state())
    >>> facula.rand(2)
    tensor([0.4963, 0.7682]))"_doc);
}

}  // namespace

FACULA_BINDINGS {
  m.def("_gpu_generator", [](int index) {
    return default_generator(
        backend_of({DeviceType::CUDA, 0}).resolve({DeviceType::CUDA, static_cast<int8_t>(index)}));
  });
  m.def("_seed_all_gpus", [](nb::handle seed) { seed_all_gpus(seed_from(seed)); });
  bind_generator(make_generator_type(m));
  bind_default_generator(m);
}

}  // namespace facula
