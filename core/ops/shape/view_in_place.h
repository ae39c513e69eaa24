// Methods that make a tensor itself a view of what it was.
#pragma once
#include "autograd/node.h"
#include "bind/bind.h"

namespace facula {

// x takes the geometry of view(x), and its place in the graph.
template <class F>
Tensor become(const Tensor& x, F&& view) {
  if (is_grad_enabled() && x.requires_grad()) check_recorded_write("in-place view", x);
  Tensor y = view(x);
  set_geometry(x, y.sizes(), y.strides(), y.offset());
  bump_version(x);
  if (y->meta && y->meta->grad_fn) attach_output(y->meta->grad_fn, x, y->meta->output_nr);
  if (x.is_view()) x->view_version = x.version();
  return x;
}

// The method `name_`: the tensor itself gets the geometry and the history of the view.
template <class... Args, class... Extra>
void def_view_in_place(const std::string& name, Tensor (*f)(const Tensor&, Args...),
                       const Extra&... extra) {
  std::string doc = "Makes the tensor itself the view that " + name + "() gives.";
  def_method((name + "_").c_str(),
             [f](Tensor x, Args... args) {
               return become(x, [&](const Tensor& t) { return f(t, args...); });
             },
             extra..., doc.c_str());
}

}  // namespace facula
