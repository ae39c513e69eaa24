#include "ops/optim/optim.h"

#include <algorithm>

#include "autograd/node.h"
#include "base/parallel.h"

namespace facula {

namespace {

constexpr int64_t kOptimGrain = 8192;
constexpr int kMaxArrays = 2 + OptimUpdate::kMaxStates;

// An update as the kernel sees it: arrays of n real elements in one order.
struct Flat {
  char* arrays[kMaxArrays] = {};
  int64_t n, itemsize;
  cpu::OptimKernel kernel;
  const void* rule;
};

// A copy in the order of the kernel, of a tensor that is stored in another; written back at the
// end.
struct Stand {
  Tensor copy, original;
};

bool has_strides(const Tensor& x, const Dims& strides) {
  for (int64_t d = 0; d < x.dim(); ++d)
    if (x.stride(d) != strides[d] && x.size(d) != 1) return false;
  return true;
}

template <class F>
void for_each_state(const OptimUpdate& update, F f) {
  for (int i = 0; i < OptimUpdate::kMaxStates; ++i)
    if (update.states[i].defined()) f(i, update.states[i]);
}

Flat flatten(const cpu::OptimTable::Row& kernels, const OptimUpdate& update,
             std::vector<Stand>& stands) {
  const Tensor& p = update.param;
  Dims strides = p.is_contiguous() || is_non_overlapping_and_dense(p.sizes(), p.strides())
                     ? p.strides()
                     : contiguous_strides(p.sizes());
  auto data = [&](const Tensor& x, bool is_written) {
    bool is_clear = x.storage() != p.storage() || x.data() == p.data();
    if (is_clear && x.dtype() == p.dtype() && has_strides(x, strides)) return x.data();
    Tensor copy = empty_strided(p.sizes(), strides, p.dtype());
    copy_into(copy, x);
    stands.push_back({copy, is_written ? x : Tensor()});
    return copy.data();
  };
  DType dtype = to_real_dtype(p.dtype());
  Flat flat;
  flat.n = is_complex(p.dtype()) ? 2 * p.numel() : p.numel();
  flat.itemsize = item_size(dtype);
  flat.kernel = kernels[static_cast<int>(dtype)];
  flat.rule = update.rule;
  flat.arrays[0] = data(p, true);
  flat.arrays[1] = data(update.grad, false);
  for_each_state(update, [&](int i, const Tensor& x) { flat.arrays[2 + i] = data(x, true); });
  return flat;
}

// Elements [begin, end) of an update.
void run_flat(const Flat& flat, int64_t begin, int64_t end) {
  char* arrays[kMaxArrays];
  for (int i = 0; i < kMaxArrays; ++i)
    arrays[i] = flat.arrays[i] ? flat.arrays[i] + begin * flat.itemsize : nullptr;
  flat.kernel(arrays, flat.rule, end - begin);
}

void begin_rule(void (*begin)(void*, double*), OptimUpdate& update) {
  double numbers[OptimUpdate::kMaxNumbers];
  auto is_double = [&](int i) { return update.numbers[i].dtype() == DType::Float64; };
  int n = 0;
  for (; n < OptimUpdate::kMaxNumbers && update.numbers[n].defined(); ++n)
    numbers[n] =
        is_double(n) ? *update.numbers[n].data_as<double>() : *update.numbers[n].data_as<float>();
  begin(update.rule, numbers);
  for (int i = 0; i < n; ++i) {
    if (is_double(i)) {
      *update.numbers[i].data_as<double>() = numbers[i];
    } else {
      *update.numbers[i].data_as<float>() = static_cast<float>(numbers[i]);
    }
    bump_version(update.numbers[i]);
  }
}

// Updates that share no memory: their elements, one after the other, are cut into pieces.
void run_together(const cpu::OptimTable::Row& kernels, void (*begin)(void*, double*),
                  OptimUpdate* updates, size_t n_updates) {
  std::vector<Flat> flats;
  std::vector<int64_t> ends;
  std::vector<Stand> stands;
  flats.reserve(n_updates);
  ends.reserve(n_updates);
  int64_t total = 0;
  for (size_t i = 0; i < n_updates; ++i) {
    flats.push_back(flatten(kernels, updates[i], stands));
    ends.push_back(total += flats.back().n);
  }
  for (size_t i = 0; i < n_updates; ++i) begin_rule(begin, updates[i]);
  parallel_for(total, kOptimGrain, [&](int64_t from, int64_t to) {
    size_t i = std::upper_bound(ends.begin(), ends.end(), from) - ends.begin();
    for (; from < to; ++i) {
      int64_t start = ends[i] - flats[i].n, end = std::min(to, ends[i]);
      run_flat(flats[i], from - start, end - start);
      from = end;
    }
  });
  for (Stand& stand : stands)
    if (stand.original.defined()) copy_into(stand.original, stand.copy);
  for (size_t i = 0; i < n_updates; ++i) {
    bump_version(updates[i].param);
    for_each_state(updates[i], [](int, const Tensor& x) { bump_version(x); });
  }
}

// Whether a write to one parameter may be seen by the update of another.
bool share_memory(const std::vector<OptimUpdate>& updates) {
  if (updates.size() < 2) return false;
  std::vector<Storage*> written;
  written.reserve(updates.size());
  for (const OptimUpdate& update : updates) written.push_back(update.param.storage());
  std::sort(written.begin(), written.end());
  if (std::adjacent_find(written.begin(), written.end()) != written.end()) return true;
  return std::any_of(updates.begin(), updates.end(), [&](const OptimUpdate& update) {
    return std::binary_search(written.begin(), written.end(), update.grad.storage());
  });
}

}  // namespace

std::ostream& operator<<(std::ostream& out, OptimPlace place) {
  return out << "parameter " << place.index << " of group " << place.group;
}

void check_optim_update(const char* optimizer, OptimPlace place, const OptimUpdate& update) {
  const Tensor &p = update.param, &g = update.grad;
  check(is_differentiable(p.dtype()), optimizer, ": ", place, " is ", p,
        ": only floating-point and complex parameters can be optimised.");
  check(g.sizes() == p.sizes() && g.dtype() == p.dtype() && g.device() == p.device(), optimizer,
        ": ", place, " is ", p, " on ", p.device(), ", but its gradient is ", g, " on ", g.device(),
        ".");
  check_inplace(optimizer, p);
  for_each_state(update, [&](int, const Tensor& x) {
    check(x.sizes() == p.sizes() && x.device() == p.device() && can_cast(x.dtype(), p.dtype()),
          optimizer, ": ", place, " is ", p, " on ", p.device(), ", but its state is ", x, " on ",
          x.device(), ". Was the state of another optimiser loaded?");
    check_inplace(optimizer, x);
  });
  for (const Tensor& x : update.numbers)
    check(!x.defined() || (x.numel() == 1 && x.is_cpu() &&
                           (x.dtype() == DType::Float32 || x.dtype() == DType::Float64)),
          optimizer, ": ", place, " has a count of steps that is ", x,
          ": expected one float32 number on the CPU.");
}

void run_optim_updates(const cpu::OptimTable::Row& kernels, void (*begin)(void*, double*),
                       std::vector<OptimUpdate>& updates) {
  if (!share_memory(updates)) return run_together(kernels, begin, updates.data(), updates.size());
  for (OptimUpdate& update : updates) run_together(kernels, begin, &update, 1);
}

namespace {

// Complex numbers are pairs of real ones to every rule.
Tensor real_view(const Tensor& x) { return is_complex(x.dtype()) ? view_as_real(x) : x; }
Tensor as_value(const Tensor& x) { return is_grad_enabled() ? clone(real_view(x)) : real_view(x); }
void store_value(const Tensor& x, const OptimValue& value) {
  Tensor destination = real_view(x);
  copy_(destination, value.tensor());
}

}  // namespace

OptimRow::OptimRow(const OptimUpdate& update)
    : param_(as_value(update.param)), grad_(as_value(update.grad)) {
  for_each_state(update, [&](int i, const Tensor& x) { states_[i] = as_value(x); });
}

void OptimRow::store(OptimUpdate& update) const {
  store_value(update.param, param_);
  for_each_state(update, [&](int i, const Tensor& x) { store_value(x, states_[i]); });
}

}  // namespace facula
