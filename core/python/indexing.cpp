// x[key] and x[key] = value.
#include "autograd/node.h"
#include "autograd/operations.h"
#include "base/number.h"
#include "base/warning.h"
#include "bind/bind.h"
#include "bind/seam.h"
#include "ops/ops.h"
#include "python/new_tensor.h"

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

// A tensor whose numbers say what is chosen, not where it is, even if it has no dimensions.
bool is_byte_mask(PyObject* part) {
  return is_tensor(part) && as_tensor(part).dtype() == DType::UInt8;
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
  } else if (!is_byte_mask(part) && index_from_object(part, number)) {
    check_index(x.dim() > 0,
                "index: a 0-d tensor has no dimension to index. Use item() for its number.");
    if (x.dim() <= dim)
      fail(ErrorKind::Index, "index: expected at most ", dim,
           " indices, got more. (too many indices)");
    int64_t size = x.size(dim);
    check_index(number >= -size && number < size, "index: expected an index from ", -size, " to ",
                size - 1, " for dimension ", dim + selection.n_gone, ", got ", number, ". (index ",
                number, " is out of bounds for dimension ", dim + selection.n_gone, " with size ",
                size, ")");
    x = select(x, dim, number);
    ++selection.n_gone;
  } else {
    Tensor index = is_tensor(part) ? graph::resolved(as_tensor(part)) : index_tensor(part);
    check_index(!is_differentiable(index.dtype()),
                "index: expected indices of int64, int32, uint8 or bool, got ", index, ".");
    if (index.dim() == 0 && (index.dtype() == DType::Bool || index.dtype() == DType::UInt8))
      return apply_bool(selection, dim, item(index).to_bool());
    if (index.dtype() == DType::UInt8)
      warn_user(
          "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
          "instead.");
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
  check_index(used <= x.dim(), "index: expected at most ", x.dim(), " indices, got ", used,
              ". (too many indices for tensor of dimension ", x.dim(), ")");
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
    if (selection.has_indices)
      return index(graph::resolved(selection.view), selection.indices).release();
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
  bool is_number = number_from_object(value, number);
  bool is_large = is_number ? number.kind() == Scalar::Kind::UInt && x.dtype() != DType::UInt64
                            : PyLong_Check(value);
  if (is_large)
    fail(ErrorKind::Value, "setitem: expected a number in the range of int64 for a ", x,
         " tensor. (Overflow when unpacking long long)");
  if (is_number) {
    check_number("setitem", number, x.dtype());
    Tensor v = scalar_tensor(number, x.dtype());
    if (x.is_cpu()) return v;
    // By a kernel, which has the number as an argument: a copy could not be captured.
    Tensor there = empty({}, x.dtype(), x.device());
    copy_into(there, v);
    return there;
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
      index_put_(target, selection.indices, without_leading_ones(v, 0));
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

}  // namespace facula
