#pragma once
#include "python/bind.h"

namespace facula {

void bind_cuda(nb::module_& m);

}  // namespace facula
