#include "cuda/graph.h"

#include <atomic>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "cuda/allocator.h"
#include "cuda/device.h"
#include "cuda/driver.h"
#include "random/generator.h"
#include "tensor/backend.h"

namespace facula::cuda {

namespace {

Graph* captures[kMaxDevices] = {};  // guarded by the interpreter lock

Generator& generator_of(int index) {
  return *default_generator({DeviceType::CUDA, static_cast<int8_t>(index)});
}

}  // namespace

Graph* capturing(int index) { return captures[index]; }

void check_not_capturing(int index, const char* what) {
  check(!captures[index], "cuda: ", what,
        " while a graph is captured: a launch of the graph could not do it again. Do it before or "
        "after the capture.");
}

uint64_t new_pool() {
  static std::atomic<uint64_t> n{0};
  return ++n;
}

void upload(void* to, const void* from, int64_t nbytes, Device device) {
  Graph* graph = capturing(device.index);
  if (!graph) return backend_of(device).copy_bytes(to, device, from, Device{}, nbytes);
  enter(device.index);
  check_result(
      driver().copy_to_device(reinterpret_cast<DevicePointer>(to), graph->keep(from, nbytes),
                              static_cast<size_t>(nbytes), current_stream(device.index)),
      "copying");
}

void Graph::begin(int index, uint64_t pool) {
  check(!executable_, "cuda: the graph is captured already. Call reset() first.");
  check(!captures[index], "cuda: another graph is being captured on cuda:", index, ".");
  index_ = index;
  stream_ = current_stream(index);
  check(stream_ != nullptr,
        "cuda: the default stream cannot be captured. Enter facula.cuda.stream(...) first, or use "
        "facula.cuda.graph(...).");
  enter(index);
  pool_ = pool;
  if (!words_)
    words_ = static_cast<RandomWords*>(allocator_of(index).allocate(sizeof(RandomWords), stream_));
  n_calls_ = 0;
  // Memory may be allocated and programs loaded meanwhile.
  constexpr int is_relaxed = 2;
  check_result(driver().stream_begin_capture(stream_, is_relaxed), "cuStreamBeginCapture");
  captures[index] = this;
  begin_private(index, stream_, pool);
  if (!holds_pool_) hold_private(index, pool);
  holds_pool_ = true;
}

void Graph::end() {
  check(captures[index_] == this, "cuda: the graph is not being captured.");
  captures[index_] = nullptr;
  end_private(index_, stream_);
  enter(index_);
  check_result(driver().stream_end_capture(stream_, &graph_), "cuStreamEndCapture");
  check_result(driver().graph_instantiate(&executable_, graph_, 0), "cuGraphInstantiate");
}

void Graph::replay() {
  check(executable_ != nullptr, "cuda: the graph has not been captured.");
  enter(index_);
  void* stream = current_stream(index_);
  if (n_calls_ > 0) {
    // Each launch draws the numbers that its calls would draw now.
    Generator& generator = generator_of(index_);
    std::lock_guard<std::mutex> lock(generator.mutex());
    RandomWords words{generator.philox_seed(), generator.next_call()};
    for (uint64_t i = 1; i < n_calls_; ++i) generator.next_call();
    // The driver has read pageable memory when this returns.
    check_result(driver().copy_to_device(reinterpret_cast<DevicePointer>(words_), &words,
                                         sizeof(words), stream),
                 "copying");
  }
  check_result(driver().graph_launch(executable_, stream), "cuGraphLaunch");
  if (is_launch_blocking()) synchronize_stream(index_, stream);
}

void Graph::reset() {
  if (captures[index_] == this) {
    captures[index_] = nullptr;
    end_private(index_, stream_);
    driver().stream_end_capture(stream_, &graph_);
  }
  if (executable_) driver().graph_exec_destroy(executable_);
  if (graph_) driver().graph_destroy(graph_);
  executable_ = graph_ = nullptr;
  kept_.clear();
  if (words_) allocator_of(index_).deallocate(words_, sizeof(RandomWords), stream_);
  words_ = nullptr;
  if (holds_pool_) release_private(index_, pool_);
  holds_pool_ = false;
}

Graph::~Graph() { reset(); }

const void* Graph::keep(const void* data, int64_t nbytes) {
  kept_.push_back(std::make_unique<char[]>(static_cast<size_t>(nbytes)));
  std::memcpy(kept_.back().get(), data, static_cast<size_t>(nbytes));
  return kept_.back().get();
}

}  // namespace facula::cuda
