#include "cuda/fft/fft.h"

#include <map>
#include <tuple>

#include "base/error.h"
#include "cuda/device.h"
#include "cuda/library.h"
#include "cuda/workspace.h"

namespace facula::cuda {

namespace {

// Numbers of cuFFT's enumerations.
constexpr int kRealToComplex = 0x2a, kComplexToReal = 0x2c, kComplexToComplex = 0x29;
constexpr int kDouble = 0x40;  // what the types of double numbers add
constexpr int kForward = -1, kInverse = 1;
constexpr int64_t kDefaultLimit = 4096;

struct CuFft {
  int (*create)(int* plan);
  int (*destroy)(int plan);
  int (*set_auto_allocation)(int plan, int is_on);
  int (*make)(int plan, int rank, long long* n, long long* embed_in, long long step_in,
              long long distance_in, long long* embed_out, long long step_out,
              long long distance_out, int type, long long n_lines, size_t* workspace_bytes);
  int (*set_workspace)(int plan, void* data);
  int (*set_stream)(int plan, void* stream);
  int (*c2c)(int plan, void* from, void* to, int direction);
  int (*z2z)(int plan, void* from, void* to, int direction);
  int (*r2c)(int plan, void* from, void* to);
  int (*d2z)(int plan, void* from, void* to);
  int (*c2r)(int plan, void* from, void* to);
  int (*z2d)(int plan, void* from, void* to);
};

const CuFft& cu_fft() {
  static const CuFft functions = [] {
    Library library = Library::open_nvidia("libcufft", {"12", "11"});
    check(library.is_open(), "cuda: cuFFT was not found (", library.reason(),
          "). Install it with: pip install nvidia-cufft");
    CuFft f;
    library.load(f.create, "cufftCreate");
    library.load(f.destroy, "cufftDestroy");
    library.load(f.set_auto_allocation, "cufftSetAutoAllocation");
    library.load(f.make, "cufftMakePlanMany64");
    library.load(f.set_workspace, "cufftSetWorkArea");
    library.load(f.set_stream, "cufftSetStream");
    library.load(f.c2c, "cufftExecC2C");
    library.load(f.z2z, "cufftExecZ2Z");
    library.load(f.r2c, "cufftExecR2C");
    library.load(f.d2z, "cufftExecD2Z");
    library.load(f.c2r, "cufftExecC2R");
    library.load(f.z2d, "cufftExecZ2D");
    return f;
  }();
  return functions;
}

void check_status(int status, const char* what) {
  check(status == 0, "cuda: ", what, " failed with status ", status, " of cuFFT.");
}

// All that a plan depends on.
using Key = std::tuple<FftKind, bool, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t>;
struct Plan {
  int handle = 0;
  size_t workspace_bytes = 0;
  uint64_t last_use = 0;
};

// The plans of a device; that which was not used for the longest goes first.
class Plans {
 public:
  const Plan& of(const FftLines& x) {
    Key key(x.kind, x.is_double, x.n, x.n_lines, x.source_step, x.source_distance, x.result_step,
            x.result_distance);
    auto found = plans_.find(key);
    if (found == plans_.end()) {
      shrink(limit_ > 0 ? limit_ - 1 : 0);
      found = plans_.emplace(key, make(x)).first;
    }
    found->second.last_use = ++n_uses_;
    return found->second;
  }
  // At least one is kept, that in use.
  void shrink(int64_t n) {
    while (static_cast<int64_t>(plans_.size()) > n) {
      auto oldest = plans_.begin();
      for (auto it = plans_.begin(); it != plans_.end(); ++it)
        if (it->second.last_use < oldest->second.last_use) oldest = it;
      cu_fft().destroy(oldest->second.handle);
      plans_.erase(oldest);
    }
  }
  int64_t size() const { return static_cast<int64_t>(plans_.size()); }
  int64_t limit() const { return limit_; }
  void set_limit(int64_t limit) {
    limit_ = limit;
    shrink(limit);
  }

 private:
  static Plan make(const FftLines& x) {
    const CuFft& f = cu_fft();
    Plan plan;
    check_status(f.create(&plan.handle), "cufftCreate");
    check_status(f.set_auto_allocation(plan.handle, 0), "cufftSetAutoAllocation");
    int type = x.kind == FftKind::Complex    ? kComplexToComplex
               : x.kind == FftKind::FromReal ? kRealToComplex
                                             : kComplexToReal;
    long long n = x.n;
    int status = f.make(plan.handle, 1, &n, &n, x.source_step, x.source_distance, &n, x.result_step,
                        x.result_distance, type + (x.is_double ? kDouble : 0), x.n_lines,
                        &plan.workspace_bytes);
    if (status != 0) f.destroy(plan.handle);
    check_status(status, "cufftMakePlanMany64");
    return plan;
  }

  std::map<Key, Plan> plans_;
  uint64_t n_uses_ = 0;
  int64_t limit_ = kDefaultLimit;
};

Plans& plans_of(int index) {
  static auto* all = new std::map<int, Plans>;  // guarded by the interpreter lock
  return (*all)[index];
}

}  // namespace

void run_fft(const FftLines& x, Device device) {
  const CuFft& f = cu_fft();
  enter(device.index);
  const Plan& plan = plans_of(device.index).of(x);
  Workspace workspace(device, static_cast<int64_t>(plan.workspace_bytes));
  void* stream = current_stream(device.index);
  check_status(f.set_stream(plan.handle, stream), "cufftSetStream");
  if (plan.workspace_bytes > 0)
    check_status(f.set_workspace(plan.handle, workspace.data()), "cufftSetWorkArea");
  int direction = x.is_inverse ? kInverse : kForward;
  int status;
  if (x.kind == FftKind::Complex) {
    status = (x.is_double ? f.z2z : f.c2c)(plan.handle, x.source, x.result, direction);
  } else if (x.kind == FftKind::FromReal) {
    status = (x.is_double ? f.d2z : f.r2c)(plan.handle, x.source, x.result);
  } else {
    status = (x.is_double ? f.z2d : f.c2r)(plan.handle, x.source, x.result);
  }
  check_status(status, "executing a plan");
  if (is_launch_blocking()) synchronize_stream(device.index, stream);
}

int64_t fft_plan_count(int index) { return plans_of(index).size(); }
int64_t fft_plan_limit(int index) { return plans_of(index).limit(); }
void set_fft_plan_limit(int index, int64_t limit) { plans_of(index).set_limit(limit); }
void clear_fft_plans(int index) { plans_of(index).shrink(0); }

}  // namespace facula::cuda
