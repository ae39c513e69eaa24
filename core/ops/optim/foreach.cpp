// Lists of tensors: one call does for each what an operation does for one. Optimisers that others
// write take their steps with these; a call from Python is saved for every tensor but one.
#include "bind/bind.h"
#include "ops/ops.h"
#include "ops/reduce/vector_norm.h"

namespace facula {

namespace {

// What the tensors of a list meet: one number or 0-d tensor for all, or a list with one for each.
struct Partners {
  TensorList each;
  bool is_list = false;
  bool are_numbers = false;

  const Tensor& operator[](size_t i) const { return each[is_list ? i : 0]; }
};

bool partner_from_object(PyObject* object, Partners& out) {
  Scalar number;
  if (is_tensor(object)) {
    out.each.push_back(as_tensor(object));
    return true;
  }
  if (!number_from_object(object, number)) return false;
  out.each.push_back(wrapped_number(number));
  out.are_numbers = true;
  return true;
}

const char* type_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

bool is_sequence(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }

Partners partners_from(const char* name, nb::handle object) {
  Partners out;
  if (!is_sequence(object.ptr())) {
    check_type(partner_from_object(object.ptr(), out), name,
               ": expected a number, a tensor or a list of them as the second argument, got ",
               type_name(object.ptr()), ".");
    return out;
  }
  out.is_list = true;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object.ptr()); ++i) {
    PyObject* value = PySequence_Fast_GET_ITEM(object.ptr(), i);
    Partners item;
    check_type(partner_from_object(value, item) && (i == 0 || item.are_numbers == out.are_numbers),
               name, ": expected a list of numbers or one of tensors, got ", type_name(value),
               " at index ", i, ".");
    out.are_numbers = item.are_numbers;
    out.each.push_back(std::move(item.each[0]));
  }
  return out;
}

TensorList tensors_from(const char* name, nb::handle list) {
  check_type(is_sequence(list.ptr()), name, ": expected a list or tuple of tensors, got ",
             type_name(list.ptr()), ".");
  TensorList tensors;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i) {
    PyObject* tensor = PySequence_Fast_GET_ITEM(list.ptr(), i);
    check_type(is_tensor(tensor), name, ": expected a list of tensors, got ", type_name(tensor),
               " at index ", i, ".");
    tensors.push_back(as_tensor(tensor));
  }
  check(!tensors.empty(), name, ": Tensor list must have at least one tensor.");
  return tensors;
}

void check_same_length(const char* name, const TensorList& list, const TensorList& other) {
  check(list.size() == other.size(), name,
        ": Tensor lists must have the same number of tensors, got ", list.size(), " and ",
        other.size(), ".");
}

void check_partners(const char* name, const TensorList& list, const Partners& partners) {
  if (partners.is_list) {
    check(partners.each.size() == list.size(), name,
          partners.are_numbers
              ? ": Tensor list must have same number of elements as scalar list, got "
              : ": Tensor lists must have the same number of tensors, got ",
          list.size(), " and ", partners.each.size(), ".");
  } else {
    const Tensor& one = partners.each[0];
    check(one.dim() == 0, name, ": scalar tensor expected to be 0 dim but it has ", one.dim(),
          " dimensions and ", one.numel(), " elements.");
  }
}

// The factors of addcmul and addcdiv: one for all, a list, or a tensor with one for each.
std::vector<Scalar> factors(const char* name, const TensorList& list, const Partners& partners) {
  std::vector<Scalar> numbers;
  if (!partners.is_list && partners.each[0].dim() == 1) {
    const Tensor& all = partners.each[0];
    check(all.size(0) == static_cast<int64_t>(list.size()), name,
          ": Expected length of scalars to match input of length ", list.size(), " but got ",
          all.size(0), " instead.");
    for (int64_t i = 0; i < all.size(0); ++i) numbers.push_back(item(select(all, 0, i)));
    return numbers;
  }
  check_partners(name, list, partners);
  for (size_t i = 0; i < list.size(); ++i) numbers.push_back(item(partners[i]));
  return numbers;
}

template <class F>
nb::tuple results(size_t n, F&& f) {
  nb::tuple made = nb::steal<nb::tuple>(PyTuple_New(n));
  for (size_t i = 0; i < n; ++i) PyTuple_SET_ITEM(made.ptr(), i, wrap(f(i)));
  return made;
}

using Handle = nb::handle;

// The function `_foreach_op`, whose i-th result is make(lists, i), and the form in place, where
// change(lists, i) changes the i-th tensor. read(name, self, args...) makes the lists of what
// Python passed, in the name of the function.
template <class Lists, class... Args, class Make, class Change, class... Extra>
void def_forms(nb::module_& m, const std::string& op, Lists (*read)(const char*, Handle, Args...),
               Make make, Change change, const Extra&... extra) {
  std::string name = "_foreach_" + op, name_ = name + "_";
  m.def(
      name.c_str(),
      [=](Handle self, Args... args) {
        Lists lists = read(name.c_str(), self, args...);
        return results(lists.xs.size(), [&](size_t i) { return make(lists, i); });
      },
      "self"_a, extra...);
  m.def(
      name_.c_str(),
      [=](Handle self, Args... args) {
        Lists lists = read(name_.c_str(), self, args...);
        for (size_t i = 0; i < lists.xs.size(); ++i) change(lists, i);
        return nb::borrow(self);
      },
      "self"_a, extra...);
}

struct Singles {
  TensorList xs;
};
Singles read_singles(const char* name, Handle self) { return {tensors_from(name, self)}; }

// A list and what it meets.
struct Pairs {
  TensorList xs;
  Partners ys;
  Scalar factor = 1;  // of tensors of the second list
};
Pairs read_pairs(const char* name, Handle self, Handle other) {
  Pairs lists{tensors_from(name, self), partners_from(name, other)};
  check_partners(name, lists.xs, lists.ys);
  return lists;
}
Pairs read_scaled(const char* name, Handle self, Handle other, std::optional<Scalar> alpha) {
  Pairs lists = read_pairs(name, self, other);
  check_type(!alpha || !lists.ys.are_numbers, name,
             ": alpha is a factor of tensors, and the second argument has numbers. Multiply them "
             "by it.");
  lists.factor = alpha.value_or(Scalar(1));
  return lists;
}

// PyTorch has names of their own for the second argument by what it is: each is a form that takes
// all of them.
template <class Make, class Change>
void def_binary(nb::module_& m, const char* op, Make make, Change change,
                std::initializer_list<const char*> names = {"other", "scalar", "scalars"}) {
  for (const char* name : names) def_forms(m, op, read_pairs, make, change, nb::arg(name));
}

// Sums and differences have a factor for tensors of the second list too.
template <class Make, class Change>
void def_scaled(nb::module_& m, const char* op, Make make, Change change) {
  def_forms(m, op, read_scaled, make, change, "other"_a, nb::kw_only(), "alpha"_or_none);
  def_binary(m, op, make, change, {"scalar", "scalars"});
}

// The form in place, named `name`, of an operation that has none of its own in C++.
template <class F, class... Others>
void change_by(const char* name, F f, Tensor& x, const Others&... others) {
  in_place(name, x, [&](const Tensor& t, const Into& into) { return f(t, others..., into); });
}

// The lists of an operation on three: of one length, and a factor for each.
struct Triples {
  TensorList xs, as, bs;
  std::vector<Scalar> factors;
};
Triples read_triples(const char* name, Handle self, Handle tensor1, Handle tensor2, Handle value) {
  Triples lists{
      tensors_from(name, self), tensors_from(name, tensor1), tensors_from(name, tensor2), {}};
  check_same_length(name, lists.xs, lists.as);
  check_same_length(name, lists.xs, lists.bs);
  lists.factors = factors(name, lists.xs, partners_from(name, value));
  return lists;
}

// x + value * (a op b).
template <class F>
void def_ternary(nb::module_& m, const char* op, const char* op_, F f) {
  auto make = [f](const Triples& t, size_t i) {
    return f(t.xs[i], t.as[i], t.bs[i], t.factors[i], Into{});
  };
  auto change = [f, op_](Triples& t, size_t i) {
    change_by(op_, f, t.xs[i], t.as[i], t.bs[i], t.factors[i]);
  };
  for (const char* name : {"value", "scalars"})
    def_forms(m, op, read_triples, make, change, "tensor1"_a, "tensor2"_a, nb::arg(name) = 1);
}

struct Ways {
  TensorList xs, ends;
  Partners weights;
};
Ways read_ways(const char* name, Handle self, Handle tensors1, Handle weight) {
  Ways lists{tensors_from(name, self), tensors_from(name, tensors1), partners_from(name, weight)};
  check_same_length(name, lists.xs, lists.ends);
  check_partners(name, lists.xs, lists.weights);
  return lists;
}

Tensor lerp_by(const Tensor& start, const Tensor& end, const Tensor& weight, const Into& into) {
  if (weight->is_wrapped_number) return lerp(start, end, item(weight), into);
  return lerp(start, end, weight, into);
}

void def_lerp(nb::module_& m) {
  auto make = [](const Ways& w, size_t i) {
    return lerp_by(w.xs[i], w.ends[i], w.weights[i], Into{});
  };
  auto change = [](Ways& w, size_t i) {
    change_by("lerp_", lerp_by, w.xs[i], w.ends[i], w.weights[i]);
  };
  for (const char* name : {"weight", "weights"})
    def_forms(m, "lerp", read_ways, make, change, "tensors1"_a, nb::arg(name));
}

Tensor largest(const Tensor& x) {
  check(x.numel() > 0, "_foreach_max",
        ": cannot compute the maximum of an empty tensor; max over zero elements is undefined.");
  return amax(x);
}

Tensor sum_of_powers(const Tensor& x, Scalar ord, std::optional<DType> dtype) {
  return sum(pow(abs(dtype ? to_dtype(x, *dtype) : x, Into{}), wrapped_number(ord)));
}

void bind_elementwise(nb::module_& m) {
#define EACH(name)                                                                          \
  def_forms(                                                                                \
      m, #name, read_singles, [](const Singles& l, size_t i) { return name(l.xs[i], {}); }, \
      [](Singles& l, size_t i) { name##_(l.xs[i]); })
  EACH(acos);
  EACH(asin);
  EACH(atan);
  EACH(ceil);
  EACH(cos);
  EACH(cosh);
  EACH(erf);
  EACH(erfc);
  EACH(exp);
  EACH(expm1);
  EACH(floor);
  EACH(frac);
  EACH(lgamma);
  EACH(log);
  EACH(log10);
  EACH(log1p);
  EACH(log2);
  EACH(neg);
  EACH(reciprocal);
  EACH(rsqrt);
  EACH(sigmoid);
  EACH(sign);
  EACH(sin);
  EACH(sinh);
  EACH(sqrt);
  EACH(tan);
  EACH(tanh);
  EACH(trunc);
#undef EACH
  auto abs_into = [](const Tensor& x, const Into& into) { return abs(x, into); };
  def_forms(
      m, "abs", read_singles, [](const Singles& l, size_t i) { return abs(l.xs[i], Into{}); },
      [=](Singles& l, size_t i) { change_by("abs_", abs_into, l.xs[i]); });
  auto round_into = [](const Tensor& x, const Into& into) { return round(x, 0, into); };
  def_forms(
      m, "round", read_singles, [](const Singles& l, size_t i) { return round(l.xs[i]); },
      [=](Singles& l, size_t i) { change_by("round_", round_into, l.xs[i]); });
  auto zeros_like = [](const Singles& l, size_t i) {
    return zeros(l.xs[i].sizes(), l.xs[i].dtype(), l.xs[i].device());
  };
  def_forms(m, "zero", read_singles, zeros_like, [](Singles& l, size_t i) { zero_(l.xs[i]); });
}

void bind_arithmetic(nb::module_& m) {
#define SCALED(name)                                                                       \
  def_scaled(                                                                              \
      m, #name, [](const Pairs& l, size_t i) { return name(l.xs[i], l.ys[i], l.factor); }, \
      [](Pairs& l, size_t i) { name##_(l.xs[i], l.ys[i], l.factor); })
  SCALED(add);
  SCALED(sub);
#undef SCALED
#define PAIR(name, ...)                                                                  \
  def_binary(                                                                            \
      m, #name, [](const Pairs& l, size_t i) { return name(l.xs[i], l.ys[i], Into{}); }, \
      [](Pairs& l, size_t i) { name##_(l.xs[i], l.ys[i]); }, ##__VA_ARGS__)
  PAIR(mul);
  PAIR(div);
  PAIR(maximum);
  PAIR(minimum);
  // Before the form of lists, which takes anything: a number to the power of each tensor.
  m.def(
      "_foreach_pow",
      [](Scalar self, Handle exponent) {
        TensorList xs = tensors_from("_foreach_pow", exponent);
        return results(xs.size(), [&](size_t i) { return pow(wrapped_number(self), xs[i]); });
      },
      "self"_a, "exponent"_a);
  PAIR(pow, {"exponent"});
#undef PAIR
#define BOUND(name)                                                                      \
  def_binary(                                                                            \
      m, #name, [](const Pairs& l, size_t i) { return name(l.xs[i], l.ys[i], Into{}); }, \
      [](Pairs& l, size_t i) {                                                           \
        auto into_place = [](const Tensor& x, const Tensor& y, const Into& into) {       \
          return name(x, y, into);                                                       \
        };                                                                               \
        change_by(#name "_", into_place, l.xs[i], l.ys[i]);                              \
      })
  BOUND(clamp_min);
  BOUND(clamp_max);
#undef BOUND
#define TRIPLE(name)                                                              \
  def_ternary(m, #name, #name "_",                                                \
              [](const Tensor& x, const Tensor& a, const Tensor& b, Scalar value, \
                 const Into& into) { return name(x, a, b, value, into); })
  TRIPLE(addcmul);
  TRIPLE(addcdiv);
#undef TRIPLE
  def_lerp(m);
}

void bind_copies(nb::module_& m) {
  m.def(
      "_foreach_copy_",
      [](Handle self, Handle src, bool non_blocking) {
        const char* name = "_foreach_copy_";
        TensorList xs = tensors_from(name, self), sources = tensors_from(name, src);
        check_same_length(name, xs, sources);
        for (size_t i = 0; i < xs.size(); ++i) copy_(xs[i], sources[i]);
        return nb::borrow(self);
      },
      "self"_a, "src"_a, "non_blocking"_a = false);
  m.def(
      "_foreach_clone",
      [](Handle self) {
        TensorList xs = tensors_from("_foreach_clone", self);
        return results(xs.size(), [&](size_t i) { return clone(xs[i]); });
      },
      "self"_a);
  m.def(
      "_foreach_mm",
      [](Handle self, Handle mat2) {
        TensorList xs = tensors_from("_foreach_mm", self), ys = tensors_from("_foreach_mm", mat2);
        check_same_length("_foreach_mm", xs, ys);
        return results(xs.size(), [&](size_t i) { return mm(xs[i], ys[i]); });
      },
      "self"_a, "mat2"_a);
}

void bind_reductions(nb::module_& m) {
  m.def(
      "_foreach_norm",
      [](Handle self, Scalar ord, std::optional<DType> dtype) {
        TensorList xs = tensors_from("_foreach_norm", self);
        check(!ord.is_complex(), "_foreach_norm: expected an ord that is real, got a complex one.");
        return results(xs.size(), [&](size_t i) {
          return vector_norm(xs[i], ord.to_double(), {}, false, dtype);
        });
      },
      "self"_a, "ord"_a = 2, "dtype"_or_none);
  m.def(
      "_foreach_powsum",
      [](Handle self, Scalar ord, std::optional<DType> dtype) {
        TensorList xs = tensors_from("_foreach_powsum", self);
        return results(xs.size(), [&](size_t i) { return sum_of_powers(xs[i], ord, dtype); });
      },
      "self"_a, "ord"_a = 2, "dtype"_or_none);
  m.def(
      "_foreach_max",
      [](Handle self) {
        TensorList xs = tensors_from("_foreach_max", self);
        return results(xs.size(), [&](size_t i) { return largest(xs[i]); });
      },
      "self"_a);
}

}  // namespace

FACULA_BINDINGS {
  bind_elementwise(m);
  bind_arithmetic(m);
  bind_copies(m);
  bind_reductions(m);
}

}  // namespace facula
