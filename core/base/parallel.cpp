#include "base/parallel.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/machine.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace facula {
namespace {

inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#else
  std::this_thread::yield();
#endif
}

// The control word of floating-point arithmetic: rounding and flushing of denormal numbers.
#if defined(__x86_64__) || defined(__i386__)
using FloatControl = unsigned;
constexpr FloatControl kFlushBits = 0x8040;  // flush to zero, denormals are zero
constexpr FloatControl kExceptionFlags =
    0x003F;  // sticky results of past operations, not a setting
FloatControl read_float_control() { return _mm_getcsr() & ~kExceptionFlags; }
void write_float_control(FloatControl control) {
  _mm_setcsr(control | (_mm_getcsr() & kExceptionFlags));
}
#elif defined(__aarch64__)
using FloatControl = uint64_t;
constexpr FloatControl kFlushBits = 1 << 24;
FloatControl read_float_control() {
  FloatControl control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
}
void write_float_control(FloatControl control) { asm volatile("msr fpcr, %0" ::"r"(control)); }
#else
using FloatControl = unsigned;
constexpr FloatControl kFlushBits = 0;
FloatControl read_float_control() { return 0; }
void write_float_control(FloatControl) {}
#endif

// Set in the workers always, and in a caller while its pieces run: work started there is nested.
thread_local bool is_inside_parallel = false;

BlockingHooks hooks;

class BlockingScope {
 public:
  BlockingScope() : token_(hooks.leave != nullptr ? hooks.leave() : nullptr) {}
  ~BlockingScope() {
    if (hooks.enter != nullptr) hooks.enter(token_);
  }
  BlockingScope(const BlockingScope&) = delete;
  BlockingScope& operator=(const BlockingScope&) = delete;

 private:
  void* token_;
};

struct InsideScope {
  InsideScope() { is_inside_parallel = true; }
  ~InsideScope() { is_inside_parallel = false; }
};

using Body = FunctionRef<void(int64_t begin, int64_t end)>;

struct Job {
  const Body* body = nullptr;
  int64_t n = 0;
  int64_t grain = 1;
  int n_shares = 0;
  bool is_backward = false;
  FloatControl float_control = 0;
  std::exception_ptr error;
};

// See Note [Shares].
struct alignas(64) Share {
  std::atomic<int64_t> next{0};
  int64_t begin = 0, end = 0;
};

void run_piece(const Body& body, int64_t n, int64_t grain, int64_t piece) {
  int64_t begin = piece * grain;
  body(begin, begin + std::min(grain, n - begin));
}

// Note [Joining a job]
// One atomic word decides who may touch the job: bit kOpen, and below it the number of workers
// inside. A worker enters by adding one while kOpen is set; whoever finds the pieces exhausted
// clears kOpen; the caller returns when the count is zero. A worker that wakes late finds the word
// closed and never looks at the job, which may be gone by then. So the caller waits for workers
// that took a piece, never for those that are still waking up.
//
// Note [Shares]
// A thread begins with a share of its own, pieces that are neighbours: what it wrote in the last
// operation on a tensor of this size is in its cache. Where the share is larger than the cache that
// is the end of it, so each job goes the other way than the one before: add of 1M floats takes 120
// us instead of 150, their sum 44 instead of 70. Who is done with its share helps with the others.
class Pool {
 public:
  Pool(int n_workers, bool may_spin) : spin_(may_spin ? kSpin : std::chrono::nanoseconds(0)) {
    // Signals belong to the threads of the interpreter.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      workers_.reserve(static_cast<size_t>(n_workers));
      for (int i = 0; i < n_workers; ++i) workers_.emplace_back([this, i] { work(i + 1); });
    } catch (const std::system_error&) {
      // The system grants no more threads. Fewer give the same results.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  ~Pool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      state_.fetch_or(kStop);
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  void run(int64_t n, int64_t grain, int64_t n_pieces, const Body& body) {
    int64_t n_threads = static_cast<int64_t>(workers_.size()) + 1;
    int n_shares = static_cast<int>(std::min({n_pieces, n_threads, kMaxShares}));
    job_ = Job{&body, n, grain, n_shares, !job_.is_backward, read_float_control(), nullptr};
    first_error_.store(n_pieces, std::memory_order_relaxed);
    for (int i = 0; i < n_shares; ++i) {
      shares_[i].begin = n_pieces * i / n_shares;
      shares_[i].next.store(shares_[i].begin, std::memory_order_relaxed);
      shares_[i].end = n_pieces * (i + 1) / n_shares;
    }
    state_.store(kOpen);
    wake_workers(n_pieces - 1);
    run_pieces(0);
    wait_for_workers();
    if (job_.error) std::rethrow_exception(std::exchange(job_.error, nullptr));
  }

 private:
  static constexpr uint64_t kOpen = uint64_t{1} << 32;
  static constexpr uint64_t kCallerSleeps = uint64_t{1} << 33;
  static constexpr uint64_t kStop = uint64_t{1} << 34;
  static constexpr uint64_t kCount = kOpen - 1;
  static constexpr int64_t kMaxShares = 16;  // who helps looks at all of them
  // Waking a sleeping thread costs the caller 10 us in a virtual machine. Between two parallel
  // operations of a loop in Python lie some small ones, about this long together; an idle process
  // stops spinning after it.
  static constexpr std::chrono::nanoseconds kSpin{100000};

  template <class Condition>
  bool spin_until(Condition condition) const {
    if (condition()) return true;
    if (spin_.count() == 0) return false;
    auto end = std::chrono::steady_clock::now() + spin_;
    do {
      for (int i = 0; i < 16; ++i) {
        if (condition()) return true;
        cpu_relax();
      }
      // On a busy machine the thread that is waited for may need this very processor.
      std::this_thread::yield();
    } while (std::chrono::steady_clock::now() < end);
    return false;
  }

  void work(int thread) {
    is_inside_parallel = true;
    while (true) {
      auto has_news = [this] {
        return (state_.load(std::memory_order_relaxed) & (kOpen | kStop)) != 0;
      };
      if (!spin_until(has_news)) sleep_until_news();
      uint64_t state = state_.load();
      if (state & kStop) return;
      while ((state & kOpen) && !state_.compare_exchange_weak(state, state + 1)) {
      }
      if (!(state & kOpen)) continue;
      if (read_float_control() != job_.float_control) write_float_control(job_.float_control);
      run_pieces(thread);
      leave();
    }
  }

  void sleep_until_news() {
    std::unique_lock<std::mutex> lock(mutex_);
    n_sleeping_.fetch_add(1);
    wake_.wait(lock, [this] { return (state_.load() & (kOpen | kStop)) != 0; });
    n_sleeping_.fetch_sub(1);
  }

  // Either the caller sees the sleeper's count, or the sleeper, which counts itself first, sees the
  // open job.
  void wake_workers(int64_t n_wanted) {
    int64_t n_sleeping = n_sleeping_.load();
    if (n_sleeping == 0) return;
    { std::lock_guard<std::mutex> lock(mutex_); }
    if (n_wanted >= n_sleeping) {
      wake_.notify_all();
    } else {
      for (int64_t i = 0; i < n_wanted; ++i) wake_.notify_one();
    }
  }

  void run_pieces(int thread) {
    for (int i = 0; i < job_.n_shares; ++i) run_share(shares_[(thread + i) % job_.n_shares]);
    state_.fetch_and(~kOpen);
  }

  void run_share(Share& share) {
    while (share.next.load(std::memory_order_relaxed) < share.end) {
      int64_t piece = share.next.fetch_add(1, std::memory_order_relaxed);
      if (piece >= share.end) return;
      if (job_.is_backward) piece = share.begin + share.end - 1 - piece;
      if (piece > first_error_.load(std::memory_order_relaxed)) continue;
      try {
        run_piece(*job_.body, job_.n, job_.grain, piece);
      } catch (...) {
        keep_error(piece);
      }
    }
  }

  // Pieces before the one that failed still run: of all errors the one of the first piece is
  // reported, whatever the number of threads.
  void keep_error(int64_t piece) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (first_error_.load(std::memory_order_relaxed) < piece) return;
    first_error_.store(piece, std::memory_order_relaxed);
    job_.error = std::current_exception();
  }

  void leave() {
    if (state_.fetch_sub(1) != (kCallerSleeps | 1)) return;
    std::lock_guard<std::mutex> lock(mutex_);
    done_.notify_one();
  }

  void wait_for_workers() {
    auto is_done = [this] { return (state_.load() & kCount) == 0; };
    if (spin_until(is_done)) return;
    std::unique_lock<std::mutex> lock(mutex_);
    state_.fetch_or(kCallerSleeps);
    done_.wait(lock, is_done);
  }

  alignas(64) std::atomic<uint64_t> state_{0};
  alignas(64) Job job_;
  std::atomic<int64_t> first_error_{0};
  Share shares_[kMaxShares];
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::atomic<int64_t> n_sleeping_{0};
  std::chrono::nanoseconds spin_;
  std::vector<std::thread> workers_;
};

int threads_from_environment() {
  for (const char* name : {"FACULA_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char* text = std::getenv(name);
    long value = text != nullptr ? std::strtol(text, nullptr, 10) : 0;
    if (value > 0) return static_cast<int>(std::min(value, 1L << 20));
  }
  return available_cpus();
}

std::atomic<int>& thread_count() {
  static std::atomic<int> n_threads{threads_from_environment()};
  return n_threads;
}

// The pool belongs to the thread that has set pool_is_taken. It is never destroyed at exit: its
// sleeping threads end with the process, and no destructor of a static object can wait for them or
// be overtaken by them.
std::atomic<bool> pool_is_taken{false};
Pool* pool = nullptr;

bool try_take_pool() {
  return !pool_is_taken.load(std::memory_order_relaxed) &&
         !pool_is_taken.exchange(true, std::memory_order_acquire);
}

struct PoolRelease {
  ~PoolRelease() { pool_is_taken.store(false, std::memory_order_release); }
};

// After fork() the child has the memory of the pool, but none of its threads: it leaves the old
// pool and makes another.
void forget_pool_in_child() {
  pool = nullptr;
  pool_is_taken.store(false);
}
// From the start: between taking the pool and making it another thread may fork.
const int fork_handler_error = pthread_atfork(nullptr, nullptr, forget_pool_in_child);

Pool& started_pool() {
  if (pool == nullptr) {
    check(fork_handler_error == 0, "parallel_for: the system refused a handler for fork().");
    constexpr int kMaxWorkers = 1023;
    int n_threads = thread_count().load();
    pool = new Pool(std::min(n_threads - 1, kMaxWorkers), n_threads <= available_cpus());
  }
  return *pool;
}

void run_in_place(int64_t n, int64_t grain, int64_t n_pieces, const Body& body) {
  for (int64_t piece = 0; piece < n_pieces; ++piece) run_piece(body, n, grain, piece);
}

}  // namespace

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  if (n <= grain) return body(0, n);
  int64_t n_pieces = (n - 1) / grain + 1;
  if (is_inside_parallel) return run_in_place(n, grain, n_pieces, body);
  BlockingScope blocking;
  InsideScope inside;
  // A second Python thread that comes while the pool works does not wait for it: it has a processor
  // of its own.
  if (thread_count().load(std::memory_order_relaxed) == 1 || !try_take_pool()) {
    return run_in_place(n, grain, n_pieces, body);
  }
  PoolRelease release;
  started_pool().run(n, grain, n_pieces, body);
}

int get_num_threads() { return thread_count().load(); }

void set_num_threads(int n_threads) {
  check(n_threads > 0, "set_num_threads: expected a positive number of threads, got ", n_threads,
        ".");
  check(!is_inside_parallel, "set_num_threads: cannot be called from inside parallel work.");
  if (n_threads == thread_count().load()) return;
  BlockingScope blocking;
  while (!try_take_pool()) std::this_thread::yield();
  PoolRelease release;
  delete pool;
  pool = nullptr;
  thread_count().store(n_threads);
}

void set_blocking_hooks(BlockingHooks new_hooks) { hooks = new_hooks; }

void run_blocking(FunctionRef<void()> f) {
  if (is_inside_parallel) return f();
  BlockingScope blocking;
  f();
}

// Workers take the caller's control word with each job, so that a result does not depend on the
// thread that made it.
bool set_flush_denormal(bool on) {
  FloatControl control = read_float_control();
  write_float_control(on ? control | kFlushBits : control & ~kFlushBits);
  return kFlushBits != 0;
}

}  // namespace facula
