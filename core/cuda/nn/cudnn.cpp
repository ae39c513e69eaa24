#include "cuda/nn/cudnn.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "cuda/allocator.h"
#include "cuda/device.h"
#include "cuda/library.h"

namespace facula::cuda::cudnn {

namespace {

// Numbers of cuDNN's enumerations: kinds of descriptors and attributes.
constexpr int kEngine = 2, kEngineConfig = 3, kHeuristic = 4, kExecutionPlan = 5,
              kOperationGraph = 15, kVariantPack = 16, kTensor = 17;
constexpr int kHeuristicModeOf = 200, kHeuristicGraph = 201, kHeuristicResults = 202;
constexpr int kConfigEngine = 300;
constexpr int kPlanHandle = 400, kPlanConfig = 401, kPlanWorkspace = 402;
constexpr int kGraphHandle = 800, kGraphOperations = 801;
constexpr int kTensorAlignment = 900, kTensorType = 901, kTensorSizes = 902, kTensorStrides = 903,
              kTensorId = 906, kTensorIsVirtual = 907, kTensorIsByValue = 908;
constexpr int kPackIds = 1000, kPackPointers = 1001, kPackWorkspace = 1003;
constexpr int kEngineNotes = 1303;
// Heuristics by decision trees, and engines that serve where nothing better does.
constexpr int kModeA = 3, kModeFallback = 2;
constexpr int kNoteTensorCore = 0, kNoteDownConverts = 1, kNoteNondeterministic = 4;
constexpr int kMaxNotes = 16, kMaxConfigs = 64;
// Plans that are measured, and how often each.
constexpr int kMostMeasured = 10, kRounds = 3;

struct Functions {
  size_t (*version)();
  const char* (*error_string)(int status);
  int (*create)(void** handle);
  int (*set_stream)(void* handle, void* stream);
  int (*descriptor_create)(int type, void** descriptor);
  int (*descriptor_destroy)(void* descriptor);
  int (*set_attribute)(void* descriptor, int attribute, int type, int64_t n, const void* values);
  int (*get_attribute)(void* descriptor, int attribute, int type, int64_t n, int64_t* n_found,
                       void* values);
  int (*finalize)(void* descriptor);
  int (*execute)(void* handle, void* plan, void* pack);
};

struct Loaded {
  Library library;
  Functions functions{};
  std::string problem;
};

Loaded load() {
  Loaded loaded;
  loaded.library = Library::open_nvidia("libcudnn", {"9"});
  const Library& library = loaded.library;
  if (!library.is_open()) {
    loaded.problem = "cuDNN was not found (" + library.reason() +
                     "). Install it with: pip install nvidia-cudnn-cu13";
    return loaded;
  }
  try {
    Functions& f = loaded.functions;
    library.load(f.version, "cudnnGetVersion");
    library.load(f.error_string, "cudnnGetErrorString");
    library.load(f.create, "cudnnCreate");
    library.load(f.set_stream, "cudnnSetStream");
    library.load(f.descriptor_create, "cudnnBackendCreateDescriptor");
    library.load(f.descriptor_destroy, "cudnnBackendDestroyDescriptor");
    library.load(f.set_attribute, "cudnnBackendSetAttribute");
    library.load(f.get_attribute, "cudnnBackendGetAttribute");
    library.load(f.finalize, "cudnnBackendFinalize");
    library.load(f.execute, "cudnnBackendExecute");
  } catch (const Error& error) {
    loaded.problem = error.what();
  }
  return loaded;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

const Functions& functions() {
  check(loaded().problem.empty(), "cuda: ", loaded().problem, ".");
  return loaded().functions;
}

// Whether the settings allow the engine of a configuration.
bool is_allowed(const Descriptor& config, bool is_float32, bool allows_nondeterministic) {
  Descriptor engine(kEngine);
  void* handle = engine.handle();
  config.get(kConfigEngine, kDescriptor, 1, &handle);
  int notes[kMaxNotes];
  int64_t n = engine.get(kEngineNotes, kNumericalNote, kMaxNotes, notes);
  for (int64_t i = 0; i < std::min<int64_t>(n, kMaxNotes); ++i) {
    if (notes[i] == kNoteNondeterministic && !allows_nondeterministic) return false;
    if (!is_float32) continue;
    if (notes[i] == kNoteDownConverts) return false;
    if (notes[i] == kNoteTensorCore && !settings().allow_tf32) return false;
  }
  return true;
}

// The configurations that cuDNN proposes for a graph, the best first.
std::vector<Descriptor> configs_of(const Descriptor& graph, int mode) {
  Descriptor heuristic(kHeuristic);
  heuristic.set(kHeuristicGraph, graph);
  heuristic.set(kHeuristicModeOf, kHeuristicMode, mode);
  if (!heuristic.try_finalize()) return {};
  int64_t n = heuristic.get(kHeuristicResults, kDescriptor, 0, nullptr);
  std::vector<Descriptor> configs;
  std::vector<void*> handles;
  for (int64_t i = 0; i < std::min<int64_t>(n, kMaxConfigs); ++i) {
    configs.emplace_back(kEngineConfig);
    handles.push_back(configs.back().handle());
  }
  if (configs.empty()) return configs;
  n = heuristic.get(kHeuristicResults, kDescriptor, static_cast<int64_t>(handles.size()),
                    handles.data());
  while (static_cast<int64_t>(configs.size()) > n) configs.pop_back();
  return configs;
}

// Null where the configuration turns out not to work.
std::unique_ptr<Plan> plan_of(int index, const Descriptor& config) {
  auto found = std::make_unique<Plan>();
  found->plan = std::make_unique<Descriptor>(kExecutionPlan);
  found->plan->set(kPlanHandle, kHandle, handle_of(index));
  found->plan->set(kPlanConfig, config);
  if (!found->plan->try_finalize()) return nullptr;
  found->plan->get(kPlanWorkspace, kInt64, 1, &found->workspace_bytes);
  return found;
}

// Milliseconds of the best of a few runs; infinite where it fails.
float time_of(const Plan& plan, int index, const std::vector<Binding>& bindings) {
  const Driver& d = driver();
  void *start = nullptr, *end = nullptr, *stream = current_stream(index);
  check_result(d.event_create(&start, 0), "cuEventCreate");
  check_result(d.event_create(&end, 0), "cuEventCreate");
  float best = std::numeric_limits<float>::infinity();
  try {
    execute(plan, index, bindings);
    for (int i = 0; i < kRounds; ++i) {
      check_result(d.event_record(start, stream), "cuEventRecord");
      execute(plan, index, bindings);
      check_result(d.event_record(end, stream), "cuEventRecord");
      check_result(d.event_synchronize(end), "cuEventSynchronize");
      float time = 0;
      check_result(d.event_elapsed(&time, start, end), "cuEventElapsedTime");
      best = std::min(best, time);
    }
  } catch (const Error&) {
    best = std::numeric_limits<float>::infinity();  // no memory for its workspace, say
  }
  d.event_destroy(start);
  d.event_destroy(end);
  return best;
}

}  // namespace

Settings& settings() {
  static Settings all;
  return all;
}

const std::string& problem() { return loaded().problem; }

int64_t version() {
  return problem().empty() ? static_cast<int64_t>(loaded().functions.version()) : 0;
}

bool is_enabled() { return settings().enabled && problem().empty(); }

void* handle_of(int index) {
  struct OnDevice {
    void *handle = nullptr, *stream = nullptr;
  };
  static auto* handles = new std::map<int, OnDevice>;  // guarded by the interpreter lock
  OnDevice& own = (*handles)[index];
  void* stream = current_stream(index);
  enter(index);
  bool is_new = !own.handle;
  if (is_new) check_status(functions().create(&own.handle), "cudnnCreate");
  if (is_new || own.stream != stream)
    check_status(functions().set_stream(own.handle, stream), "cudnnSetStream");
  own.stream = stream;
  return own.handle;
}

void* symbol(const char* name) {
  functions();
  void* found = loaded().library.symbol(name);
  check(found != nullptr, "cuda: cuDNN ", version(), " has no function ", name, ".");
  return found;
}

void check_status(int status, const char* what) {
  check(status == 0, "cuda: ", what, " failed: ", functions().error_string(status), ".");
}

int type_of(DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return 0;
    case DType::Float64:
      return 1;
    case DType::Float16:
      return 2;
    case DType::BFloat16:
      return 9;
    default:
      return -1;
  }
}

Descriptor::Descriptor(int type) {
  check_status(functions().descriptor_create(type, &handle_), "cudnnBackendCreateDescriptor");
}
Descriptor::~Descriptor() {
  if (handle_) functions().descriptor_destroy(handle_);
}
void Descriptor::set_raw(int attribute, AttributeType type, int64_t n, const void* values) {
  int status = functions().set_attribute(handle_, attribute, type, n, values);
  check(status == 0, "cuda: cuDNN refused attribute ", attribute,
        " of a graph: ", functions().error_string(status), ".");
}
int64_t Descriptor::get(int attribute, AttributeType type, int64_t n, void* values) const {
  int64_t n_found = 0;
  check_status(functions().get_attribute(handle_, attribute, type, n, &n_found, values),
               "cudnnBackendGetAttribute");
  return n_found;
}
void Descriptor::finalize() { check_status(functions().finalize(handle_), "cudnnBackendFinalize"); }
bool Descriptor::try_finalize() { return functions().finalize(handle_) == 0; }

Descriptor tensor(const TensorSpec& spec) {
  Descriptor made(kTensor);
  made.set(kTensorType, kDataType, spec.type);
  made.set(kTensorSizes, spec.sizes);
  made.set(kTensorStrides, spec.strides);
  made.set(kTensorId, kInt64, spec.id);
  made.set(kTensorAlignment, kInt64, spec.alignment);
  if (spec.is_virtual) made.set(kTensorIsVirtual, kBoolean, true);
  if (spec.is_by_value) made.set(kTensorIsByValue, kBoolean, true);
  made.finalize();
  return made;
}

std::unique_ptr<Plan> find_plan(int index, std::vector<Descriptor> kept,
                                const std::vector<void*>& operations, bool is_float32,
                                const std::vector<Binding>& bindings) {
  Descriptor graph(kOperationGraph);
  graph.set(kGraphHandle, kHandle, handle_of(index));
  graph.set_raw(kGraphOperations, kDescriptor, static_cast<int64_t>(operations.size()),
                operations.data());
  if (!graph.try_finalize()) return nullptr;
  std::unique_ptr<Plan> best;
  float best_time = 0;
  int n_measured = 0;
  auto keep = [&](std::unique_ptr<Plan> plan, Descriptor& config, float time) {
    plan->kept.push_back(std::move(config));
    best = std::move(plan);
    best_time = time;
  };
  // Engines whose bits differ from run to run serve only where no other does.
  for (bool allows_nondeterministic : {false, true}) {
    if (allows_nondeterministic && settings().deterministic) break;
    for (int mode : {kModeA, kModeFallback}) {
      for (Descriptor& config : configs_of(graph, mode)) {
        if (!is_allowed(config, is_float32, allows_nondeterministic)) continue;
        std::unique_ptr<Plan> plan = plan_of(index, config);
        if (!plan) continue;
        if (!settings().benchmark) {
          keep(std::move(plan), config, 0);
          break;
        }
        float time = time_of(*plan, index, bindings);
        if (time < (best ? best_time : std::numeric_limits<float>::infinity()))
          keep(std::move(plan), config, time);
        if (++n_measured == kMostMeasured) break;
      }
      if (best) break;
    }
    if (best) break;
  }
  if (!best) return nullptr;
  best->kept.push_back(std::move(graph));
  for (Descriptor& descriptor : kept) best->kept.push_back(std::move(descriptor));
  return best;
}

void execute(const Plan& plan, int index, const std::vector<Binding>& bindings) {
  void* handle = handle_of(index);
  void* stream = current_stream(index);
  std::vector<int64_t> ids;
  std::vector<void*> pointers;
  for (const Binding& binding : bindings) {
    ids.push_back(binding.id);
    pointers.push_back(binding.data);
  }
  // Freed at once: what uses the block next comes later on the same stream.
  Allocator& allocator = allocator_of(index);
  void* workspace = allocator.allocate(plan.workspace_bytes, stream);
  int status = 0;
  {
    Descriptor pack(kVariantPack);
    pack.set(kPackIds, ids);
    pack.set_raw(kPackPointers, kPointer, static_cast<int64_t>(pointers.size()), pointers.data());
    pack.set(kPackWorkspace, kPointer, workspace);
    pack.finalize();
    status = functions().execute(handle, plan.plan->handle(), pack.handle());
  }
  allocator.deallocate(workspace, plan.workspace_bytes, stream);
  check_status(status, "cudnnBackendExecute");
  if (is_launch_blocking()) synchronize_stream(index, stream);
}

}  // namespace facula::cuda::cudnn
