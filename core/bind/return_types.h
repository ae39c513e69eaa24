// Results with names: facula.return_types.max(values=..., indices=...).
#pragma once
#include <initializer_list>

#include "bind/bind.h"

namespace facula {

// An object of the type `name` in facula/return_types.py.
nb::object named_result(const char* name, std::initializer_list<Tensor> values);

}  // namespace facula
