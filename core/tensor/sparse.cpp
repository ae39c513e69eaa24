#include "tensor/sparse.h"

namespace facula {

PyTypeObject* sparse_type = nullptr;

}  // namespace facula
