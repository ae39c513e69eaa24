// Storages as Python objects.
#pragma once
#include <optional>

#include "bind/casters.h"
#include "tensor/storage.h"

namespace facula {

// A storage from Python: an UntypedStorage, or a TypedStorage with its dtype. Borrowed from the
// Python object.
struct StorageArg {
  Storage* storage;
  std::optional<DType> dtype;
};
std::optional<StorageArg> storage_from_object(PyObject* object);

// The one Python object of a storage, made where there is none; new reference.
PyObject* storage_object(Storage* storage);

}  // namespace facula
