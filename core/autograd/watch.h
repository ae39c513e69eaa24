// Who wants to know of the nodes that backward runs, in one thread. While nobody does, a node costs
// one test of a word.
#pragma once

namespace facula {

struct Node;

// Hears of the end of a node only if it still watches then.
class NodeWatcher {
 public:
  virtual ~NodeWatcher() = default;
  virtual void begin(const Node& node) = 0;
  virtual void end() noexcept = 0;
};

// Sets the watcher of this thread, null for none, and returns the one before.
NodeWatcher* watch_nodes(NodeWatcher* watcher);

}  // namespace facula
