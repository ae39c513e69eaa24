// The one thread pool. Work is cut by size, never by the number of threads, so that results do not
// depend on it.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

namespace facula {

// A reference to a callable that outlives the call: no allocation, two words.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, FunctionRef>>>
  FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// Calls body(begin, end) over [0, n) in pieces of `grain` (the last may be shorter). Piece
// boundaries are multiples of `grain` whatever the number of threads. One piece runs in the calling
// thread without touching the pool; nested calls run in place. The first exception thrown by a
// piece is rethrown here after all pieces have ended.
void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body);

int get_num_threads();
void set_num_threads(int n_threads);

// Called around the parallel part of parallel_for when more than one piece runs; the Python layer
// installs functions that release and retake the interpreter lock. `leave` returns a token that
// `enter` gets back.
struct BlockingHooks {
  void* (*leave)() = nullptr;
  void (*enter)(void* token) = nullptr;
};
void set_blocking_hooks(BlockingHooks hooks);

// Runs f with the interpreter lock released, for waits and long single-threaded work.
void run_blocking(FunctionRef<void()> f);

// Flush-to-zero of denormal numbers, in every thread of the pool and in the caller. False where the
// machine cannot.
bool set_flush_denormal(bool on);

}  // namespace facula
