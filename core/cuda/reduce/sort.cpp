#include "cuda/reduce/sort.h"

#include "cuda/kernel.h"
#include "cuda/kernels/sort.h"
#include "cuda/reduce/scan.h"
#include "cuda/workspace.h"
#include "tensor/backend.h"

namespace facula::cuda {

namespace {

constexpr DTypes kKeyDTypes =
    only(DType::UInt8) | only(DType::Int16) | only(DType::Int32) | only(DType::Int64);
FACULA_KERNEL(make_sort_keys, "sort.h", SortKeyArguments, kRealDTypes)
FACULA_KERNEL(count_digits, "sort.h", DigitArguments, kKeyDTypes)
FACULA_KERNEL(move_by_digit, "sort.h", DigitArguments, kKeyDTypes)
FACULA_KERNEL(take_sorted, "sort.h", SortedArguments, kWordDTypes)

constexpr int kDigitBits = 8;

int bits_of(int64_t limit) { return limit <= 1 ? 0 : 64 - __builtin_clzll(limit - 1); }

// Keys and numbers of elements, twice: a pass moves them from one to the other.
class Sorter {
 public:
  // `key_dtype` has the size of the keys.
  Sorter(Device device, DType key_dtype, int64_t n)
      : device_(device),
        dtype_(key_dtype),
        other_keys_(device, n * item_size(key_dtype)),
        other_order_(device, n * static_cast<int64_t>(sizeof(int64_t))),
        counts_(device,
                ceil_div(n, kSortTile) * kSortDigits * static_cast<int64_t>(sizeof(int64_t))) {
    a_.numel = n;
    a_.n_tiles = ceil_div(n, kSortTile);
    a_.counts = reinterpret_cast<int64_t*>(counts_.data());
  }

  // In place, by the lowest bits of the keys, or of the number of the line.
  void sort(char*& keys, int64_t*& order, int n_bits, int64_t line_size = 0) {
    a_.is_by_line = line_size > 0;
    a_.line_size = line_size;
    for (a_.shift = 0; a_.shift < n_bits; a_.shift += kDigitBits) {
      a_.keys = keys;
      a_.order = order;
      a_.keys_to = spare_keys(keys);
      a_.order_to = spare_order(order);
      count_digits_kernel(device_, {dtype_}, {a_.n_tiles, 1}, a_);
      sum_before(device_, a_.counts, a_.n_tiles * kSortDigits);
      move_by_digit_kernel(device_, {dtype_}, {a_.n_tiles, 1}, a_);
      if (!a_.is_by_line) keys = a_.keys_to;
      order = a_.order_to;
    }
  }

 private:
  // Whichever of both is not in use; the first call says which is the caller's.
  char* spare_keys(char* in_use) {
    if (!first_keys_) first_keys_ = in_use;
    return in_use == first_keys_ ? other_keys_.data() : first_keys_;
  }
  int64_t* spare_order(int64_t* in_use) {
    if (!first_order_) first_order_ = in_use;
    auto* other = reinterpret_cast<int64_t*>(other_order_.data());
    return in_use == first_order_ ? other : first_order_;
  }

  Device device_;
  DType dtype_;
  Workspace other_keys_, other_order_, counts_;
  char* first_keys_ = nullptr;
  int64_t* first_order_ = nullptr;
  DigitArguments a_{};
};

}  // namespace

void sort_lines(const Tensor& values, const Tensor& places, const Tensor& x, int64_t line_size,
                bool is_descending) {
  if (values.numel() == 0) return;
  int64_t n = x.numel(), n_lines = n / line_size;
  Device device = x.device();
  DType key_dtype = word_dtype(x.itemsize());
  Workspace key_memory(device, n * x.itemsize()),
      order_memory(device, n * static_cast<int64_t>(sizeof(int64_t)));
  char* keys = key_memory.data();
  auto* order = reinterpret_cast<int64_t*>(order_memory.data());
  make_sort_keys_kernel.for_each(device, {x.dtype()}, n,
                                 {x.address(), keys, order, n, is_descending});
  Sorter sorter(device, key_dtype, n);
  sorter.sort(keys, order, static_cast<int>(8 * x.itemsize()));
  sorter.sort(keys, order, bits_of(n_lines), line_size);
  int64_t kept = values.numel() / n_lines;
  take_sorted_kernel.for_each(device, {key_dtype}, n_lines * kept,
                              {x.address(), order, values.address(), places.address_as<int64_t>(),
                               n_lines, line_size, kept});
}

void sort_by_key(Device device, int64_t* keys, int64_t* order, int64_t n, int64_t limit) {
  Sorter sorter(device, DType::Int64, n);
  char* sorted_keys = reinterpret_cast<char*>(keys);
  int64_t* sorted_order = order;
  sorter.sort(sorted_keys, sorted_order, bits_of(limit));
  if (sorted_order == order) return;
  Backend& backend = backend_of(device);
  backend.copy_bytes(keys, device, sorted_keys, device, n * static_cast<int64_t>(sizeof(int64_t)));
  backend.copy_bytes(order, device, sorted_order, device,
                     n * static_cast<int64_t>(sizeof(int64_t)));
}

}  // namespace facula::cuda
