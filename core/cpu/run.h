// Runs the loop of an element-wise kernel over a walk.
#pragma once
#include "walk/walk.h"

namespace facula {

// Runs the loop over all elements, in pieces on the thread pool where there are many.
void run_cpu(const Walk& walk, Loop loop, const void* params = nullptr);

// The same in one thread, for loops whose writes may meet.
void run_cpu_in_order(const Walk& walk, Loop loop, const void* params = nullptr);

}  // namespace facula
