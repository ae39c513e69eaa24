// Nodes whose derivative is written in Python: autograd.Function. The ctx that the user sees is the
// node itself.
#pragma once
#include "python/bind.h"

namespace facula {

void bind_function(nb::module_& m);

}  // namespace facula
