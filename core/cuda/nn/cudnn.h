// cuDNN, opened at first use, and the plans of its graph interface.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace facula::cuda::cudnn {

// The switches of facula.backends.cudnn.
struct Settings {
  bool enabled = true;
  bool benchmark = false;      // measure plans instead of asking which is the best
  bool deterministic = false;  // refuse plans whose bits may differ from run to run
  bool allow_tf32 = true;      // round float32 to 10 bits of mantissa for the tensor cores
};
Settings& settings();

// Why cuDNN cannot be used, or nothing.
const std::string& problem();
int64_t version();  // 0 where there is none
// Whether it is there and not switched off.
bool is_enabled();

// The handle of a device, on the current stream.
void* handle_of(int index);
void* symbol(const char* name);  // fails where there is none
void check_status(int status, const char* what);

// The type of elements, as cuDNN counts them; -1 for those that it does not compute with.
int type_of(DType dtype);

// Types of attributes, as far as they are used.
enum AttributeType : int {
  kHandle = 0,
  kDataType = 1,
  kBoolean = 2,
  kInt64 = 3,
  kFloat = 4,
  kDouble = 5,
  kPointer = 6,
  kConvolutionMode = 7,
  kHeuristicMode = 8,
  kNumericalNote = 11,
  kPointwiseMode = 14,
  kDescriptor = 15,
  kReductionOperator = 18,
};

// An object of the graph interface.
class Descriptor {
 public:
  explicit Descriptor(int type);
  ~Descriptor();
  Descriptor(Descriptor&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  Descriptor& operator=(Descriptor&&) = delete;

  void set_raw(int attribute, AttributeType type, int64_t n, const void* values);
  template <class T>
  void set(int attribute, AttributeType type, T value) {
    set_raw(attribute, type, 1, &value);
  }
  void set(int attribute, const std::vector<int64_t>& values) {
    set_raw(attribute, kInt64, static_cast<int64_t>(values.size()), values.data());
  }
  void set(int attribute, const Descriptor& other) { set(attribute, kDescriptor, other.handle_); }
  // The number of values that there are; at most n are written.
  int64_t get(int attribute, AttributeType type, int64_t n, void* values) const;
  void finalize();
  bool try_finalize();  // false where the library says no
  void* handle() const { return handle_; }

 private:
  void* handle_ = nullptr;
};

// A tensor of a graph. Numbers from the host, which are passed with every execution, are by value.
struct TensorSpec {
  int64_t id;
  int type;
  std::vector<int64_t> sizes, strides;
  int64_t alignment = 16;
  bool is_virtual = false;  // never written to memory
  bool is_by_value = false;
};
Descriptor tensor(const TensorSpec& spec);

// What a graph is computed with. Its descriptors live as long as it does.
struct Plan {
  std::vector<Descriptor> kept;
  std::unique_ptr<Descriptor> plan;
  int64_t workspace_bytes = 0;
};
// By id of the graph's tensors.
struct Binding {
  int64_t id;
  void* data;
};

// The plan that cuDNN prefers for the operations, which it keeps; null where it has none that fits
// the settings. `is_float32`: whether tensors are float32, whose precision allow_tf32 is about.
// `bindings` are executed with where plans are measured.
std::unique_ptr<Plan> find_plan(int index, std::vector<Descriptor> kept,
                                const std::vector<void*>& operations, bool is_float32,
                                const std::vector<Binding>& bindings);
void execute(const Plan& plan, int index, const std::vector<Binding>& bindings);

}  // namespace facula::cuda::cudnn
