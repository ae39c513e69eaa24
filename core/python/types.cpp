// dtype, device, Size, memory_format, layout: the small types around the tensor.
#include <nanobind/operators.h>

#include "bind/bind.h"
#include "bind/default_device.h"
#include "tensor/backend.h"

namespace facula {

namespace {

struct DTypeObject {
  DType value;
};

PyObject* dtype_objects[kNumDTypes];
PyTypeObject* size_type = nullptr;

PyObject* size_repr(PyObject* self) {
  PyObject* list = PySequence_List(self);
  PyObject* text = list ? PyUnicode_FromFormat("torch.Size(%R)", list) : nullptr;
  Py_XDECREF(list);
  return text;
}

// A Size from a plain tuple, which it uses up.
PyObject* size_from_tuple(PyObject* tuple) {
  if (!tuple) return nullptr;
  Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  PyObject* size = size_type->tp_alloc(size_type, n);
  for (Py_ssize_t i = 0; size && i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    Py_INCREF(item);
    PyTuple_SET_ITEM(size, i, item);
  }
  Py_DECREF(tuple);
  return size;
}

PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* self = PyTuple_Type.tp_new(type, args, kwargs);
  if (!self) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    PyObject* item = PyTuple_GET_ITEM(self, i);
    int64_t value;
    if (PyLong_Check(item)) continue;
    if (!index_from_object(item, value)) {
      PyErr_Format(PyExc_TypeError, "Size: expected ints, got %s at position %zd.",
                   Py_TYPE(item)->tp_name, i);
      Py_DECREF(self);
      return nullptr;
    }
    Py_DECREF(item);
    PyTuple_SET_ITEM(self, i, PyLong_FromLongLong(value));
  }
  return self;
}

PyObject* size_subscript(PyObject* self, PyObject* key) {
  PyObject* result = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
  return result && PySlice_Check(key) ? size_from_tuple(result) : result;
}

PyObject* size_concat(PyObject* a, PyObject* b) {
  return size_from_tuple(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}

// Either may be the Size.
PyObject* size_add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return size_concat(a, b);
}

PyObject* size_repeat(PyObject* self, Py_ssize_t n) {
  return size_from_tuple(PyTuple_Type.tp_as_sequence->sq_repeat(self, n));
}

PyObject* size_numel(PyObject* self, PyObject*) {
  PyObject* product = PyLong_FromLong(1);
  for (Py_ssize_t i = 0; product && i < PyTuple_GET_SIZE(self); ++i)
    Py_SETREF(product, PyNumber_Multiply(product, PyTuple_GET_ITEM(self, i)));
  return product;
}

PyObject* size_reduce(PyObject* self, PyObject*) {
  PyObject* plain = PyTuple_GetSlice(self, 0, PyTuple_GET_SIZE(self));
  return plain ? Py_BuildValue("(O(N))", size_type, plain) : nullptr;
}

void make_size_type(nb::module_& m) {
  static PyMethodDef methods[] = {
      {"numel", size_numel, METH_NOARGS, "The number of elements of a tensor of this size."},
      {"__reduce__", size_reduce, METH_NOARGS, nullptr},
      {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_repr, reinterpret_cast<void*>(size_repr)},
      {Py_tp_str, reinterpret_cast<void*>(size_repr)},
      {Py_tp_new, reinterpret_cast<void*>(size_new)},
      {Py_mp_subscript, reinterpret_cast<void*>(size_subscript)},
      {Py_sq_concat, reinterpret_cast<void*>(size_concat)},
      {Py_nb_add, reinterpret_cast<void*>(size_add)},
      {Py_sq_repeat, reinterpret_cast<void*>(size_repeat)},
      {Py_tp_methods, methods},
      {Py_tp_doc, const_cast<char*>(R"(The shape of a tensor: a tuple of ints.
    iterable: the sizes, ints that are not negative.
    >>> facula.zeros(2, 3).shape, facula.Size([2, 3]).numel()
    (torch.Size([2, 3]), 6))"_doc)},
      {0, nullptr}};
  static PyType_Spec spec = {"facula.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  size_type = reinterpret_cast<PyTypeObject*>(
      PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(&PyTuple_Type)));
  if (!size_type) throw nb::python_error();
  m.attr("Size") = nb::handle(reinterpret_cast<PyObject*>(size_type));
}

struct LayoutObject {
  const char* name;
};

}  // namespace

PyObject* size_object(const Dims& dims) {
  PyObject* size = size_type->tp_alloc(size_type, dims.size());
  for (size_t i = 0; size && i < dims.size(); ++i)
    PyTuple_SET_ITEM(size, i, PyLong_FromLongLong(dims[i]));
  return size;
}

PyObject* dtype_object(DType dtype) { return dtype_objects[static_cast<int>(dtype)]; }

bool dtype_from_object(PyObject* object, DType& out) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (object == dtype_objects[i]) {
      out = static_cast<DType>(i);
      return true;
    }
  }
  if (object == reinterpret_cast<PyObject*>(&PyFloat_Type))
    out = DType::Float64;
  else if (object == reinterpret_cast<PyObject*>(&PyLong_Type))
    out = DType::Int64;
  else if (object == reinterpret_cast<PyObject*>(&PyBool_Type))
    out = DType::Bool;
  else if (object == reinterpret_cast<PyObject*>(&PyComplex_Type))
    out = DType::Complex128;
  else
    return false;
  return true;
}

bool device_from_object(PyObject* object, Device& out) {
  bool is_device = nb::isinstance<Device>(nb::handle(object));
  if (is_device || PyUnicode_Check(object)) {
    out = is_device ? nb::cast<Device>(nb::handle(object)) : parse_device(PyUnicode_AsUTF8(object));
    if (out.is_cpu()) out = Device();  // there is one CPU: "cpu:0" is where "cpu" is
    return true;
  }
  int64_t index;
  if (!index_from_object(object, index)) return false;
  check(index >= 0 && index < 128, "device: expected an index of at least 0, got ", index, ".");
  out = {DeviceType::CUDA, static_cast<int8_t>(index)};
  return true;
}

namespace {

void bind_dtype(nb::module_& m) {
  nb::class_<DTypeObject> dtype(m, "dtype", R"(The type of a tensor's elements.
    >>> facula.tensor([1, 2]).dtype, facula.float64.itemsize
    (torch.int64, 8))"_doc);
  dtype
      .def("__repr__",
           [](const DTypeObject& t) { return std::string("torch.") + dtype_name(t.value); })
      .def("__reduce__", [](const DTypeObject& t) { return std::string(dtype_name(t.value)); })
      .def(
          "to_real", [](const DTypeObject& t) { return to_real_dtype(t.value); },
          R"(The dtype of the real and imaginary parts of a complex type; any other type itself.
    >>> facula.complex64.to_real()
    torch.float32)"_doc)
      .def(
          "to_complex", [](const DTypeObject& t) { return to_complex_dtype(t.value); },
          R"(The complex dtype whose parts hold the values of this type; a complex type itself.
    >>> facula.float64.to_complex()
    torch.complex128)"_doc)
      .def_prop_ro("itemsize", [](const DTypeObject& t) { return item_size(t.value); })
      .def_prop_ro("is_floating_point",
                   [](const DTypeObject& t) { return is_floating_kind(t.value); })
      .def_prop_ro("is_complex", [](const DTypeObject& t) { return is_complex_kind(t.value); })
      .def_prop_ro("is_signed", [](const DTypeObject& t) {
        return t.value != DType::Bool && !is_unsigned(t.value);
      });
  for (int i = 0; i < kNumDTypes; ++i) {
    nb::object object = nb::cast(DTypeObject{static_cast<DType>(i)});
    m.attr(kDTypeNames[i]) = object;
    dtype_objects[i] = object.release().ptr();
  }
  const std::pair<const char*, DType> short_names[] = {
      {"half", DType::Float16},    {"float", DType::Float32},    {"double", DType::Float64},
      {"chalf", DType::Complex32}, {"short", DType::Int16},      {"int", DType::Int32},
      {"long", DType::Int64},      {"cfloat", DType::Complex64}, {"cdouble", DType::Complex128}};
  for (auto& [name, type] : short_names) m.attr(name) = nb::handle(dtype_object(type));
}

void bind_device(nb::module_& m) {
  nb::class_<Device>(
      m, "device",
      R"(Where a tensor lives: ``device('cpu')``, ``device('cuda:1')``, ``device('cuda', 1)``.

Tensors on ``device('meta')`` have a shape and a dtype, but no elements.
    >>> facula.device("cuda:1").index, facula.zeros(2).device.type
    (1, 'cpu'))"_doc)
      .def(
          "__init__", [](Device* self, DeviceArg arg) { new (self) Device(arg.device); },
          "device"_a)
      .def(
          "__init__",
          [](Device* self, const std::string& type, std::optional<int> index) {
            new (self) Device(parse_device(type));
            if (!index) return;
            check(*index >= 0 && *index < 128, "device: expected an index of at least 0, got ",
                  *index, ".");
            check(self->index < 0, "device: the index is given twice, in '", type, "' and as ",
                  *index, ".");
            self->index = static_cast<int8_t>(*index);
          },
          "type"_a, "index"_or_none)
      .def(
          "__init__",
          [](Device*, nb::handle other) {
            fail(ErrorKind::Type,
                 "device() received an invalid combination of arguments: expected a string such as "
                 "'cuda:1', the index of a device or a device, got ",
                 Py_TYPE(other.ptr())->tp_name, ".");
          },
          "device"_a.none())
      .def_prop_ro("type", [](const Device& d) { return device_type_name(d.type); })
      .def_prop_ro("index",
                   [](const Device& d) {
                     return d.index < 0 ? nb::object(nb::none())
                                        : nb::object(nb::int_(int(d.index)));
                   })
      .def("__repr__",
           [](const Device& d) {
             std::string text = std::string("device(type='") + device_type_name(d.type) + "'";
             return text + (d.index >= 0 ? ", index=" + std::to_string(d.index) : "") + ")";
           })
      .def("__str__", [](const Device& d) { return to_string(d); })
      .def("__hash__", [](const Device& d) { return int(d.type) * 1000 + d.index; })
      .def(
          "__eq__",
          [](const Device& a, nb::handle b) {
            return nb::isinstance<Device>(b) && a == nb::cast<Device>(b);
          },
          "other"_a.none())
      .def(
          "__ne__",
          [](const Device& a, nb::handle b) {
            return !nb::isinstance<Device>(b) || a != nb::cast<Device>(b);
          },
          "other"_a.none())
      .def("__reduce__",
           [](const Device& d) {
             return nb::make_tuple(nb::type<Device>(), nb::make_tuple(to_string(d)));
           })
      .def("__enter__",
           [](const Device& d) {
             enter_device(d);
             return d;
           })
      .def(
          "__exit__", [](const Device&, nb::handle, nb::handle, nb::handle) { leave_device(); },
          "type"_a.none(), "value"_a.none(), "traceback"_a.none());
}

std::string memory_format_name(MemoryFormat format) {
  const char* names[] = {"contiguous_format", "preserve_format", "channels_last",
                         "channels_last_3d"};
  return std::string("torch.") + names[static_cast<int>(format)];
}

void bind_layouts(nb::module_& m) {
  nb::class_<LayoutObject> layout(m, "layout", R"(How the elements of a tensor are kept.

``strided``: all of them, at constant distances. ``sparse_coo`` and its kin keep those that are not
zero, with their places.
    >>> facula.ones(2).layout, facula.ones(2).to_sparse().layout
    (torch.strided, torch.sparse_coo))"_doc);
  layout.def("__repr__", [](const LayoutObject& self) { return std::string("torch.") + self.name; })
      .def("__reduce__", [](const LayoutObject& self) { return self.name; });
  for (const char* name :
       {"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"})
    m.attr(name) = nb::cast(LayoutObject{name});

  nb::enum_<MemoryFormat>(m, "memory_format", R"(The order in which the elements of a tensor lie.
    >>> x = facula.zeros(1, 3, 4, 4, memory_format=facula.channels_last)
    >>> x.stride()
    (48, 1, 12, 3))"_doc)
      .value("contiguous_format", MemoryFormat::Contiguous)
      .value("preserve_format", MemoryFormat::Preserve)
      .value("channels_last", MemoryFormat::ChannelsLast)
      .value("channels_last_3d", MemoryFormat::ChannelsLast3d)
      .export_values()
      .def("__repr__", memory_format_name)
      .def("__str__", memory_format_name);
}

void bind_promotion(nb::module_& m) {
  m.def("promote_types", &promote_types, "type1"_a, "type2"_a,
        R"(The smallest dtype that the values of two dtypes can be converted to.
    type1: one dtype.
    type2: the other dtype.
    >>> facula.promote_types(facula.int64, facula.float16)
    torch.float16)"_doc);
  m.def(
      "can_cast", &can_cast, "from_"_a, "to"_a,
      R"(Whether a conversion keeps the category: bool, integers, floating point, complex, upwards only.
    from_: the dtype that is converted.
    to: the dtype that is converted to.
    >>> facula.can_cast(facula.int64, facula.float32)
    True
    >>> facula.can_cast(facula.float32, facula.int64)
    False)"_doc);
}

void bind_defaults(nb::module_& m) {
  def_state(m, "get_default_dtype", &get_default_dtype,
            R"(The dtype of new floating-point tensors for which none is named.
    >>> facula.get_default_dtype()
    torch.float32)"_doc);
  def_state(
      m, "set_default_dtype", [](DType d) { set_default_dtype(d); }, "d"_a,
      R"(Sets the dtype of new floating-point tensors for which none is named.
    d: a floating-point dtype.
    >>> facula.set_default_dtype(facula.float64)
    >>> facula.zeros(2).dtype
    torch.float64
    >>> facula.set_default_dtype(facula.float32))"_doc);
  def_state(m, "get_default_device", &default_device,
            R"(The device of new tensors for which none is named.
    >>> facula.get_default_device()
    device(type='cpu'))"_doc);
  def_state(
      m, "set_default_device",
      [](std::optional<DeviceArg> device) { choose_device(device ? device->device : Device{}); },
      "device"_a.none(), R"(Sets the device of new tensors for which none is named; None is the CPU.

``with facula.device(...):`` does so for a block.
    device: where new tensors are made from now on.
    >>> facula.set_default_device("cpu")
    >>> with facula.device("cpu"):
    ...     facula.zeros(2).device
    device(type='cpu'))"_doc);
}

}  // namespace

void bind_types(nb::module_& m) {
  bind_dtype(m);
  bind_device(m);
  bind_layouts(m);
  make_size_type(m);
  bind_promotion(m);
  bind_defaults(m);
}

}  // namespace facula
