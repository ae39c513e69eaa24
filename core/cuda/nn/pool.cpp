// Windows over images, and images of another size.
#include <cstring>

#include "cuda/graph.h"
#include "cuda/nn/nn.h"
#include "cuda/nn/rows.h"
#include "cuda/workspace.h"

namespace facula::cuda {

namespace {

constexpr DTypes kPooled = kRealDTypes & ~only(DType::Bool);
FACULA_KERNEL(max_pool, "pool.h", PoolArguments, kPooled)
FACULA_KERNEL(mean_pool, "pool.h", PoolArguments, kPooled)
FACULA_KERNEL(max_pool_backward, "pool.h", PoolArguments, kFloatDTypes)
FACULA_KERNEL(mean_pool_backward, "pool.h", PoolArguments, kFloatDTypes)
FACULA_KERNEL(resample, "pool.h", ResampleArguments, kFloatDTypes | only(DType::UInt8))

// Lists of the host, copied to the device in one go. The pointers to them are changed to where they
// are then.
class Lists {
 public:
  template <class T>
  void add(const T*& list, int64_t n) {
    if (!list) return;
    size_t at = (bytes_.size() + 15) / 16 * 16, nbytes = static_cast<size_t>(n) * sizeof(T);
    bytes_.resize(at + nbytes);
    std::memcpy(bytes_.data() + at, list, nbytes);
    moved_.push_back({reinterpret_cast<const void**>(&list), at});
  }
  int64_t nbytes() const { return static_cast<int64_t>(bytes_.size()); }
  void upload(const Workspace& memory, Device device) {
    cuda::upload(memory.data(), bytes_.data(), nbytes(), device);
    for (const Moved& m : moved_) *m.pointer = memory.data() + m.at;
  }

 private:
  struct Moved {
    const void** pointer;
    size_t at;
  };
  std::vector<char> bytes_;
  std::vector<Moved> moved_;
};

// Within an image the kernels count in 32 bits.
int elements_of_one(int64_t n) {
  check_not_implemented(n < int64_t(1) << 31,
                        "cuda: images of 2^31 elements or more are not pooled or resampled; got ",
                        n, " elements.");
  return static_cast<int>(n);
}

// Whether threads can take neighbours of the inner dimension together, or, where it is 1 and the
// kernel has a way for that, of the last one of the input.
enum class Packs { None, Inner, InnerOrLines };
bool can_pack(const PoolArguments& a, const Tensor& to, Packs packs) {
  int64_t pack = kPoolPack * item_size(to.dtype());
  if (packs == Packs::None) return false;
  if (packs == Packs::InnerOrLines && a.inner == 1)
    return a.axes[2].in % kPoolPack == 0 && is_aligned(a.to, pack);
  return a.inner % kPoolPack == 0 && is_aligned(a.to, pack) && is_aligned(a.x, pack) &&
         is_aligned(a.g, pack) && is_aligned(a.indices, kPoolPack * int64_t(sizeof(int64_t)));
}

void run(const Kernel<PoolArguments>& kernel, const PoolWindows& windows, PoolArguments a,
         const Tensor& to, Packs packs = Packs::None) {
  if (to.is_meta()) return;
  a.n_outer = windows.n_outer;
  a.inner = windows.inner;
  a.divisor = windows.divisor;
  a.n_inputs = elements_of_one(windows.n_inputs);
  a.n_windows = elements_of_one(windows.n_windows);
  a.to = to.address();
  Lists lists;
  for (int d = 0; d < 3; ++d) {
    PooledAxis& axis = a.axes[d];
    axis = windows.axes[d];
    lists.add(axis.begin, axis.per_outer ? axis.out * a.n_outer : int64_t(axis.out));
    lists.add(axis.count, axis.out);
    lists.add(axis.divisor, axis.out);
    lists.add(axis.low, axis.in);
    lists.add(axis.high, axis.in);
  }
  Workspace memory(to.device(), lists.nbytes());
  if (lists.nbytes() > 0) lists.upload(memory, to.device());
  a.is_packed = can_pack(a, to, packs);
  kernel.for_each(to.device(), {to.dtype()}, to.numel() / (a.is_packed ? kPoolPack : 1), a);
}

}  // namespace

void max_pool(const PoolWindows& windows, const Tensor& x, const Tensor& y, const Tensor& indices) {
  PoolArguments a{};
  a.x = x.address();
  a.indices = indices.defined() ? indices.address_as<int64_t>() : nullptr;
  run(max_pool_kernel, windows, a, y, Packs::Inner);
}

void mean_pool(const PoolWindows& windows, const Tensor& x, const Tensor& y) {
  PoolArguments a{};
  a.x = x.address();
  run(mean_pool_kernel, windows, a, y);
}

void max_pool_backward(const PoolWindows& windows, const Tensor& g, const Tensor& indices,
                       const Tensor& gx) {
  PoolArguments a{};
  a.g = g.address();
  a.indices = indices.address_as<int64_t>();
  run(max_pool_backward_kernel, windows, a, gx, Packs::InnerOrLines);
}

void mean_pool_backward(const PoolWindows& windows, const Tensor& g, const Tensor& gx) {
  PoolArguments a{};
  a.g = g.address();
  run(mean_pool_backward_kernel, windows, a, gx);
}

void resample(const std::array<TapAxis, 3>& axes, bool is_pick, int64_t inner, const Tensor& x,
              const Tensor& y) {
  if (y.is_meta()) return;
  ResampleArguments a{};
  a.numel = y.numel();
  a.inner = inner;
  a.is_pick = is_pick;
  a.n_results = elements_of_one(int64_t(axes[0].out) * axes[1].out * axes[2].out * inner);
  a.x = x.address();
  a.to = y.address();
  Lists lists;
  for (int d = 0; d < 3; ++d) {
    TapAxis& axis = a.axes[d];
    axis = axes[d];
    int64_t n_taps = axis.begin[axis.out];
    lists.add(axis.begin, axis.out + 1);
    lists.add(axis.index, n_taps);
    lists.add(axis.weight, n_taps);
  }
  Workspace memory(y.device(), lists.nbytes());
  lists.upload(memory, y.device());
  resample_kernel.for_each(y.device(), {y.dtype()}, a.numel, a);
}

}  // namespace facula::cuda
