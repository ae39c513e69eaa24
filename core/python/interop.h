// Memory shared with other libraries: the buffer protocol and NumPy.
#pragma once
#include <optional>

#include "tensor/tensor.h"

namespace facula {

// Slots of the type Tensor.
int tensor_getbuffer(PyObject* self, Py_buffer* view, int flags);
void tensor_releasebuffer(PyObject* self, Py_buffer* view);

bool is_numpy_array(
    PyObject* object);  // false as well if NumPy was never imported: then there are no arrays
bool is_numpy_scalar(PyObject* object);  // np.float32(1) and the like
// A tensor over the memory of an np.ndarray, which it keeps alive.
Tensor from_numpy(PyObject* array, bool warn_if_read_only);
// The dtype of a NumPy scalar or array. Raises, in the name of `op`, if tensors have no such dtype.
DType dtype_of_numpy(const char* op, PyObject* object);

// Whether the object can give a DLPack capsule, and the tensor over its memory.
bool has_dlpack(PyObject* object);
Tensor from_dlpack(PyObject* object);

}  // namespace facula
