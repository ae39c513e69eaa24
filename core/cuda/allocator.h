// The caching allocator of a GPU.
#pragma once
#include "base/allocator.h"

namespace facula::cuda {

// A freed block is used again only on the stream that it was allocated on, whose order makes that
// safe without waiting.
Allocator& allocator_of(int index);

}  // namespace facula::cuda
