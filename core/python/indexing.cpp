// x[key] and x[key] = value, and the functions that index by tensors.
#include "autograd/hooks.h"
#include "autograd/node.h"
#include "base/number.h"
#include "bind/bind.h"
#include "bind/seam.h"
#include "ops/inplace.h"
#include "ops/ops.h"
#include "python/new_tensor.h"
#include "python/out.h"

namespace facula {

namespace {

// A key taken apart: `view` has ints, slices, None and Ellipsis applied; `indices` holds the
// tensors, one place per dimension.
struct Selection {
  Tensor view;
  TensorList indices;
  bool has_indices = false;
  int64_t n_gone = 0;  // dimensions that the view lacks so far, for messages
};

bool is_list_like(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }

// An array or a list as an index: a tensor of ints or bools.
Tensor index_tensor(PyObject* object) {
  check_type(!PyUnicode_Check(object),
             "index: expected ints, slices, None, Ellipsis, bool or integer tensors and sequences "
             "of ints, got a str.");
  check_value(!PyLong_Check(object), "index: the int does not fit into 64 bits.");
  Tensor index;
  try {
    index = tensor_from_data(object, std::nullopt, {});
  } catch (const Error& error) {
    throw Error(ErrorKind::Index, std::string("index: expected ints, slices, None, Ellipsis, bool "
                                              "or integer tensors and sequences of ints; ") +
                                      error.what());
  }
  if (index.numel() == 0 && is_differentiable(index.dtype())) index = to_dtype(index, DType::Int64);
  check_index(!is_differentiable(index.dtype()),
              "index: expected indices of int64, int32, uint8 or bool, got ", index, ".");
  return index;
}

// How many dimensions of x a part of the key uses up.
int64_t dims_used(PyObject* part) {
  if (part == Py_None || part == Py_Ellipsis || PyBool_Check(part)) return 0;
  if (is_tensor(part)) {
    Tensor t = as_tensor(part);
    return t.dtype() == DType::Bool || t.dtype() == DType::UInt8 ? t.dim() : 1;
  }
  if (is_list_like(part)) {
    Tensor t = index_tensor(part);
    return t.dtype() == DType::Bool ? t.dim() : 1;
  }
  return 1;
}

int64_t slice_bound(PyObject* bound, int64_t otherwise) {
  if (bound == Py_None) return otherwise;
  int64_t value;
  if (index_from_object(bound, value)) return value;
  if (PyLong_Check(bound))
    return Py_SIZE(bound) < 0 ? INT64_MIN / 2 : INT64_MAX;  // beyond int64: clamped, as for lists
  check_type(is_tensor(bound) || PyIndex_Check(bound),
             "slice indices must be integers or None or have an __index__ method, got ",
             Py_TYPE(bound)->tp_name, ".");
  PyObject* number = PyNumber_Index(bound);
  if (!number) throw_python_error();
  value = PyLong_AsLongLong(number);
  Py_DECREF(number);
  return value;
}

// A slice of all is x itself where `all_is_self`.
Tensor apply_slice(const Tensor& x, int64_t dim, PyObject* key, bool all_is_self) {
  auto* s = reinterpret_cast<PySliceObject*>(key);
  int64_t step = slice_bound(s->step, 1);
  check_value(step > 0, "slice: expected a step of at least 1, got ", step,
              ". Use flip() to reverse a tensor.");
  check_index(x.dim() > 0, "slice: a 0-d tensor has no dimension to slice.");
  int64_t start = slice_bound(s->start, 0), stop = slice_bound(s->stop, INT64_MAX);
  if (all_is_self && step == 1 && start == 0 && dim < x.dim() && stop >= x.size(dim)) return x;
  return slice(x, dim, start, stop, step);
}

// A mask stands in one place of the list for all its dimensions; the core expands it.
int64_t dims_covered(const TensorList& indices) {
  int64_t n = 0;
  for (const Tensor& index : indices) {
    bool is_mask =
        index.defined() && (index.dtype() == DType::Bool || index.dtype() == DType::UInt8);
    n += is_mask ? index.dim() : 1;
  }
  return n;
}

void add_index(Selection& selection, int64_t dim, const Tensor& index) {
  for (int64_t i = dims_covered(selection.indices); i < dim; ++i) selection.indices.emplace_back();
  selection.indices.push_back(index);
  selection.has_indices = true;
}

// True and False index a new dimension of size 1 or 0.
void apply_bool(Selection& selection, int64_t& dim, bool value) {
  selection.view = unsqueeze(selection.view, dim);
  Tensor index = value ? zeros({1}, DType::Int64) : empty({0}, DType::Int64);
  add_index(selection, dim, index);
  ++dim;
  --selection.n_gone;
}

void apply_part(Selection& selection, int64_t& dim, PyObject* part, int64_t skipped,
                bool all_is_self) {
  int64_t number;
  Tensor& x = selection.view;
  if (PySlice_Check(part)) {
    x = apply_slice(x, dim, part, all_is_self);
    ++dim;
  } else if (part == Py_None) {
    x = unsqueeze(x, dim);
    ++dim;
    --selection.n_gone;
  } else if (part == Py_Ellipsis) {
    dim += skipped;
  } else if (PyBool_Check(part)) {
    apply_bool(selection, dim, part == Py_True);
  } else if (index_from_object(part, number)) {
    check_index(x.dim() > 0,
                "index: a 0-d tensor has no dimension to index. Use item() for its number.");
    if (x.dim() <= dim)
      fail(ErrorKind::Index, "index: expected at most ", dim, " indices, got more.");
    int64_t size = x.size(dim);
    check_index(number >= -size && number < size, "index: expected an index from ", -size, " to ",
                size - 1, " for dimension ", dim + selection.n_gone, ", got ", number, ".");
    x = select(x, dim, number);
    ++selection.n_gone;
  } else {
    Tensor index = is_tensor(part) ? as_tensor(part) : index_tensor(part);
    check_index(!is_differentiable(index.dtype()),
                "index: expected indices of int64, int32, uint8 or bool, got ", index, ".");
    if (index.dim() == 0 && (index.dtype() == DType::Bool || index.dtype() == DType::UInt8))
      return apply_bool(selection, dim, item(index).to_bool());
    add_index(selection, dim, index);
    bool is_mask = index.dtype() == DType::Bool || index.dtype() == DType::UInt8;
    dim += is_mask ? index.dim() : 1;
  }
}

// A short list that holds more than numbers is a tuple of indices, as it was in old NumPy.
bool is_list_of_indices(PyObject* key) {
  if (!PyList_Check(key) || PyList_GET_SIZE(key) >= 32) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(key); ++i) {
    PyObject* part = PyList_GET_ITEM(key, i);
    if (is_tensor(part) || PySlice_Check(part) || part == Py_None || part == Py_Ellipsis ||
        is_list_like(part))
      return true;
  }
  return false;
}

Selection take_apart(const Tensor& x, PyObject* given, bool is_read) {
  Selection selection{x, {}};
  int64_t dim = 0;
  nb::object key_owner =
      is_list_of_indices(given) ? nb::steal(PySequence_Tuple(given)) : nb::borrow(given);
  PyObject* key = key_owner.ptr();
  if (!PyTuple_Check(key)) {  // a list is one index, a tuple several
    // Read by one slice, even all of x is a slice, as the history shows.
    apply_part(selection, dim, key, key == Py_Ellipsis ? x.dim() : 0, !is_read);
    return selection;
  }
  Py_ssize_t n = PyTuple_GET_SIZE(key);
  int64_t used = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    used += dims_used(PyTuple_GET_ITEM(key, i));
  }
  check_index(used <= x.dim(), "index: expected at most ", x.dim(), " indices, got ", used, ".");
  bool seen = false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* part = PyTuple_GET_ITEM(key, i);
    // A second Ellipsis stands for nothing.
    apply_part(selection, dim, part, seen ? 0 : x.dim() - used, true);
    seen |= part == Py_Ellipsis;
  }
  return selection;
}

PyObject* getitem(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    Tensor x = as_tensor(self);
    Selection selection = take_apart(x, key, true);
    if (selection.has_indices) return index(selection.view, selection.indices).release();
    // x[...] and x[()] are new views, never x itself.
    if (selection.view.is_same(x)) return alias_view(x).release();
    return selection.view.release();
  });
}

}  // namespace

PyObject* tensor_getitem(PyObject* self, PyObject* key) {
  PyObject *args[] = {self, key}, *result;
  const bool is_used = seam::is_used();
  if (is_used && seam::enter({nullptr, "__getitem__"}, {args, 2}, result)) return result;
  result = getitem(self, key);
  if (!result && !is_used) seam::ask_foreign({nullptr, "__getitem__"}, {args, 2}, result);
  return result;
}

namespace {

// Leading dimensions of size 1 are dropped, so that a (1, 3) value fits a (3,) place.
Tensor without_leading_ones(const Tensor& value, int64_t n_dims) {
  Tensor v = value;
  while (v.dim() > n_dims && v.size(0) == 1) v = select(v, 0, 0);
  return v;
}

Tensor value_tensor(const Tensor& x, PyObject* value) {
  if (is_tensor(value)) return as_tensor(value);
  Scalar number;
  if (number_from_object(value, number)) {
    check_number("setitem", number, x.dtype());
    return scalar_tensor(number, x.dtype(), x.device());
  }
  if (is_list_like(value) || PyObject_CheckBuffer(value))
    return tensor_from_data(value, x.dtype(), x.device());
  fail(ErrorKind::Type, "setitem: can't assign a ", Py_TYPE(value)->tp_name, " to a ", x,
       " tensor.");
}

int setitem(PyObject* self, PyObject* key, PyObject* value) {
  try {
    check_type(value != nullptr, "Tensor: elements cannot be deleted.");
    Tensor x = as_tensor(self);
    Selection selection = take_apart(x, key, false);
    Tensor v = value_tensor(x, value);
    if (selection.has_indices) {
      if (!is_tensor(value)) v = to_dtype(v, x.dtype());
      if (v.dim() == 0 && v.device() != x.device()) v = to(v, x.device(), x.dtype(), false);
      Tensor target = selection.view;
      index_put_(target, selection.indices, v);
    } else if (v.dim() == 0 && v.is_cpu() && selection.view.dim() > 0) {
      fill_(selection.view, v);
    } else {
      copy_(selection.view, without_leading_ones(v, selection.view.dim()));
    }
    return 0;
  } catch (...) {
    set_python_exception();
    return -1;
  }
}

}  // namespace

int tensor_setitem(PyObject* self, PyObject* key, PyObject* value) {
  PyObject *args[] = {self, key, value}, *result = nullptr;
  const bool is_used = seam::is_used();
  const seam::Operation operation{nullptr, "__setitem__"};
  bool is_taken = is_used && value && seam::enter(operation, {args, 3}, result);
  int status = is_taken ? 0 : setitem(self, key, value);
  if (status && !is_used && value) is_taken = seam::ask_foreign(operation, {args, 3}, result);
  if (!is_taken) return status;
  Py_XDECREF(result);
  return result ? 0 : -1;
}

namespace {

TensorList indices_from(const char* op, nb::handle object) {
  check_type(is_list_like(object.ptr()), op,
             ": expected a tuple or list of tensors as indices, got ",
             Py_TYPE(object.ptr())->tp_name, ".");
  TensorList indices;
  for (nb::handle item : object) {
    check_type(item.is_none() || is_tensor(item.ptr()), op,
               ": expected tensors or None as indices, got ", Py_TYPE(item.ptr())->tp_name, ".");
    indices.push_back(item.is_none() ? Tensor() : as_tensor(item.ptr()));
  }
  return indices;
}

// scatter's older reduce= argument: 'add' or 'multiply'.
Tensor scatter_with(const Tensor& x, int64_t dim, const Tensor& index, const Operand& value,
                    const std::optional<std::string>& reduce, const Into& into) {
  const Tensor& src = value;
  if (!reduce) return scatter(x, dim, index, src, into);
  check(*reduce == "add" || *reduce == "multiply",
        "scatter: expected 'add' or 'multiply' as reduce, got '", *reduce, "'.");
  if (src->is_wrapped_number) check_fits("scatter", "value", item(src), x.dtype());
  Tensor from = src->is_wrapped_number ? expand(to_dtype(src, x.dtype()), index.sizes()) : src;
  return scatter_reduce(x, dim, index, from, *reduce == "add" ? "sum" : "prod");
}

Tensor index_fill_with(const Tensor& x, int64_t dim, const Tensor& index, const Operand& value,
                       const Into& into) {
  return index_fill(x, dim, index, value, into);
}

Tensor masked_fill_with(const Tensor& x, const Tensor& mask, const Operand& value,
                        const Into& into) {
  return masked_fill(x, mask, value, into);
}

Tensor index_put_at(const Tensor& x, nb::handle indices, const Tensor& values, bool accumulate) {
  return index_put(x, indices_from("index_put", indices), values, accumulate);
}

// The result of f in out, which must have the dtype of x, as the result has.
template <class F>
Tensor store(const char* op, const Tensor& x, const Out& out, F&& f) {
  if (!out) return f();
  check(out->dtype() == x.dtype(), op, ": expected out of dtype ", x.dtype(), ", got ", *out, ".");
  check(!has_internal_overlap(*out), op, ": expected out with a place for each element, got ", *out,
        ", where elements share places. Pass its clone() instead.");
  return into_out(op, f(), *out);
}

// A writer is a function that changes a copy of its first argument. One that takes `into`, as its
// last argument, writes over that argument itself in place, where it may.
template <class... Args>
struct Arguments {};
template <class... All, size_t... I>
auto without_last(std::index_sequence<I...>) {
  return Arguments<std::tuple_element_t<I, std::tuple<All...>>...>();
}
template <class... All>
constexpr bool takes_into =
    std::is_same_v<std::tuple_element_t<sizeof...(All) - 1, std::tuple<All...>>, const Into&>;

// f(x, args...), or with `into`, as one that takes `into` always.
template <class... All>
auto with_into(Tensor (*f)(const Tensor&, All...)) {
  return [f](const Tensor& x, const auto& into, const auto&... args) {
    if constexpr (takes_into<All...>) {
      return f(x, args..., into);
    } else {
      return f(x, args...);
    }
  };
}
template <class... All>
auto arguments_of(Tensor (*)(const Tensor&, All...)) {
  return without_last<All...>(std::make_index_sequence<sizeof...(All) - takes_into<All...>>());
}

template <class F, class... Args, class... Extra>
void def_writer_methods(const char* name, const char* name_in_place, F f, Arguments<Args...>,
                        const Extra&... extra) {
  def_method(
      name, [f](const Tensor& x, Args... args) { return f(x, Into{}, args...); }, extra...);
  def_method(
      name_in_place,
      [f, name_in_place](Tensor x, Args... args) {
        return in_place(name_in_place, x,
                        [&](const Tensor& t, const Into& into) { return f(t, into, args...); });
      },
      extra...);
}

template <class F, class... Args, class... Extra>
void def_writer_function(nb::module_& m, const char* name, F f, Arguments<Args...>,
                         const Extra&... extra) {
  m.def(
      name, [f](const Tensor& x, Args... args) { return f(x, Into{}, args...); }, "input"_a,
      extra...);
}
template <class F, class... Args, class... Extra>
void def_writer_function_out(nb::module_& m, const char* name, F f, Arguments<Args...>,
                             const Extra&... extra) {
  auto to_out = [f, name](const Tensor& x, Args... args, const Out& out) {
    return store(name, x, out, [&] { return f(x, Into{}, args...); });
  };
  constexpr bool has_keywords = (std::is_same_v<Extra, nb::kw_only> || ...);
  if constexpr (has_keywords) {
    m.def(name, to_out, "input"_a, extra..., "out"_a.none() = nb::none());
  } else {
    m.def(name, to_out, "input"_a, extra..., nb::kw_only(), "out"_a.none() = nb::none());
  }
}

// Function, method, and method in place.
template <class F, class... Extra>
void def_writer(nb::module_& m, const char* name, const char* name_in_place, F f,
                const Extra&... extra) {
  def_writer_function(m, name, with_into(f), arguments_of(f), extra...);
  def_writer_methods(name, name_in_place, with_into(f), arguments_of(f), extra...);
}

// The same with out=, too.
template <class F, class... Extra>
void def_writer_out(nb::module_& m, const char* name, const char* name_in_place, F f,
                    const Extra&... extra) {
  def_writer_function_out(m, name, with_into(f), arguments_of(f), extra...);
  def_writer_methods(name, name_in_place, with_into(f), arguments_of(f), extra...);
}

nb::object nonzero_as(const Tensor& x, bool as_tuple) {
  if (!as_tuple) return nb::steal(wrap(nonzero(x)));
  Tensor positions = nonzero(x.dim() == 0 ? unsqueeze(x, 0) : x);
  return nb::steal(to_python_tuple(unbind(positions, 1)));
}

}  // namespace

FACULA_BINDINGS {
  m.def(
      "index_select",
      [](const Tensor& x, int64_t dim, const Tensor& index, const Out& out) {
        return store("index_select", x, out, [&] {
          return check_apart("index_select", index_select(x, dim, index), out, {x, index});
        });
      },
      "input"_a, "dim"_a, "index"_a, nb::kw_only(), "out"_a.none() = nb::none(),
      R"(The entries ``index`` along a dimension, a copy.

Example:
    >>> facula.tensor([10, 20, 30]).index_select(0, facula.tensor([2, 0]))
    tensor([30, 10]))");
  def_method("index_select", &index_select, "dim"_a, "index"_a);
  m.def(
      "gather",
      [](const Tensor& x, int64_t dim, const Tensor& index, bool, const Out& out) {
        return store("gather", x, out, [&] {
          return check_apart("gather", gather(x, dim, index), out, {x, index});
        });
      },
      "input"_a, "dim"_a, "index"_a, nb::kw_only(), "sparse_grad"_a = false,
      "out"_a.none() = nb::none(),
      R"(Picks along a dimension: ``out[i][j] = input[index[i][j]][j]`` for dim 0.

Example:
    >>> facula.tensor([[1, 2], [3, 4]]).gather(1, facula.tensor([[0], [1]]))
    tensor([[1],
            [4]]))");
  def_method(
      "gather",
      [](const Tensor& x, int64_t dim, const Tensor& index, bool) { return gather(x, dim, index); },
      "dim"_a, "index"_a, nb::kw_only(), "sparse_grad"_a = false);

  def_writer_out(m, "index_add", "index_add_", &index_add, "dim"_a, "index"_a, "source"_a,
                 nb::kw_only(), "alpha"_a = Scalar(1),
                 R"(Adds ``alpha * source`` to the entries ``index`` along a dimension.

Example:
    >>> facula.zeros(3).index_add(0, facula.tensor([0, 0, 2]), facula.ones(3))
    tensor([2., 0., 1.]))");
  def_writer_out(m, "index_copy", "index_copy_", &index_copy, "dim"_a, "index"_a, "source"_a,
                 R"(Copies source to the entries ``index`` along a dimension.

Example:
    >>> facula.zeros(3).index_copy(0, facula.tensor([2, 0]), facula.tensor([1., 2.]))
    tensor([2., 0., 1.]))");
  def_writer_out(m, "index_reduce", "index_reduce_", &index_reduce, "dim"_a, "index"_a, "source"_a,
                 "reduce"_a, nb::kw_only(), "include_self"_a = true,
                 R"(Reduces source into the entries ``index``: prod, mean, amax or amin.

Example:
    >>> facula.ones(2).index_reduce(0, facula.tensor([1, 1]), facula.tensor([3., 2.]), "prod")
    tensor([1., 6.]))");
  def_writer(m, "index_fill", "index_fill_", &index_fill_with, "dim"_a, "index"_a, "value"_a,
             R"(Fills the entries ``index`` along a dimension with one value.

Example:
    >>> facula.zeros(3).index_fill(0, facula.tensor([0, 2]), 1)
    tensor([1., 0., 1.]))");
  def_writer_out(m, "scatter", "scatter_", &scatter_with, "dim"_a, "index"_a, "src"_a,
                 nb::kw_only(), "reduce"_a.none() = nb::none(),
                 R"(Writes along a dimension: ``out[index[i][j]][j] = src[i][j]`` for dim 0.

Example:
    >>> facula.zeros(3).scatter(0, facula.tensor([2, 0]), facula.tensor([1., 2.]))
    tensor([2., 0., 1.]))");
  def_writer_out(m, "scatter", "scatter_", &scatter_with, "dim"_a, "index"_a, nb::kw_only(),
                 "value"_a, "reduce"_a.none() = nb::none());
  def_writer_out(m, "scatter_add", "scatter_add_", &scatter_add, "dim"_a, "index"_a, "src"_a,
                 R"(Adds along a dimension: ``out[index[i][j]][j] += src[i][j]`` for dim 0.

Example:
    >>> facula.zeros(2).scatter_add(0, facula.tensor([0, 0, 1]), facula.ones(3))
    tensor([2., 1.]))");
  def_writer_out(m, "scatter_reduce", "scatter_reduce_", &scatter_reduce, "dim"_a, "index"_a,
                 "src"_a, "reduce"_a, nb::kw_only(), "include_self"_a = true,
                 R"(Reduces src into the places ``index``: sum, prod, mean, amax or amin.

Example:
    >>> facula.zeros(2).scatter_reduce(0, facula.tensor([0, 0]), facula.tensor([1., 3.]), "amax")
    tensor([3., 0.]))");
  def_writer(m, "masked_fill", "masked_fill_", &masked_fill_with, "mask"_a, "value"_a,
             R"(One value where the mask is true.

Example:
    >>> facula.tensor([1, 2]).masked_fill(facula.tensor([True, False]), 0)
    tensor([0, 2]))");
  def_writer(m, "masked_scatter", "masked_scatter_", &masked_scatter, "mask"_a, "source"_a,
             "The elements of source, in order, where the mask is true.");
  def_writer(m, "put", "put_", &put, "index"_a, "source"_a, "accumulate"_a = false,
             R"(Writes source to places of the flattened tensor.

Example:
    >>> facula.zeros(2, 2).put(facula.tensor([3]), facula.tensor([1.]))
    tensor([[0., 0.],
            [0., 1.]]))");

  def_op(m, "index_put", &index_put_at, "indices"_a, "values"_a, "accumulate"_a = false,
         R"(``x[indices] = values`` on a copy; adds where accumulate.

Example:
    >>> facula.zeros(3).index_put((facula.tensor([1]),), facula.tensor(5.))
    tensor([0., 5., 0.]))");
  m.def(
      "index_put_",
      [](Tensor x, nb::handle indices, const Tensor& values, bool accumulate) {
        return index_put_(x, indices_from("index_put_", indices), values, accumulate);
      },
      "input"_a, "indices"_a, "values"_a, "accumulate"_a = false);
  def_method(
      "index_put_",
      [](Tensor x, nb::handle indices, const Tensor& values, bool accumulate) {
        return index_put_(x, indices_from("index_put_", indices), values, accumulate);
      },
      "indices"_a, "values"_a, "accumulate"_a = false);

  m.def(
      "masked_select",
      [](const Tensor& x, const Tensor& mask, const Out& out) {
        Tensor result = check_apart("masked_select", masked_select(x, mask), out, {x, mask});
        return into_out("masked_select", result, out.value_or(Tensor()));
      },
      "input"_a, "mask"_a, nb::kw_only(), "out"_a.none() = nb::none(),
      R"(The elements where the mask is true, as a 1-d tensor.

Example:
    >>> facula.tensor([1, 2, 3]).masked_select(facula.tensor([True, False, True]))
    tensor([1, 3]))");
  def_method("masked_select", &masked_select, "mask"_a);
  m.def(
      "take",
      [](const Tensor& x, const Tensor& index, const Out& out) {
        return store("take", x, out, [&] {
          return check_apart("take", take(x, index), out, {x, index});
        });
      },
      "input"_a, "index"_a, nb::kw_only(), "out"_a.none() = nb::none(),
      "Elements of the flattened tensor.");
  def_method("take", &take, "index"_a);
  m.def(
      "take_along_dim",
      [](const Tensor& x, const Tensor& indices, std::optional<int64_t> dim, const Out& out) {
        return store("take_along_dim", x, out, [&] { return take_along_dim(x, indices, dim); });
      },
      "input"_a, "indices"_a, "dim"_a.none() = nb::none(), nb::kw_only(),
      "out"_a.none() = nb::none(),
      R"(As gather, with broadcasting; the flattened tensor without dim.

Example:
    >>> facula.take_along_dim(facula.tensor([[1, 2], [3, 4]]), facula.tensor([[1]]), 1)
    tensor([[2],
            [4]]))");
  def_method("take_along_dim", &take_along_dim, "indices"_a, "dim"_a.none() = nb::none());
  m.def(
      "nonzero",
      [](const Tensor& x, const Out& out, bool as_tuple) -> nb::object {
        if (out) return nb::steal(wrap(into_out("nonzero", nonzero(x), *out)));
        return nonzero_as(x, as_tuple);
      },
      "input"_a, nb::kw_only(), "out"_a.none() = nb::none(), "as_tuple"_a = false,
      R"(The positions of elements that are not zero, one row each.

Example:
    >>> facula.tensor([0, 1, 1]).nonzero()
    tensor([[1],
            [2]]))");
  def_method("nonzero", &nonzero_as, nb::kw_only(), "as_tuple"_a = false);
  def_op(m, "argwhere", &nonzero, "The positions of elements that are not zero, one row each.");
  m.def(
      "where", [](const Tensor& condition) { return nonzero_as(condition, true); }, "condition"_a);
  m.def("_one_hot", &one_hot, "tensor"_a, "num_classes"_a = -1);
}

}  // namespace facula
