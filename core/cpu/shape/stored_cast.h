// Conversions from and to the dtypes that are not computed with.
#pragma once
#include "base/dtype.h"
#include "walk/walk.h"

namespace facula::cpu {

// y = x converted, where at least one of the dtypes is only stored.
Loop stored_cast(DType from, DType to);

}  // namespace facula::cpu
