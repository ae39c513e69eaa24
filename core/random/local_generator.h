// A default generator of one thread, as the workers of a loader have. Pushes nest.
#pragma once
#include <cstdint>

namespace facula {

// From here to the pop, default_generator() of this thread is one of its own with this seed.
void push_local_generator(uint64_t seed);
void pop_local_generator();

}  // namespace facula
