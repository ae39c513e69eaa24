// Autocast: operations of a list get their floating-point tensors in another dtype, in threads that
// ask for it. The casts are recorded like any other, so backward runs in the dtypes of forward.
//
// tables/autocast.def says what is done for which operation. The seam asks call() of every entry
// while is_on(), a thread-local word.
#pragma once
#include <string>

#include "bind/seam.h"

namespace facula::autocast {

enum class Policy : uint8_t {
  Nothing,
  AsGiven,             // nothing either, nor with what it is composed of
  Lower,               // all tensors in the chosen dtype, which has 16 bits
  Float,               // all tensors in float32
  FloatUnlessDtype,    // the first tensor in float32, if no dtype= asks for something else
  FloatPadding,        // Float for the paddings that read the tensor's border, `mode=` says which
  FloatResampling,     // Float for all of interpolate but mode="area", which is a pooling
  FloatUnlessIndices,  // Float, if no return_indices= asks for places too
  LikeState,  // all tensors in the dtype of the recurrent state, the argument after the input
  LowerUnlessPacked,  // Lower for sequences of one length, LikeState for packed ones
  Promote,            // all tensors in float32 if one of them is, otherwise in the chosen dtype
  Banned,             // refused, because 16 bits would not be enough
};

// One for each DeviceType.
struct Policies {
  Policy of[2] = {Policy::Nothing, Policy::Nothing};
};
Policies policies_of(const std::string& name);

extern thread_local uint8_t active;  // a bit for each DeviceType: on, and not inside a listed call
inline bool is_on() { return active != 0; }

// True if the operation is on the list of an active device: then it was called with other tensors,
// and `result` is its answer. False where the arguments can stay as they are.
bool call(const Policies& policies, PyObject* function, bool is_composed,
          const seam::Arguments& args, PyObject*& result);

}  // namespace facula::autocast
