// A CUDA driver whose GPU is the CPU. Calls do their work at once, in order; a kernel's threads are
// fibers, which take turns at barriers. Programs are the libraries that nvrtc.cpp makes.
//
// FACULA_EMULATOR_MEMORY: the bytes of the GPU's memory; FACULA_EMULATOR_FAULT: what is wrong with
// this driver, for tests of what is said about it.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <elf.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

enum Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kStubLibrary = 34,
  kNoDevice = 100,
  kInvalidContext = 201,
  kNotFound = 500,
  kNotReady = 600,
  kLaunchFailed = 719,
  kSystemDriverMismatch = 803,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
};

std::string fault() {
  const char* value = std::getenv("FACULA_EMULATOR_FAULT");
  return value ? value : "";
}

// ---- threads

struct dim3 {
  unsigned x, y, z;
};
struct Emulated {
  dim3 thread, block, n_threads, n_blocks;
  void (*sync_block)();
  void (*sync_warp)();
  unsigned long long* slots;
};

constexpr int kMostThreads = 1024, kStackBytes = 64 << 10, kWarp = 32;
enum class State : char { Ready, AtBlock, AtWarp, Done };

extern "C" void emulated_switch(void** save, void* load);
asm(R"(
.text
emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

class Block {
 public:
  Block() {
    stacks_ =
        static_cast<char*>(mmap(nullptr, size_t(kMostThreads) * kStackBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    state_.resize(kMostThreads);
    stack_.resize(kMostThreads);
  }

  // False where some threads wait for what never comes.
  bool run(Emulated& e, int n_threads, void (*entry)(const void*), const void* arguments) {
    e_ = &e;
    entry_ = entry;
    arguments_ = arguments;
    for (int t = 0; t < n_threads; ++t) {
      state_[t] = State::Ready;
      stack_[t] = nullptr;
    }
    int n_left = n_threads;
    while (n_left > 0) {
      bool has_moved = false;
      for (int t = 0; t < n_threads; ++t) {
        if (state_[t] != State::Ready) continue;
        has_moved = true;
        resume(t);
        if (state_[t] == State::Done) --n_left;
        // The last of a warp lets the others go on.
        if (t % kWarp == kWarp - 1 || t == n_threads - 1)
          if (release(t / kWarp * kWarp, t + 1, State::AtWarp)) t = t / kWarp * kWarp - 1;
      }
      if (n_left > 0 && !release(0, n_threads, State::AtBlock) && !has_moved) return false;
    }
    return true;
  }

  void wait(State at) {
    int t = current_;
    state_[t] = at;
    emulated_switch(&stack_[t], main_);
  }

 private:
  // Lets threads go on, if all that are left in the range wait there.
  bool release(int first, int last, State at) {
    bool has_some = false;
    for (int t = first; t < last; ++t) {
      if (state_[t] == State::Done) continue;
      if (state_[t] != at) return false;
      has_some = true;
    }
    for (int t = first; t < last; ++t)
      if (state_[t] == at) state_[t] = State::Ready;
    return has_some;
  }

  void resume(int t) {
    current_ = t;
    e_->thread = {static_cast<unsigned>(t), 0, 0};
    e_->slots = slots_[t / kWarp];
    if (!stack_[t]) {
      // As emulated_switch would have left it: six registers and where to go on.
      auto* top = reinterpret_cast<void**>(stacks_ + size_t(t + 1) * kStackBytes);
      *--top = nullptr;  // aligned as at a call
      *--top = reinterpret_cast<void*>(&Block::start);
      for (int i = 0; i < 6; ++i) *--top = nullptr;
      stack_[t] = top;
    }
    emulated_switch(&main_, stack_[t]);
  }

  static void start();

  Emulated* e_ = nullptr;
  void (*entry_)(const void*) = nullptr;
  const void* arguments_ = nullptr;
  char* stacks_;
  std::vector<State> state_;
  std::vector<void*> stack_;
  void* main_ = nullptr;
  int current_ = 0;
  unsigned long long slots_[kMostThreads / kWarp][kWarp];
};

Block& block() {
  static auto* one = new Block;
  return *one;
}
void Block::start() {
  Block& b = block();
  b.entry_(b.arguments_);
  b.wait(State::Done);
}

Emulated shared_state = {{0, 0, 0},
                         {0, 0, 0},
                         {0, 0, 0},
                         {0, 0, 0},
                         [] { block().wait(State::AtBlock); },
                         [] { block().wait(State::AtWarp); },
                         nullptr};

struct Function {
  void (*entry)(const void*);
  unsigned long (*size)();
};

Result run_kernel(const Function& f, dim3 grid, unsigned n_threads, const void* arguments) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  Emulated& e = shared_state;
  e.n_threads = {n_threads, 1, 1};
  e.n_blocks = grid;
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        e.block = {x, y, z};
        if (!block().run(e, static_cast<int>(n_threads), f.entry, arguments)) return kLaunchFailed;
      }
  return kSuccess;
}

// ---- memory, streams, graphs

struct Memory {
  std::mutex mutex;
  std::map<uint64_t, size_t> held;
  size_t used = 0;
  static size_t total() {
    const char* value = std::getenv("FACULA_EMULATOR_MEMORY");
    return value ? std::strtoull(value, nullptr, 10) : size_t(4) << 30;
  }
};
Memory& memory() {
  static auto* one = new Memory;
  return *one;
}

using Work = std::function<Result()>;
struct Graph {
  std::vector<Work> work;
};
struct Stream {
  Graph* captured = nullptr;
};
struct Event {
  std::chrono::steady_clock::time_point at;
  bool keeps_time;
};

// Does the work, or keeps it for the graph that the stream captures.
Result queue(void* stream, Work work) {
  auto* s = static_cast<Stream*>(stream);
  if (!s || !s->captured) return work();
  s->captured->work.push_back(std::move(work));
  return kSuccess;
}

Result copy(void* to, const void* from, size_t nbytes, void* stream) {
  return queue(stream, [=] {
    std::memmove(to, from, nbytes);
    return kSuccess;
  });
}

thread_local void* current_context = nullptr;
int a_context;

void* address(uint64_t data) { return reinterpret_cast<void*>(data); }

}  // namespace

extern "C" {

int cuInit(unsigned) {
  if (fault() == "does not start") return kSystemDriverMismatch;
  if (fault() == "no device") return kNoDevice;
  return kSuccess;
}
int cuDriverGetVersion(int* version) {
  *version = fault() == "too old" ? 11080 : 13000;
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  *count = fault() == "hidden" ? 0 : 1;
  return kSuccess;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return kSuccess;
}
int cuDeviceGetName(char* name, int length, int) {
  std::snprintf(name, length, "the CPU in place of a GPU");
  return kSuccess;
}
int cuDeviceTotalMem_v2(size_t* nbytes, int) {
  *nbytes = Memory::total();
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case 75:
      *value = 9;
      break;
    case 76:
      *value = 0;
      break;
    case 16:
      *value = 4;
      break;
    default:
      *value = 0;
  }
  return kSuccess;
}
int cuDeviceGetPCIBusId(char* text, int length, int) {
  std::snprintf(text, length, "0000:00:00.0");
  return kSuccess;
}
int cuDeviceGetUuid_v2(void* uuid, int) {
  std::memcpy(uuid, "emulated-gpu-000", 16);
  return kSuccess;
}
int cuDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &a_context;
  return kSuccess;
}
int cuCtxGetCurrent(void** context) {
  *context = current_context;
  return kSuccess;
}
int cuCtxSetCurrent(void* context) {
  current_context = context;
  return kSuccess;
}
int cuCtxSynchronize() { return kSuccess; }

int cuMemGetInfo_v2(size_t* n_free, size_t* n_total) {
  *n_total = Memory::total();
  *n_free = *n_total - memory().used;
  return kSuccess;
}
int cuMemAlloc_v2(uint64_t* data, size_t nbytes) {
  if (!current_context) return kInvalidContext;
  std::lock_guard<std::mutex> lock(memory().mutex);
  if (memory().used + nbytes > Memory::total()) return kOutOfMemory;
  void* made = std::aligned_alloc(512, (nbytes + 511) / 512 * 512);
  if (!made) return kOutOfMemory;
  // Whoever reads what was never written shall see it.
  std::memset(made, 0xcd, nbytes);
  *data = reinterpret_cast<uint64_t>(made);
  memory().held[*data] = nbytes;
  memory().used += nbytes;
  return kSuccess;
}
int cuMemFree_v2(uint64_t data) {
  std::lock_guard<std::mutex> lock(memory().mutex);
  auto found = memory().held.find(data);
  if (found == memory().held.end()) return kInvalidValue;
  memory().used -= found->second;
  memory().held.erase(found);
  std::free(address(data));
  return kSuccess;
}
int cuMemHostAlloc(void** data, size_t nbytes, unsigned) {
  *data = std::aligned_alloc(4096, (nbytes + 4095) / 4096 * 4096);
  return *data ? kSuccess : kOutOfMemory;
}
int cuMemFreeHost(void* data) {
  std::free(data);
  return kSuccess;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t nbytes, void* stream) {
  return copy(address(to), from, nbytes, stream);
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t nbytes, void* stream) {
  return copy(to, address(from), nbytes, stream);
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t nbytes, void* stream) {
  return copy(address(to), address(from), nbytes, stream);
}
int cuMemcpyPeerAsync(uint64_t to, void*, uint64_t from, void*, size_t nbytes, void* stream) {
  return copy(address(to), address(from), nbytes, stream);
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t nbytes, void* stream) {
  return queue(stream, [=] {
    std::memset(address(to), value, nbytes);
    return kSuccess;
  });
}

int cuStreamCreate(void** stream, unsigned) {
  *stream = new Stream;
  return kSuccess;
}
int cuStreamCreateWithPriority(void** stream, unsigned, int) {
  *stream = new Stream;
  return kSuccess;
}
int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return kSuccess;
}
int cuStreamDestroy_v2(void* stream) {
  delete static_cast<Stream*>(stream);
  return kSuccess;
}
int cuStreamSynchronize(void* stream) {
  auto* s = static_cast<Stream*>(stream);
  return s && s->captured ? kCaptureUnsupported : kSuccess;
}
int cuStreamQuery(void*) { return kSuccess; }
int cuStreamWaitEvent(void*, void*, unsigned) { return kSuccess; }
int cuStreamBeginCapture_v2(void* stream, int) {
  if (!stream) return kCaptureUnsupported;
  static_cast<Stream*>(stream)->captured = new Graph;
  return kSuccess;
}
int cuStreamEndCapture(void* stream, void** graph) {
  auto* s = static_cast<Stream*>(stream);
  if (!s || !s->captured) return kCaptureInvalidated;
  *graph = s->captured;
  s->captured = nullptr;
  return kSuccess;
}
int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  *executable = new Graph(*static_cast<Graph*>(graph));
  return kSuccess;
}
int cuGraphLaunch(void* executable, void* stream) {
  for (const Work& work : static_cast<Graph*>(executable)->work) {
    Result result = queue(stream, work);
    if (result != kSuccess) return result;
  }
  return kSuccess;
}
int cuGraphExecDestroy(void* executable) {
  delete static_cast<Graph*>(executable);
  return kSuccess;
}
int cuGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return kSuccess;
}

int cuEventCreate(void** event, unsigned flags) {
  *event = new Event{{}, (flags & 2) == 0};
  return kSuccess;
}
int cuEventDestroy_v2(void* event) {
  delete static_cast<Event*>(event);
  return kSuccess;
}
int cuEventRecord(void* event, void*) {
  static_cast<Event*>(event)->at = std::chrono::steady_clock::now();
  return kSuccess;
}
int cuEventQuery(void*) { return kSuccess; }
int cuEventSynchronize(void*) { return kSuccess; }
int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  auto apart = static_cast<Event*>(end)->at - static_cast<Event*>(start)->at;
  *milliseconds = std::chrono::duration<float, std::milli>(apart).count();
  return kSuccess;
}

int cuModuleLoadData(void** module, const void* image) {
  // The end of the table of sections is that of the file.
  auto* header = static_cast<const Elf64_Ehdr*>(image);
  if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return kInvalidValue;
  size_t size = header->e_shoff + size_t(header->e_shnum) * header->e_shentsize;
  char path[] = "/tmp/facula-program-XXXXXX";
  int file = mkstemp(path);
  bool is_written = file >= 0 && write(file, image, size) == static_cast<ssize_t>(size);
  close(file);
  *module = is_written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!*module) std::fprintf(stderr, "emulator: %s\n", dlerror());
  unlink(path);
  if (!*module) return kInvalidValue;
  *static_cast<Emulated**>(dlsym(*module, "emulated")) = &shared_state;
  return kSuccess;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  auto* made = new Function;
  made->entry = reinterpret_cast<void (*)(const void*)>(
      dlsym(module, (std::string("emulated_entry_") + name).c_str()));
  made->size = reinterpret_cast<unsigned long (*)()>(
      dlsym(module, (std::string("emulated_size_") + name).c_str()));
  *function = made;
  return made->entry && made->size ? kSuccess : kNotFound;
}
int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned n_threads, unsigned,
                   unsigned, unsigned, void* stream, void** arguments, void**) {
  const auto& f = *static_cast<Function*>(function);
  if (n_threads > kMostThreads || x == 0 || y == 0 || z == 0) return kInvalidValue;
  // As the driver does: the arguments are those of the launch, whatever becomes of them later.
  unsigned long size = f.size();
  std::shared_ptr<void> kept(std::aligned_alloc(64, (size + 63) / 64 * 64), std::free);
  std::memcpy(kept.get(), arguments[0], size);
  return queue(stream, [=] { return run_kernel(f, {x, y, z}, n_threads, kept.get()); });
}

// For the libraries beside it: run(context) in the order of the stream. A graph may run it again.
int emulated_queue(void* stream, int (*run)(void*), void* context) {
  return queue(stream, [=] { return run(context) == 0 ? kSuccess : kLaunchFailed; });
}

int cuGetErrorName(int error, const char** text) {
  *text = error == kOutOfMemory            ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == kNoDevice             ? "CUDA_ERROR_NO_DEVICE"
          : error == kLaunchFailed         ? "CUDA_ERROR_LAUNCH_FAILED"
          : error == kSystemDriverMismatch ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
                                           : "CUDA_ERROR_UNKNOWN";
  return kSuccess;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == kOutOfMemory            ? "out of memory"
          : error == kNoDevice             ? "no CUDA-capable device is detected"
          : error == kLaunchFailed         ? "unspecified launch failure"
          : error == kSystemDriverMismatch ? "system has unsupported display driver / cuda driver "
                                             "combination"
                                           : "unknown error";
  return kSuccess;
}
}
