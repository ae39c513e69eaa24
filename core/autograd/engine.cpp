// The backward pass: nodes in order of their sequence numbers, the latest first, each when all its
// gradients are there. Runs in the calling thread, without recursion. The interpreter lock is held
// between kernels and given up inside them.
#include <atomic>
#include <queue>
#include <utility>

#include "autograd/hooks.h"
#include "autograd/node.h"
#include "autograd/operations.h"
#include "autograd/watch.h"
#include "tensor/sparse.h"

namespace facula {

using graph::operations;

namespace {

// What one run knows of one node. Kept apart from the node, because a hook may start another run
// over the same nodes.
struct Task {
  Node* node = nullptr;  // the graph is kept alive by its roots
  uint32_t n_waiting = 0;
  bool is_needed = true;
  TensorList grads;  // one for each forward output
};

// Open addressing on the node's address: a run over a small graph must not pay for a general map.
class TaskTable {
 public:
  Task& operator[](Node* node) {
    if ((n_used_ + 1) * 2 > slots_.size()) grow();
    size_t at = find(node);
    if (slots_[at] < 0) {
      slots_[at] = static_cast<int32_t>(tasks_.size());
      tasks_.emplace_back().node = node;
      ++n_used_;
    }
    return tasks_[slots_[at]];
  }
  Task* get(Node* node) {
    int32_t slot = slots_.empty() ? -1 : slots_[find(node)];
    return slot < 0 ? nullptr : &tasks_[slot];
  }
  std::vector<Task>& all() { return tasks_; }

 private:
  size_t find(Node* node) const {
    size_t mask = slots_.size() - 1;
    size_t at = (reinterpret_cast<size_t>(node) >> 4) * 0x9E3779B97F4A7C15ull >> 20 & mask;
    while (slots_[at] >= 0 && tasks_[slots_[at]].node != node) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    slots_.assign(std::max<size_t>(slots_.size() * 2, 32), -1);
    for (size_t i = 0; i < tasks_.size(); ++i)
      slots_[find(tasks_[i].node)] = static_cast<int32_t>(i);
  }
  std::vector<int32_t> slots_;
  std::vector<Task> tasks_;
  size_t n_used_ = 0;
};

struct Capture {
  Node* node;
  uint32_t input_nr;
  Tensor grad;
};

struct LaterFirst {
  bool operator()(const Node* a, const Node* b) const { return a->sequence_nr < b->sequence_nr; }
};

class Run;
thread_local Run* current_run = nullptr;
thread_local NodeWatcher* watcher = nullptr;

// Told also of the end of a node that raises.
class Watched {
 public:
  explicit Watched(const Node& node) : watcher_(watcher) {
    if (watcher_) watcher_->begin(node);
  }
  ~Watched() {
    if (watcher_ && watcher_ == watcher) watcher_->end();
  }
  Watched(const Watched&) = delete;

 private:
  NodeWatcher* watcher_;  // who may be gone when the node ends
};

std::atomic<int64_t> next_run_id{0};

class Run {
 public:
  Run(bool retain_graph, bool create_graph)
      : outer_(std::exchange(current_run, this)),
        id_(next_run_id++),
        retain_graph_(retain_graph),
        create_graph_(create_graph) {}
  ~Run() { current_run = outer_; }
  Run(const Run&) = delete;

  int64_t id() const { return id_; }
  bool reaches(Node* node) {
    Task* task = tasks_.get(node);
    return task && task->is_needed;
  }
  // Nodes inside others (Node::wrapped) may lead to some that this run does not know.
  bool wants(Node* node) {
    Task* task = is_restricted_ ? tasks_.get(node) : nullptr;
    return !task || task->is_needed;
  }
  bool is_to_leaves() const { return !is_restricted_; }

  void discover(const std::vector<Edge>& roots);
  void restrict_to(const TensorList& inputs, bool accumulate);
  void add_gradient(Node* node, uint32_t input_nr, Tensor grad);
  void execute(const std::vector<Edge>& roots);
  TensorList captured() const;

 private:
  void run_node(Task task);
  TensorList call(Node* node, TensorList& grads);
  void deliver(Node* node, TensorList results);

  TaskTable tasks_;
  std::priority_queue<Node*, std::vector<Node*>, LaterFirst> ready_;
  std::vector<Capture> captures_;
  bool has_captures_ = false;
  bool is_restricted_ = false;
  Run* outer_;  // a hook or derivative may start a run inside a run
  int64_t id_;
  bool retain_graph_, create_graph_;
};

// Counts, for every node reachable from the roots, the edges that lead to it.
void Run::discover(const std::vector<Edge>& roots) {
  std::vector<Node*> stack;
  auto visit = [&](Node* node) {
    Task* known = tasks_.get(node);
    if (known) return;
    tasks_[node];
    stack.push_back(node);
  };
  for (const Edge& root : roots) visit(root.node);
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (uint32_t i = 0; i < node->n_edges; ++i) {
      Node* next = node->edges[i].node;
      if (!next) continue;
      visit(next);
      ++tasks_.get(next)->n_waiting;
    }
  }
}

// Only nodes on a path to one of the inputs are run.
void Run::restrict_to(const TensorList& inputs, bool accumulate) {
  is_restricted_ = true;
  for (Task& task : tasks_.all()) task.is_needed = false;
  for (const Tensor& x : inputs) {
    Edge edge = gradient_edge(x);
    if (!accumulate || !edge.node->is_accumulator) {
      captures_.push_back({edge.node, edge.input_nr, Tensor()});
      has_captures_ = true;
    } else {
      captures_.push_back({nullptr, 0, Tensor()});
    }
    if (Task* task = tasks_.get(edge.node)) task->is_needed = true;
    release_node(edge.node);  // the input keeps it alive
  }
  // Reverse discovery order is not topological; repeat along edges from late to early by an
  // explicit post-order walk.
  std::vector<std::pair<Node*, uint32_t>> stack;
  std::vector<bool> visited(tasks_.all().size());
  auto index_of = [&](Node* node) { return tasks_.get(node) - tasks_.all().data(); };
  for (size_t start = 0; start < tasks_.all().size(); ++start) {
    if (visited[start]) continue;
    visited[start] = true;
    stack.push_back({tasks_.all()[start].node, 0});
    while (!stack.empty()) {
      auto& [node, at] = stack.back();
      if (at < node->n_edges) {
        Node* next = node->edges[at++].node;
        if (next && !visited[index_of(next)]) {
          visited[index_of(next)] = true;
          stack.push_back({next, 0});
        }
        continue;
      }
      Task& task = *tasks_.get(node);
      for (uint32_t i = 0; i < node->n_edges && !task.is_needed; ++i)
        if (node->edges[i].node) task.is_needed = tasks_.get(node->edges[i].node)->is_needed;
      stack.pop_back();
    }
  }
}

// A leaf takes a sparse gradient as it is, and so does a derivative that is written in Python;
// those of the core know dense ones only.
Tensor in_layout_for(const Node& node, Tensor grad) {
  bool takes_any = node.is_accumulator || node.runs_without_grad;
  return is_sparse(grad) && !takes_any ? operations.to_dense(grad) : grad;
}

// A gradient must have the form of the output it belongs to; one that was broadcast is summed back.
Tensor conform(const Node& node, uint32_t input_nr, Tensor grad) {
  const OutputInfo& info = node.outputs[input_nr];
  if (grad.sizes() != info.sizes) {
    check(is_expandable_to(info.sizes, grad.sizes()), "backward: ", node.name,
          " got a gradient of shape ", grad.sizes(), " for an output of shape ", info.sizes, ".");
    grad = operations.sum_to_size(grad, info.sizes);
  }
  if (grad.dtype() != info.dtype) {
    if (is_complex(grad.dtype()) && !is_complex(info.dtype)) grad = operations.real(grad);
    grad = operations.to_dtype(grad, info.dtype);
  }
  check(grad.device() == info.device, "backward: ", node.name, " got a gradient on ", grad.device(),
        " for an output on ", info.device, ".");
  return in_layout_for(node, std::move(grad));
}

void Run::add_gradient(Node* node, uint32_t input_nr, Tensor grad) {
  Task& task = *tasks_.get(node);
  if (task.grads.empty()) task.grads.resize(node->n_outputs);
  Tensor& sum = task.grads[input_nr];
  grad = conform(*node, input_nr, std::move(grad));
  if (!sum.defined()) {
    sum = std::move(grad);
  } else if (!create_graph_ && sum.is_only_handle() && !sum.is_view() &&
             sum.storage()->n_refs() == 1 && !has_internal_overlap(sum)) {
    operations.add_to(sum, grad);
  } else {
    sum = operations.add(sum, grad);
  }
}

TensorList Run::captured() const {
  TensorList grads;
  for (const Capture& capture : captures_) grads.push_back(capture.grad);
  return grads;
}

void check_for_nan(Node* node, const TensorList& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined() || !operations.has_nan(results[i])) continue;
    std::string trace;
    if (node->extras && node->extras->metadata) {
      PyObject* text = PyDict_GetItemString(node->extras->metadata, "traceback_");
      if (text && PyUnicode_Check(text))
        trace = std::string(" Forward call:\n") + PyUnicode_AsUTF8(text);
    }
    fail(ErrorKind::Runtime, "detect_anomaly: ", node->name, " gave NaN as gradient ", i,
         ". It was recorded at ", node->location.describe(), ". (returned nan values in its ", i,
         "th output)", trace);
  }
}

TensorList Run::call(Node* node, TensorList& grads) {
  bool any = node->runs_without_grad;
  for (const Tensor& g : grads) any |= g.defined();
  TensorList results;
  if (any) {
    Watched watched(*node);
    results = node->apply(*node, grads);
    check(node->is_accumulator || results.size() == node->n_edges, node->name, " returned ",
          results.size(), " gradients; expected ", node->n_edges, ".");
    if (is_anomaly_enabled() && is_anomaly_check_nan_enabled()) check_for_nan(node, results);
  } else {
    results.resize(node->n_edges);
  }
  return results;
}

void Run::run_node(Task task) {
  Node* node = task.node;
  task.grads.resize(node->n_outputs);
  TensorList& grads = task.grads;
  if (node->is_accumulator) {
    Tensor leaf = leaf_of(*node);
    if (leaf->meta->hooks && grads[0].defined()) run_tensor_hooks(leaf->meta->hooks, grads[0]);
  }
  if (NodeExtras* extras = node->extras) {
    for (size_t i = 0; i < extras->tensor_hooks.size(); ++i) {
      auto hooks = extras->tensor_hooks[i];
      if (grads[hooks.output_nr].defined()) run_tensor_hooks(hooks.dict, grads[hooks.output_nr]);
    }
    if (extras->pre_hooks) run_node_pre_hooks(extras->pre_hooks, grads);
    for (Tensor& grad : grads)
      if (grad.defined()) grad = in_layout_for(*node, std::move(grad));  // a hook may return any
    for (auto& retained : extras->retained) {
      PyObject* x = PyWeakref_GetObject(retained.weakref);
      if (x == Py_None || !grads[retained.output_nr].defined()) continue;
      Tensor t = Tensor::borrow(static_cast<TensorImpl*>(x));
      Tensor grad = grads[retained.output_nr];
      Tensor held = Tensor::borrow(t.meta().grad);
      // A copy: it may be expanded, and belong to others too.
      grad = held.defined() ? operations.add(held, grad)
                            : operations.clone(grad, MemoryFormat::Preserve);
      Py_XDECREF(std::exchange(t.meta().grad, grad.release()));
    }
  }
  if (has_captures_) {
    bool was_captured = false;
    for (Capture& capture : captures_) {
      if (capture.node != node) continue;
      capture.grad = grads[capture.input_nr];
      was_captured = true;
    }
    if (was_captured && node->is_accumulator) return;
  }
  bool any_next = node->is_accumulator;
  for (uint32_t i = 0; i < node->n_edges && !any_next; ++i) {
    Node* next = node->edges[i].node;
    any_next = next && tasks_.get(next)->is_needed;
  }
  if (!any_next) return;

  TensorList grad_outputs;
  bool has_post_hooks = node->extras && node->extras->post_hooks;
  if (has_post_hooks) grad_outputs = grads;
  TensorList results = call(node, grads);
  if (has_post_hooks) run_node_post_hooks(node->extras->post_hooks, results, grad_outputs);
  grads.clear();
  if (!retain_graph_) node->release_saved();
  deliver(node, std::move(results));
}

void Run::deliver(Node* node, TensorList results) {
  for (uint32_t i = 0; i < node->n_edges; ++i) {
    Node* next = node->edges[i].node;
    if (!next) continue;
    if (results[i].defined() && tasks_.get(next)->is_needed) {
      try {
        add_gradient(next, node->edges[i].input_nr, std::move(results[i]));
      } catch (const Error& error) {
        throw Error(error.kind(), std::string(error.what()) + " It came from " + node->name +
                                      ", gradient " + std::to_string(i) + ", recorded at " +
                                      node->location.describe() + ".");
      }
    }
    if (--tasks_.get(next)->n_waiting == 0) ready_.push(next);
  }
}

void Run::execute(const std::vector<Edge>& roots) {
  GradModeGuard mode(create_graph_);
  for (const Edge& root : roots) {
    Task& task = *tasks_.get(root.node);
    // A root that other roots also lead to waits for them; a root given twice is queued once.
    if (task.n_waiting == 0) {
      task.n_waiting = UINT32_MAX;
      ready_.push(root.node);
    }
  }
  while (!ready_.empty()) {
    Node* node = ready_.top();
    ready_.pop();
    Task& task = *tasks_.get(node);
    if (!task.is_needed) continue;  // then nothing behind it is needed either
    Task mine;
    mine.node = node;
    mine.grads = std::move(task.grads);
    retain_node(node);
    struct Release {
      Node* node;
      ~Release() { release_node(node); }
    } release{node};
    run_node(std::move(mine));
  }
}

}  // namespace

bool Needs::operator[](size_t i) const {
  Node* next = node_.edges[i].node;
  return next != nullptr && (!current_run || current_run->wants(next));
}

NodeWatcher* watch_nodes(NodeWatcher* whom) { return std::exchange(watcher, whom); }

int64_t current_backward_id() { return current_run ? current_run->id() : -1; }
bool backward_reaches(Node* node) { return current_run && current_run->reaches(node); }
bool is_backward_to_leaves() { return current_run && current_run->is_to_leaves(); }

TensorList run_backward(const TensorList& roots, const TensorList& grads, bool retain_graph,
                        bool create_graph, const TensorList& inputs, bool accumulate) {
  struct Roots {
    std::vector<Edge> edges;
    ~Roots() {
      for (Edge& edge : edges) release_node(edge.node);
    }
  } starts;
  TensorList root_grads;
  for (size_t i = 0; i < roots.size(); ++i) {
    Edge edge = gradient_edge(roots[i]);
    check(edge.node != nullptr,
          "backward: expected a tensor that requires grad or has a grad_fn, got ", roots[i],
          " at index ", i,
          ". Was it computed under no_grad, detached, or made only of tensors without "
          "requires_grad? (element ",
          i, " of tensors does not require grad and does not have a grad_fn)");
    starts.edges.push_back(edge);
    root_grads.push_back(grads[i]);
  }
  Run run(retain_graph, create_graph);
  run.discover(starts.edges);
  if (!inputs.empty()) run.restrict_to(inputs, accumulate);
  for (size_t i = 0; i < starts.edges.size(); ++i)
    run.add_gradient(starts.edges[i].node, starts.edges[i].input_nr, root_grads[i]);
  run.execute(starts.edges);
  return run.captured();
}

}  // namespace facula
