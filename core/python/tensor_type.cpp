// The Python type `Tensor`: life and death, properties, arithmetic slots. Everything with a name
// and arguments is bound by family in the other files.
#include <Python.h>
#include <structmember.h>

#include <cstring>

#include "autograd/node.h"
#include "base/warning.h"
#include "bind/bind.h"
#include "bind/count.h"
#include "ops/ops.h"
#include "python/interop.h"
#include "python/new_tensor.h"
#include "python/slots.h"
#include "tensor/sparse.h"

namespace facula {

namespace {

Tensor self_of(PyObject* self) { return as_tensor(self); }

void tensor_dealloc(PyObject* self) {
  auto* impl = static_cast<TensorImpl*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (impl->weakrefs) PyObject_ClearWeakRefs(self);
  destroy_tensor(impl);
  type->tp_free(self);
  Py_DECREF(type);
}

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  return traverse_tensor(static_cast<TensorImpl*>(self), visit, arg);
}

int tensor_clear(PyObject* self) {
  clear_tensor(static_cast<TensorImpl*>(self));
  return 0;
}

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&] { return legacy_new(type, args, kwargs).release(); });
}

// ---- properties

using Getter = PyObject* (*)(const Tensor&);

seam::Operation accessor_of(void* property, const char* accessor) {
  return {nullptr, static_cast<const char*>(property), accessor, /*is_unary=*/true,
          /*asks_first_only=*/true};
}

template <Getter get>
PyObject* getter(PyObject* self, void* property) {
  PyObject* result;
  if (seam::is_used() && seam::enter(accessor_of(property, "__get__"), {&self, 1}, result))
    return result;
  return guarded([&] { return get(self_of(self)); });
}

PyObject* get_shape(const Tensor& x) { return size_object(x.sizes()); }
PyObject* get_ndim(const Tensor& x) { return PyLong_FromLongLong(x.dim()); }
PyObject* get_itemsize(const Tensor& x) { return PyLong_FromLongLong(x.itemsize()); }
PyObject* get_nbytes(const Tensor& x) { return PyLong_FromLongLong(x.itemsize() * x.numel()); }
PyObject* get_dtype(const Tensor& x) { return nb::handle(dtype_object(x.dtype())).inc_ref().ptr(); }
PyObject* get_device(const Tensor& x) { return nb::cast(x.device()).release().ptr(); }
PyObject* get_is_cuda(const Tensor& x) { return PyBool_FromLong(x.device().is_cuda()); }
PyObject* get_is_meta(const Tensor& x) { return PyBool_FromLong(x.is_meta()); }
PyObject* get_is_cpu(const Tensor& x) { return PyBool_FromLong(x.is_cpu()); }
PyObject* get_false(const Tensor&) { Py_RETURN_FALSE; }
PyObject* get_is_leaf(const Tensor& x) { return PyBool_FromLong(x.is_leaf()); }
PyObject* get_requires_grad(const Tensor& x) { return PyBool_FromLong(x.requires_grad()); }
PyObject* get_retains_grad(const Tensor& x) {
  return PyBool_FromLong(x->meta && x->meta->retains_grad && !x.is_leaf());
}
PyObject* get_volatile(const Tensor& x) { return PyBool_FromLong(x->is_volatile); }
PyObject* get_n_writes(const Tensor& x) { return PyLong_FromUnsignedLong(x.version()); }
PyObject* get_version(const Tensor& x) {
  check(!x->is_inference, "Inference tensors do not track version counter.");
  return get_n_writes(x);
}
PyObject* get_output_nr(const Tensor& x) {
  return PyLong_FromUnsignedLong(x.grad_fn() ? x->meta->output_nr : 0);
}
PyObject* get_data(const Tensor& x) { return alias_uncounted(x).release(); }
PyObject* get_base(const Tensor& x) { return wrap(Tensor::borrow(x->base)); }
PyObject* get_grad_fn(const Tensor& x) {
  Node* node = x.grad_fn();
  PyObject* object = node ? static_cast<PyObject*>(node) : Py_None;
  Py_INCREF(object);
  return object;
}
PyObject* get_grad(const Tensor& x) {
  if (!x->meta || !x->meta->grad) {
    if (!x.is_leaf() && !x->meta->retains_grad)
      warn_user(
          "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
          "attribute won't be populated during autograd.backward(). Call .retain_grad() on it "
          "before backward if you want its gradient.");
    Py_RETURN_NONE;
  }
  return wrap(Tensor::borrow(x->meta->grad));
}
PyObject* get_T(const Tensor& x) {
  Dims order(x.dim());
  for (int64_t i = 0; i < x.dim(); ++i) order[i] = x.dim() - 1 - i;
  return permute(x, order).release();
}
PyObject* get_mT(const Tensor& x) {
  check(x.dim() != 1, "mT: expected a matrix or a batch of them, got ", x, ".");
  return x.dim() == 0 ? wrap(x) : transpose(x, -2, -1).release();
}
PyObject* get_mH(const Tensor& x) {
  check(x.dim() != 1, "mH: expected a matrix or a batch of them, got ", x, ".");
  return conj_view(x.dim() == 0 ? x : transpose(x, -2, -1)).release();
}
PyObject* get_H(const Tensor& x) {
  check(x.dim() == 2 || x.dim() == 0, "H: expected a matrix, got ", x, ". Use mH for batches.");
  return get_mH(x);
}
PyObject* get_real(const Tensor& x) { return real(x).release(); }
PyObject* get_imag(const Tensor& x) { return imag(x).release(); }

// What a setter, or a slot that returns an int, answers for the result of somebody else.
int status_of(PyObject* result) {
  Py_XDECREF(result);
  return result ? 0 : -1;
}

using Setter = void (*)(PyObject* self, PyObject* value);  // value is null for `del`

template <Setter set>
int setter(PyObject* self, PyObject* value, void* property) {
  if (seam::is_used()) {
    PyObject *args[] = {self, value}, *result;
    auto operation = accessor_of(property, value ? "__set__" : "__delete__");
    if (seam::enter(operation, {args, value ? size_t{2} : 1}, result)) return status_of(result);
  }
  try {
    set(self, value);
    return 0;
  } catch (...) {
    set_python_exception();
    return -1;
  }
}

void set_requires_grad(PyObject* self, PyObject* value) {
  check(value && PyBool_Check(value), "requires_grad: expected a bool.");
  require_grad(self_of(self), value == Py_True);
}

void set_volatile(PyObject* self, PyObject* value) {
  Tensor x = self_of(self);
  x->is_volatile = value && PyObject_IsTrue(value);
  if (x->is_volatile) seam::use_volatile();
  if (x->is_volatile && x.is_leaf()) x->requires_grad = false;
}

void set_grad(PyObject* self, PyObject* value) {
  Tensor x = self_of(self);
  Tensor grad;
  if (value && value != Py_None) {
    check_type(is_tensor(value), "grad: expected a tensor or None, got ", Py_TYPE(value)->tp_name,
               ".");
    check(value != self, "grad: a tensor cannot be its own gradient.");
    grad = as_tensor(value);
    check(grad.dtype() == x.dtype(), "grad: expected a gradient of the dtype of its tensor, ", x,
          ", got ", grad, ".");
    check(grad.device() == x.device(),
          "assigned grad has data located on a different device: ", grad, " for a tensor ", x, ".");
    check(grad.sizes() == x.sizes(), "grad: expected a gradient of the shape of its tensor, ", x,
          ", got ", grad, ".");
  }
  Py_XDECREF(std::exchange(x.meta().grad, grad.release()));
}

void set_data(PyObject* self, PyObject* value) {
  check_type(value && is_tensor(value), "data: expected a Tensor, got ",
             value ? Py_TYPE(value)->tp_name : "nothing", ".");
  check(!is_sparse(as_tensor(value)),
        "data: a dense tensor cannot take the place of a sparse one. Use value.to_dense().");
  replace_data(self_of(self), as_tensor(value));
}

// x.real = value and x.imag = value
template <Tensor (*part)(const Tensor&)>
void set_part(PyObject* self, PyObject* value) {
  Tensor v;
  check_type(value && operand_from(value, v), "real, imag: expected a tensor or a number, got ",
             value ? Py_TYPE(value)->tp_name : "nothing", ".");
  Tensor target = part(self_of(self));
  copy_(target, v);
}

void clear_grad_fn(PyObject*, PyObject*) {
  PyErr_SetString(PyExc_AttributeError,
                  "grad_fn is read-only; use detach_() to cut a tensor from its history.");
  throw_python_error();
}

PyGetSetDef properties[] = {
    {"shape", getter<get_shape>, nullptr, "The sizes of the dimensions, as a Size.", nullptr},
    {"ndim", getter<get_ndim>, nullptr, "The number of dimensions.", nullptr},
    {"itemsize", getter<get_itemsize>, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", getter<get_nbytes>, nullptr, "Bytes of all elements of the view.", nullptr},
    {"dtype", getter<get_dtype>, nullptr, "The type of the elements.", nullptr},
    {"device", getter<get_device>, nullptr, "Where the memory is.", nullptr},
    {"is_cuda", getter<get_is_cuda>, nullptr, "Whether the tensor is on a CUDA device.", nullptr},
    {"is_cpu", getter<get_is_cpu>, nullptr, "Whether the tensor is in main memory.", nullptr},
    {"is_sparse", getter<get_false>, nullptr, "Whether the tensor's layout is sparse_coo.",
     nullptr},
    {"is_sparse_csr", getter<get_false>, nullptr, "Whether the tensor's layout is sparse_csr.",
     nullptr},
    {"is_quantized", getter<get_false>, nullptr, "False: there are no quantised tensors.", nullptr},
    {"is_meta", getter<get_is_meta>, nullptr,
     "Whether the tensor has a shape and a dtype, but no elements.", nullptr},
    {"is_nested", getter<get_false>, nullptr, "False: there are no nested tensors.", nullptr},
    {"is_mkldnn", getter<get_false>, nullptr, "False: there are no tensors of oneDNN.", nullptr},
    {"is_mps", getter<get_false>, nullptr, "False: there are no tensors on Apple's GPUs.", nullptr},
    {"is_xpu", getter<get_false>, nullptr, "False: there are no tensors on Intel's GPUs.", nullptr},
    {"is_xla", getter<get_false>, nullptr, "False: there are no tensors of XLA.", nullptr},
    {"is_ipu", getter<get_false>, nullptr, "False: there are no tensors on IPUs.", nullptr},
    {"is_mtia", getter<get_false>, nullptr, "False: there are no tensors on MTIA.", nullptr},
    {"is_maia", getter<get_false>, nullptr, "False: there are no tensors on Maia.", nullptr},
    {"is_vulkan", getter<get_false>, nullptr, "False: there are no tensors of Vulkan.", nullptr},
    {"is_leaf", getter<get_is_leaf>, nullptr,
     "Whether the tensor was made by the user, not by a recorded operation.", nullptr},
    {"requires_grad", getter<get_requires_grad>, setter<set_requires_grad>,
     "Whether gradients are wanted for the tensor.", nullptr},
    {"retains_grad", getter<get_retains_grad>, nullptr,
     "Whether retain_grad() was called on this result.", nullptr},
    {"volatile", getter<get_volatile>, setter<set_volatile>,
     "Historic: a volatile tensor makes every result volatile, without history.", nullptr},
    {"_n_writes", getter<get_n_writes>, nullptr, "What _version says, of inference tensors too."},
    {"_version", getter<get_version>, nullptr, "The number of in-place writes to the memory.",
     nullptr},
    {"output_nr", getter<get_output_nr>, nullptr, "Which output of grad_fn the tensor is.",
     nullptr},
    {"data", getter<get_data>, setter<set_data>,
     "The same memory, without history and unseen by backward's checks.", nullptr},
    {"_base", getter<get_base>, nullptr, "The tensor that a view looks at.", nullptr},
    {"grad_fn", getter<get_grad_fn>, setter<clear_grad_fn>,
     "The node that made the tensor; None for a leaf.", nullptr},
    {"creator", getter<get_grad_fn>, nullptr, "The old name of grad_fn.", nullptr},
    {"grad", getter<get_grad>, setter<set_grad>,
     "The gradient that backward() added up; None before.", nullptr},
    {"T", getter<get_T>, nullptr, "The view with all dimensions reversed.", nullptr},
    {"mT", getter<get_mT>, nullptr, "The view with the last two dimensions swapped.", nullptr},
    {"H", getter<get_H>, nullptr, "The conjugate transpose of a matrix.", nullptr},
    {"mH", getter<get_mH>, nullptr, "The conjugate transpose of the last two dimensions.", nullptr},
    {"real", getter<get_real>, setter<set_part<real>>, "The real part, a view.", nullptr},
    {"imag", getter<get_imag>, setter<set_part<imag>>, "The imaginary part, a view.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, "Attributes set by the user.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

// A class that does not override is one whose __torch_function__ is the disabled one.
PyObject* init_subclass(PyObject* cls, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (seam::overrides(reinterpret_cast<PyTypeObject*>(cls))) seam::add_class();
    nb::object next = nb::borrow(reinterpret_cast<PyObject*>(&PySuper_Type))(
        nb::handle(reinterpret_cast<PyObject*>(tensor_type)), nb::handle(cls));
    nb::object init = next.attr("__init_subclass__");
    return PyObject_Call(init.ptr(), args, kwargs);
  });
}

// view is a method of Python's kind: self is not among its arguments, as the seam wants it.
[[gnu::cold, gnu::noinline]] bool ask_for_view(bool (*ask)(const seam::Operation&,
                                                           const seam::Arguments&, PyObject*&),
                                               PyObject* self, PyObject* const* args, Py_ssize_t n,
                                               PyObject* names, PyObject*& result) {
  std::vector<PyObject*> all{self};
  all.insert(all.end(), args, args + n + (names ? PyTuple_GET_SIZE(names) : 0));
  return ask({nullptr, "view"}, {all.data(), static_cast<size_t>(n) + 1, names}, result);
}

// Called without an argument parser: views are made more often than anything else.
PyObject* tensor_view(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  const bool is_used = seam::is_used();
  PyObject* result;
  if (is_used && ask_for_view(seam::enter, self, args, n, names, result)) return result;
  result = guarded([&]() -> PyObject* {
    Tensor x = as_tensor(self);
    Py_ssize_t n_named = names ? PyTuple_GET_SIZE(names) : 0;
    check_type(n + n_named > 0 && (n_named == 0 || (n == 0 && n_named == 1)),
               "view: expected a size or a dtype.");
    if (n_named) {
      const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, 0));
      check_type(name && (!std::strcmp(name, "size") || !std::strcmp(name, "dtype")),
                 "view: got an unexpected keyword argument '", name ? name : "?", "'.");
    }
    DType dtype;
    Dims sizes;
    if (n + n_named == 1) {
      if (dims_from_object(args[0], sizes)) return view(x, sizes).release();
      if (dtype_from_object(args[0], dtype)) return view_dtype(x, dtype).release();
    }
    sizes.resize(n);
    for (Py_ssize_t i = 0; i < n; ++i)
      check_type(count_from_object(args[i], sizes[i]),
                 "view: expected ints, one tuple of ints or a dtype, got ",
                 Py_TYPE(args[i])->tp_name, " as argument ", i, ".");
    return view(x, sizes).release();
  });
  if (!result && !is_used) ask_for_view(seam::ask_foreign, self, args, n, names, result);
  return result;
}

PyMethodDef methods[] = {
    {"view", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tensor_view)),
     METH_FASTCALL | METH_KEYWORDS,
     R"(Another shape over the same memory, or the same bytes in another dtype; never copies.

One size may be -1. Raises where the strides do not allow it: reshape() copies then.
    >>> facula.arange(4).view(2, -1)
    tensor([[0, 1],
            [2, 3]]))"_doc},
    {"__torch_function__",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(default_torch_function)),
     METH_CLASS | METH_VARARGS | METH_KEYWORDS,
     R"(What a subclass does with operations unless it says otherwise: keep its type.

The function runs as for plain tensors; tensors among its results become objects of the class.
    >>> class Marked(facula.Tensor):
    ...     pass
    >>> type(facula.ones(2).as_subclass(Marked) + 1).__name__
    'Marked')"_doc},
    {"__init_subclass__",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(init_subclass)),
     METH_CLASS | METH_VARARGS | METH_KEYWORDS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorImpl, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorImpl, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

// ---- conversions to Python numbers

int tensor_bool(PyObject* self) {
  PyObject* result;
  if (seam::is_used() && enter_unary("__bool__", self, result)) {
    int value = result ? PyObject_IsTrue(result) : -1;
    Py_XDECREF(result);
    return value;
  }
  try {
    Tensor x = self_of(self);
    check(x.numel() != 0, "bool: a tensor of no elements is neither True nor False.");
    check(x.numel() == 1, "bool: expected a tensor of one element, got ", x,
          ". Use any() or all(). (Boolean value of Tensor with more than one value is ambiguous.)");
    return item(x).to_bool();
  } catch (...) {
    set_python_exception();
    return -1;
  }
}

Scalar single_value(PyObject* self) {
  Tensor x = self_of(self);
  check_value(x.numel() == 1, "item: expected a tensor of one element, got ", x, ".");
  return item(x);
}

PyObject* tensor_int(PyObject* self) {
  PyObject* result;
  if (seam::is_used() && enter_unary("__int__", self, result)) return result;
  return guarded([&]() -> PyObject* {
    Scalar value = single_value(self);
    if (value.is_integral()) return PyLong_FromLongLong(value.to_int());
    check(!value.is_complex() || value.to_complex().imag() == 0,
          "int: a complex number is no int.");
    return PyLong_FromDouble(value.to_double());
  });
}

PyObject* tensor_float(PyObject* self) {
  PyObject* result;
  if (seam::is_used() && enter_unary("__float__", self, result)) return result;
  return guarded([&] {
    Scalar value = single_value(self);
    check(!value.is_complex() || value.to_complex().imag() == 0,
          "float: a complex number is no float.");
    return PyFloat_FromDouble(value.to_double());
  });
}

PyObject* tensor_index(PyObject* self) {
  PyObject* result;
  if (seam::is_used() && enter_unary("__index__", self, result)) return result;
  return guarded([&] {
    Tensor x = self_of(self);
    check_type(x.numel() == 1 && !is_differentiable(x.dtype()),
               "index: expected an integer tensor of one element, got ", x, ".");
    return PyLong_FromLongLong(item(x).to_int());
  });
}

Py_ssize_t tensor_len(PyObject* self) {
  PyObject* result;
  if (seam::is_used() && enter_unary("__len__", self, result)) {
    Py_ssize_t length = result ? PyNumber_AsSsize_t(result, PyExc_OverflowError) : -1;
    Py_XDECREF(result);
    return length;
  }
  Tensor x = self_of(self);
  if (x.dim() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  return x.size(0);
}

PyObject* tensor_iter(PyObject* self) {
  PyObject* result;
  if (seam::is_used() && self_of(self).dim() > 0 &&
      seam::enter({nullptr, "unbind"}, {&self, 1}, result)) {
    nb::object rows = nb::steal(result);
    return result ? PyObject_GetIter(result) : nullptr;
  }
  return guarded([&] {
    Tensor x = self_of(self);
    check_type(x.dim() > 0, "iter: a 0-d tensor has no elements to go over.");
    nb::object rows = nb::cast(unbind(x, 0));
    return PyObject_GetIter(rows.ptr());
  });
}

Py_hash_t tensor_hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<size_t>(self) >> 4);
}

template <auto f>
constexpr void* slot() {
  return reinterpret_cast<void*>(f);
}

}  // namespace

void replace_data(const Tensor& x, const Tensor& value) {
  // The counter of x goes on, apart from that of the new memory.
  auto* own = new VersionCounter;
  own->value = x.version();
  own->in_storage = false;
  own->n_refs = 1;
  if (!x->version->in_storage && --x->version->n_refs == 0) delete x->version;
  x->version = own;
  value.storage()->retain();
  x.storage()->release();
  x->storage = value.storage();
  x->dtype = value.dtype();
  x->device = value.device();
  set_geometry(x, value.sizes(), value.strides(), value.offset());
  set_lazy(x, value->lazy);
}

void bind_tensor_type(nb::module_& m) {
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, slot<tensor_dealloc>()},
      {Py_tp_traverse, slot<tensor_traverse>()},
      {Py_tp_clear, slot<tensor_clear>()},
      {Py_tp_new, slot<tensor_new>()},
      {Py_tp_hash, slot<tensor_hash>()},
      {Py_tp_iter, slot<tensor_iter>()},
      {Py_bf_getbuffer, slot<tensor_getbuffer>()},
      {Py_bf_releasebuffer, slot<tensor_releasebuffer>()},
      {Py_tp_getset, properties},
      {Py_tp_members, members},
      {Py_tp_methods, methods},
      {Py_tp_doc,
       const_cast<char*>(
           R"(A multi-dimensional array of one dtype: a strided view of a storage, with autograd.

``facula.tensor`` makes one of numbers; functions such as ``facula.zeros`` make one of a shape.
    >>> x = facula.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([[2., 4.],
            [6., 8.]]))"_doc)},
      {Py_nb_bool, slot<tensor_bool>()},
      {Py_nb_int, slot<tensor_int>()},
      {Py_nb_float, slot<tensor_float>()},
      {Py_nb_index, slot<tensor_index>()},
      {Py_mp_length, slot<tensor_len>()},
      {Py_tp_richcompare, slot<compare_slot>()},
      {Py_mp_subscript, slot<tensor_getitem>()},
      {Py_mp_ass_subscript, slot<tensor_setitem>()},
      {Py_nb_add, slot<binary_slot<add_op, kAdd>>()},
      {Py_nb_subtract, slot<binary_slot<sub_op, kSub>>()},
      {Py_nb_multiply, slot<binary_slot<mul, kMul>>()},
      {Py_nb_true_divide, slot<divide_slot>()},
      {Py_nb_floor_divide, slot<binary_slot<floor_divide, kFloorDiv>>()},
      {Py_nb_remainder, slot<binary_slot<remainder, kMod>>()},
      {Py_nb_power, slot<power_slot<pow, kPow>>()},
      {Py_nb_and, slot<binary_slot<bitwise_and, kAnd>>()},
      {Py_nb_or, slot<binary_slot<bitwise_or, kOr>>()},
      {Py_nb_xor, slot<binary_slot<bitwise_xor, kXor>>()},
      {Py_nb_lshift, slot<binary_slot<bitwise_left_shift, kLshift>>()},
      {Py_nb_rshift, slot<binary_slot<bitwise_right_shift, kRshift>>()},
      {Py_nb_inplace_add, slot<inplace_slot<add_inplace, kAddTo>>()},
      {Py_nb_inplace_subtract, slot<inplace_slot<sub_inplace, kSubFrom>>()},
      {Py_nb_inplace_multiply, slot<inplace_slot<mul_, kMulTo>>()},
      {Py_nb_inplace_true_divide, slot<inplace_slot<div_, kDivBy>>()},
      {Py_nb_inplace_floor_divide, slot<inplace_slot<floor_divide_, kFloorDivBy>>()},
      {Py_nb_inplace_remainder, slot<inplace_slot<remainder_, kModBy>>()},
      {Py_nb_inplace_power, slot<inplace_power_slot<pow_, kPowTo>>()},
      {Py_nb_inplace_and, slot<inplace_slot<bitwise_and_, kAndTo>>()},
      {Py_nb_inplace_or, slot<inplace_slot<bitwise_or_, kOrTo>>()},
      {Py_nb_inplace_xor, slot<inplace_slot<bitwise_xor_, kXorTo>>()},
      {Py_nb_inplace_lshift, slot<inplace_slot<bitwise_left_shift_, kLshiftBy>>()},
      {Py_nb_inplace_rshift, slot<inplace_slot<bitwise_right_shift_, kRshiftBy>>()},
      {Py_nb_matrix_multiply, slot<tensors_slot<matmul, kMatmul>>()},
      {Py_nb_negative, slot<unary_slot<neg, kNeg>>()},
      {Py_nb_positive, slot<unary_slot<positive, kPositive>>()},
      {Py_nb_absolute, slot<unary_slot<abs, kAbs>>()},
      {Py_nb_invert, slot<unary_slot<invert, kInvert>>()},
      {0, nullptr}};
  for (PyGetSetDef& property : properties)
    property.closure = const_cast<char*>(property.name);  // which getter and setter are given
  static PyType_Spec spec = {"facula.Tensor", sizeof(TensorImpl), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, slots};
  tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!tensor_type) throw nb::python_error();
  tensor_type->tp_name = "Tensor";  // in Python's own messages; __module__ keeps the rest
  m.attr("Tensor") = nb::handle(reinterpret_cast<PyObject*>(tensor_type));
  nb::handle type(reinterpret_cast<PyObject*>(tensor_type));
  nb::setattr(type, "layout", m.attr("strided"));
}

}  // namespace facula
