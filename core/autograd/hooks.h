// Calls of Python hooks by the engine.
#pragma once
#include "autograd/node.h"

namespace facula {

// A gradient as a program gets it, which may write to it: that of a mean is a number, expanded.
Tensor own_gradient(const Tensor& grad);

// fn(grad) for each hook of the dict, in order; a hook that returns a tensor replaces the gradient.
void run_tensor_hooks(PyObject* hooks, Tensor& grad);
// Hooks on a node: fn(grad_outputs) before it runs, fn(grad_inputs, grad_outputs) after; may
// replace the tuple they are the last (pre) or the first (post) about.
void run_node_pre_hooks(PyObject* hooks, TensorList& grad_outputs);
void run_node_post_hooks(PyObject* hooks, TensorList& grad_inputs, const TensorList& grad_outputs);
void run_post_accumulate_hooks(const Tensor& leaf);

// Adds a gradient to leaf.grad. A gradient that nobody else holds becomes .grad itself, without a
// copy.
void accumulate_grad(const Tensor& leaf, Tensor grad);
Tensor leaf_of(const Node& node);  // of an AccumulateGrad node; undefined otherwise

PyObject* to_python_tuple(const TensorList& tensors);  // undefined becomes None; new reference

}  // namespace facula
