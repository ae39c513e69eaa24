// Exceptions that Python does not have.
#pragma once
#include <Python.h>

namespace facula {

// facula.OutOfMemoryError, borrowed.
PyObject* out_of_memory_error();

}  // namespace facula
