// Graphs: work of a stream that is captured once and launched again as a whole.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "base/device.h"

namespace facula::cuda {

// What a captured kernel reads of the generator at each launch: see Graph::replay.
struct RandomWords {
  uint64_t seed, first_call;
};

class Graph {
 public:
  Graph() = default;
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Captures what this thread queues on the current stream of the device. Memory comes from the
  // pool of that number, which graphs with the same number share and nobody else uses.
  void begin(int index, uint64_t pool);
  void end();
  void replay();
  void reset();
  uint64_t pool() const { return pool_; }
  bool is_captured() const { return executable_ != nullptr; }

  // While it is captured: bytes of the host that stay where they are for every launch.
  const void* keep(const void* data, int64_t nbytes);
  // The generator's words on the device, and the number of a call since the capture began.
  const RandomWords* random_words() const { return words_; }
  uint64_t next_call() { return n_calls_++; }

 private:
  int index_ = 0;
  uint64_t pool_ = 0;
  bool holds_pool_ = false;
  void* stream_ = nullptr;
  void *graph_ = nullptr, *executable_ = nullptr;
  RandomWords* words_ = nullptr;
  uint64_t n_calls_ = 0;
  std::vector<std::unique_ptr<char[]>> kept_;
};

// A number for a pool of its own.
uint64_t new_pool();
// The graph that this device captures now, or null.
Graph* capturing(int index);
// Raises if the device captures: for what a launch of the graph could not do again.
void check_not_capturing(int index, const char* what);
// A copy of the host's bytes to the device, which may be captured.
void upload(void* to, const void* from, int64_t nbytes, Device device);

}  // namespace facula::cuda
