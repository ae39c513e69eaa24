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

template <class F, class G>
void def_unary(nb::module_& m, const char* name, const char* name_, F f, G f_) {
  m.def(
      name,
      [name, f](Handle self) {
        TensorList xs = tensors_from(name, self);
        return results(xs.size(), [&](size_t i) { return f(xs[i]); });
      },
      "self"_a);
  m.def(
      name_,
      [name_, f_](Handle self) {
        TensorList xs = tensors_from(name_, self);
        for (Tensor& x : xs) f_(x);
        return nb::borrow(self);
      },
      "self"_a);
}

// f(x, other) of a list and what it meets, and f_(x, other) in place. PyTorch has names of their
// own for the second argument by what it is: each is a form that takes all of them.
template <class F, class G>
void def_binary(nb::module_& m, const char* name, const char* name_, F f, G f_,
                std::initializer_list<const char*> names = {"other", "scalar", "scalars"}) {
  for (const char* other_name : names) {
    m.def(
        name,
        [name, f](Handle self, Handle other) {
          TensorList xs = tensors_from(name, self);
          Partners ys = partners_from(name, other);
          check_partners(name, xs, ys);
          return results(xs.size(), [&](size_t i) { return f(xs[i], ys[i]); });
        },
        "self"_a, nb::arg(other_name));
    m.def(
        name_,
        [name_, f_](Handle self, Handle other) {
          TensorList xs = tensors_from(name_, self);
          Partners ys = partners_from(name_, other);
          check_partners(name_, xs, ys);
          for (size_t i = 0; i < xs.size(); ++i) f_(xs[i], ys[i]);
          return nb::borrow(self);
        },
        "self"_a, nb::arg(other_name));
  }
}

// Sums and differences have a factor for tensors of the second list too.
Scalar factor_of(const char* name, const Partners& partners, const std::optional<Scalar>& alpha) {
  check_type(!alpha || !partners.are_numbers, name,
             ": alpha is a factor of tensors, and the second argument has numbers. Multiply them "
             "by it.");
  return alpha.value_or(Scalar(1));
}
template <class F, class G>
void def_scaled(nb::module_& m, const char* name, const char* name_, F f, G f_) {
  m.def(
      name,
      [name, f](Handle self, Handle other, std::optional<Scalar> alpha) {
        TensorList xs = tensors_from(name, self);
        Partners ys = partners_from(name, other);
        check_partners(name, xs, ys);
        Scalar factor = factor_of(name, ys, alpha);
        return results(xs.size(), [&](size_t i) { return f(xs[i], ys[i], factor); });
      },
      "self"_a, "other"_a, nb::kw_only(), "alpha"_a = nb::none());
  m.def(
      name_,
      [name_, f_](Handle self, Handle other, std::optional<Scalar> alpha) {
        TensorList xs = tensors_from(name_, self);
        Partners ys = partners_from(name_, other);
        check_partners(name_, xs, ys);
        Scalar factor = factor_of(name_, ys, alpha);
        for (size_t i = 0; i < xs.size(); ++i) f_(xs[i], ys[i], factor);
        return nb::borrow(self);
      },
      "self"_a, "other"_a, nb::kw_only(), "alpha"_a = nb::none());
  def_binary(
      m, name, name_, [f](const Tensor& x, const Tensor& y) { return f(x, y, 1); },
      [f_](Tensor& x, const Tensor& y) { f_(x, y, 1); }, {"scalar", "scalars"});
}

// The form in place, named `name`, of an operation that has none of its own in C++.
template <class F>
auto in_place_of(const char* name, F f) {
  return [name, f](Tensor& x, const auto&... others) {
    in_place(name, x, [&](const Tensor& t, const Into& into) { return f(t, others..., into); });
  };
}

// The lists of an operation on three: of one length, and a factor for each.
struct Triples {
  TensorList xs, as, bs;
  std::vector<Scalar> factors;
};

Triples triples_from(const char* name, Handle self, Handle tensor1, Handle tensor2, Handle value) {
  Triples lists{
      tensors_from(name, self), tensors_from(name, tensor1), tensors_from(name, tensor2), {}};
  check_same_length(name, lists.xs, lists.as);
  check_same_length(name, lists.xs, lists.bs);
  lists.factors = factors(name, lists.xs, partners_from(name, value));
  return lists;
}

// x + value * (a op b).
template <class F>
void def_ternary(nb::module_& m, const char* name, const char* name_, const char* op_, F f) {
  for (const char* value_name : {"value", "scalars"}) {
    m.def(
        name,
        [name, f](Handle self, Handle tensor1, Handle tensor2, Handle value) {
          Triples t = triples_from(name, self, tensor1, tensor2, value);
          return results(t.xs.size(), [&](size_t i) {
            return f(t.xs[i], t.as[i], t.bs[i], t.factors[i], Into{});
          });
        },
        "self"_a, "tensor1"_a, "tensor2"_a, nb::arg(value_name) = 1);
    m.def(
        name_,
        [name_, op_, f](Handle self, Handle tensor1, Handle tensor2, Handle value) {
          Triples t = triples_from(name_, self, tensor1, tensor2, value);
          for (size_t i = 0; i < t.xs.size(); ++i)
            in_place_of(op_, f)(t.xs[i], t.as[i], t.bs[i], t.factors[i]);
          return nb::borrow(self);
        },
        "self"_a, "tensor1"_a, "tensor2"_a, nb::arg(value_name) = 1);
  }
}

Tensor lerp_by(const Tensor& start, const Tensor& end, const Tensor& weight, const Into& into) {
  if (weight->is_wrapped_number) return lerp(start, end, item(weight), into);
  return lerp(start, end, weight, into);
}

void def_lerp(nb::module_& m) {
  for (const char* weight_name : {"weight", "weights"}) {
    m.def(
        "_foreach_lerp",
        [](Handle self, Handle tensors1, Handle weight) {
          const char* name = "_foreach_lerp";
          TensorList xs = tensors_from(name, self), ends = tensors_from(name, tensors1);
          Partners by = partners_from(name, weight);
          check_same_length(name, xs, ends);
          check_partners(name, xs, by);
          return results(xs.size(),
                         [&](size_t i) { return lerp_by(xs[i], ends[i], by[i], Into{}); });
        },
        "self"_a, "tensors1"_a, nb::arg(weight_name));
    m.def(
        "_foreach_lerp_",
        [](Handle self, Handle tensors1, Handle weight) {
          const char* name = "_foreach_lerp_";
          TensorList xs = tensors_from(name, self), ends = tensors_from(name, tensors1);
          Partners by = partners_from(name, weight);
          check_same_length(name, xs, ends);
          check_partners(name, xs, by);
          for (size_t i = 0; i < xs.size(); ++i)
            in_place_of("lerp_", lerp_by)(xs[i], ends[i], by[i]);
          return nb::borrow(self);
        },
        "self"_a, "tensors1"_a, nb::arg(weight_name));
  }
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
#define EACH(name)                                                                              \
  def_unary(                                                                                    \
      m, "_foreach_" #name, "_foreach_" #name "_", [](const Tensor& x) { return name(x, {}); }, \
      [](Tensor& x) { name##_(x); })
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
  def_unary(
      m, "_foreach_abs", "_foreach_abs_", [](const Tensor& x) { return abs(x, Into{}); },
      in_place_of("abs_", [](const Tensor& x, const Into& into) { return abs(x, into); }));
  def_unary(
      m, "_foreach_round", "_foreach_round_", [](const Tensor& x) { return round(x); },
      in_place_of("round_", [](const Tensor& x, const Into& into) { return round(x, 0, into); }));
  def_unary(
      m, "_foreach_zero", "_foreach_zero_",
      [](const Tensor& x) { return zeros(x.sizes(), x.dtype(), x.device()); },
      [](Tensor& x) { zero_(x); });
}

void bind_arithmetic(nb::module_& m) {
#define SCALED(name)                                                                    \
  def_scaled(                                                                           \
      m, "_foreach_" #name, "_foreach_" #name "_",                                      \
      [](const Tensor& x, const Tensor& y, Scalar alpha) { return name(x, y, alpha); }, \
      [](Tensor& x, const Tensor& y, Scalar alpha) { name##_(x, y, alpha); })
  SCALED(add);
  SCALED(sub);
#undef SCALED
#define PAIR(name, ...)                                                    \
  def_binary(                                                              \
      m, "_foreach_" #name, "_foreach_" #name "_",                         \
      [](const Tensor& x, const Tensor& y) { return name(x, y, Into{}); }, \
      [](Tensor& x, const Tensor& y) { name##_(x, y); }, ##__VA_ARGS__)
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
#define BOUND(name)                                                                   \
  def_binary(                                                                         \
      m, "_foreach_" #name, "_foreach_" #name "_",                                    \
      [](const Tensor& x, const Tensor& y) { return name(x, y, Into{}); },            \
      in_place_of(#name "_", [](const Tensor& x, const Tensor& y, const Into& into) { \
        return name(x, y, into);                                                      \
      }))
  BOUND(clamp_min);
  BOUND(clamp_max);
#undef BOUND
#define TRIPLE(name)                                                              \
  def_ternary(m, "_foreach_" #name, "_foreach_" #name "_", #name "_",             \
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
      "self"_a, "ord"_a = 2, "dtype"_a = nb::none());
  m.def(
      "_foreach_powsum",
      [](Handle self, Scalar ord, std::optional<DType> dtype) {
        TensorList xs = tensors_from("_foreach_powsum", self);
        return results(xs.size(), [&](size_t i) { return sum_of_powers(xs[i], ord, dtype); });
      },
      "self"_a, "ord"_a = 2, "dtype"_a = nb::none());
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
