// A short list of int64: sizes, strides, dimension numbers. Six are kept inline, so that making a
// tensor allocates nothing.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <ostream>

namespace facula {

constexpr int64_t kMaxDims = 64;

class Dims {
 public:
  Dims() = default;
  explicit Dims(size_t n, int64_t value = 0) {
    resize(n);
    std::fill(begin(), end(), value);
  }
  Dims(std::initializer_list<int64_t> values) { assign(values.begin(), values.size()); }
  Dims(const int64_t* first, const int64_t* last) { assign(first, last - first); }
  Dims(const Dims& o) { assign(o.data(), o.size_); }
  Dims(Dims&& o) noexcept { steal(o); }
  Dims& operator=(const Dims& o) {
    if (this != &o) assign(o.data(), o.size_);
    return *this;
  }
  Dims& operator=(Dims&& o) noexcept {
    if (this != &o) {
      delete[] heap_;
      heap_ = nullptr;
      steal(o);
    }
    return *this;
  }
  ~Dims() { delete[] heap_; }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t* data() { return heap_ ? heap_ : inline_; }
  const int64_t* data() const { return heap_ ? heap_ : inline_; }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + size_; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size_; }
  int64_t& operator[](size_t i) { return data()[i]; }
  int64_t operator[](size_t i) const { return data()[i]; }
  int64_t& back() { return data()[size_ - 1]; }
  int64_t back() const { return data()[size_ - 1]; }

  // New elements are not initialised.
  void resize(size_t n) {
    if (n > capacity_) {
      int64_t* bigger = new int64_t[n * 2];
      std::memcpy(bigger, data(), size_ * sizeof(int64_t));
      delete[] heap_;
      heap_ = bigger;
      capacity_ = static_cast<uint32_t>(n * 2);
    }
    size_ = static_cast<uint32_t>(n);
  }
  void push_back(int64_t value) {
    resize(size_ + 1);
    data()[size_ - 1] = value;
  }
  void insert(size_t at, int64_t value) {
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    --size_;
  }
  void clear() { size_ = 0; }

  bool operator==(const Dims& o) const {
    return size_ == o.size_ && std::memcmp(data(), o.data(), size_ * sizeof(int64_t)) == 0;
  }
  bool operator!=(const Dims& o) const { return !(*this == o); }

 private:
  static constexpr uint32_t kInline = 6;
  void assign(const int64_t* values, size_t n) {
    resize(n);
    std::memcpy(data(), values, n * sizeof(int64_t));
  }
  void steal(Dims& o) {
    size_ = o.size_;
    capacity_ = o.capacity_;
    heap_ = o.heap_;
    if (!heap_) std::memcpy(inline_, o.inline_, size_ * sizeof(int64_t));
    o.heap_ = nullptr;
    o.capacity_ = kInline;
    o.size_ = 0;
  }

  uint32_t size_ = 0;
  uint32_t capacity_ = kInline;
  int64_t* heap_ = nullptr;
  int64_t inline_[kInline];
};

// Prints as the user writes a shape: (2, 3), (4,), ().
inline std::ostream& operator<<(std::ostream& out, const Dims& dims) {
  out << '(';
  for (size_t i = 0; i < dims.size(); ++i) out << (i ? ", " : "") << dims[i];
  return out << (dims.size() == 1 ? ",)" : ")");
}

}  // namespace facula
