#include "random/generator.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "base/allocator.h"
#include "base/error.h"
#include "random/local_generator.h"

namespace facula {

namespace {

constexpr int kShift = 397;  // distance between the words that the recurrence combines

uint32_t twist(uint32_t upper, uint32_t lower, uint32_t far) {
  uint32_t mixed = (upper & 0x80000000u) | (lower & 0x7fffffffu);
  return far ^ (mixed >> 1) ^ ((lower & 1) * 0x9908b0dfu);
}

// The layout of PyTorch's CPU state. Every word of the twister takes 8 bytes there, a remnant of
// Torch 7, whose Box-Muller fields (x, rho) are always zero now.
struct StateLayout {
  uint64_t seed;
  int32_t n_left;
  int32_t is_seeded;
  uint64_t position;
  uint64_t words[Mt19937::kStateSize];
  double normal_x;
  double normal_y;
  double normal_rho;
  int32_t normal_is_valid;
  int32_t padding;
  float float_normal;
  uint8_t float_normal_is_valid;
  uint8_t tail[3];
};
static_assert(sizeof(StateLayout) == Generator::kMt19937StateBytes);

uint64_t system_entropy() {
  std::random_device device;
  uint64_t high = device();
  // 53 bits, as PyTorch's: the seed survives a trip through a double.
  return (high << 32 | device()) & 0x1FFFFFFFFFFFFF;
}

// A child must not inherit a generator that another thread of its parent has locked. fork() waits
// for such a thread, which needs nothing that the forking thread may hold.
struct LiveGenerators {
  std::mutex mutex;
  std::set<Generator*> all;

  LiveGenerators() {
    // Handlers run the last first. The allocator's lock must be taken after those of generators,
    // as by a thread that draws numbers.
    cpu_allocator();
    int error = pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
    check(error == 0, "Generator: the system refused a handler for fork().");
  }
  static LiveGenerators& get() {
    static LiveGenerators& generators = *new LiveGenerators;  // never destroyed: threads end late
    return generators;
  }
  static void lock_for_fork() {
    get().mutex.lock();
    for (Generator* generator : get().all) generator->mutex().lock();
  }
  static void unlock_after_fork() {
    for (Generator* generator : get().all) generator->mutex().unlock();
    get().mutex.unlock();
  }
};

// Seeding takes a microsecond, and a loader pushes one for every batch: it waits for a draw.
struct LocalGenerator {
  std::shared_ptr<Generator> generator = std::make_shared<Generator>();
  uint64_t seed = 0;
  bool is_seeded = false;
};

thread_local std::vector<LocalGenerator> local_generators;  // kept after a pop, for the next push
thread_local size_t n_local_generators = 0;

const std::shared_ptr<Generator>& local_generator() {
  LocalGenerator& local = local_generators[n_local_generators - 1];
  if (!local.is_seeded) local.generator->manual_seed(local.seed);
  local.is_seeded = true;
  return local.generator;
}

}  // namespace

void Mt19937::seed(uint64_t value) {
  state_[0] = static_cast<uint32_t>(value);
  for (uint32_t i = 1; i < kStateSize; ++i) {
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  }
  n_left_ = 1;
  position_ = 0;
}

void Mt19937::refill() {
  uint32_t* s = state_.data();
  for (int i = 0; i < kStateSize - kShift; ++i) s[i] = twist(s[i], s[i + 1], s[i + kShift]);
  for (int i = kStateSize - kShift; i < kStateSize - 1; ++i) {
    s[i] = twist(s[i], s[i + 1], s[i + kShift - kStateSize]);
  }
  s[kStateSize - 1] = twist(s[kStateSize - 1], s[0], s[kShift - 1]);
  n_left_ = kStateSize + 1;
  position_ = 0;
}

void Mt19937::next_block(uint32_t* out, int64_t n) {
  while (n > 0) {
    if (n_left_ == 1) refill();
    int64_t n_now = std::min<int64_t>(n, n_left_ - 1);
    const uint32_t* words = state_.data() + position_;
    for (int64_t i = 0; i < n_now; ++i) out[i] = temper(words[i]);
    n_left_ -= static_cast<int32_t>(n_now);
    position_ += static_cast<uint32_t>(n_now);
    out += n_now;
    n -= n_now;
  }
}

Generator::Generator(GeneratorKind kind, uint64_t seed, Device device)
    : kind_(kind), device_(device) {
  reseed(seed);
  std::lock_guard<std::mutex> lock(LiveGenerators::get().mutex);
  LiveGenerators::get().all.insert(this);
}

Generator::~Generator() {
  std::lock_guard<std::mutex> lock(LiveGenerators::get().mutex);
  LiveGenerators::get().all.erase(this);
}

void Generator::reseed(uint64_t seed) {
  seed_ = seed;
  n_calls_ = 0;
  next_double_normal.reset();
  next_float_normal.reset();
  engine_.seed(seed);
}

void Generator::manual_seed(uint64_t seed) {
  std::lock_guard<std::mutex> lock(mutex_);
  reseed(seed);
}

uint64_t Generator::seed() {
  uint64_t seed = system_entropy();
  manual_seed(seed);
  return seed;
}

uint64_t Generator::initial_seed() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return seed_;
}

std::vector<uint8_t> Generator::get_state() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (kind_ == GeneratorKind::Mt19937) return mt19937_state();
  std::vector<uint8_t> bytes(kPhiloxStateBytes);
  std::memcpy(bytes.data(), &seed_, 8);
  std::memcpy(bytes.data() + 8, &n_calls_, 8);
  return bytes;
}

std::vector<uint8_t> Generator::mt19937_state() const {
  StateLayout layout{};
  layout.seed = seed_;
  layout.n_left = engine_.n_left_;
  layout.is_seeded = 1;
  layout.position = engine_.position_;
  std::copy(engine_.state_.begin(), engine_.state_.end(), layout.words);
  layout.normal_y = next_double_normal.value_or(0.0);
  layout.normal_is_valid = next_double_normal.has_value();
  layout.float_normal = next_float_normal.value_or(0.0f);
  layout.float_normal_is_valid = next_float_normal.has_value();
  std::vector<uint8_t> bytes(sizeof(layout));
  std::memcpy(bytes.data(), &layout, sizeof(layout));
  return bytes;
}

void Generator::set_state(const uint8_t* bytes, int64_t nbytes) {
  int64_t expected = kind_ == GeneratorKind::Mt19937 ? kMt19937StateBytes : kPhiloxStateBytes;
  check(nbytes == expected, "set_state: expected a state of ", expected,
        " bytes, as get_state() returns, got ", nbytes, " bytes.");
  std::lock_guard<std::mutex> lock(mutex_);
  if (kind_ == GeneratorKind::Mt19937) return set_mt19937_state(bytes);
  std::memcpy(&seed_, bytes, 8);
  std::memcpy(&n_calls_, bytes + 8, 8);
}

void Generator::set_mt19937_state(const uint8_t* bytes) {
  StateLayout layout;
  std::memcpy(&layout, bytes, sizeof(layout));
  // The counters index the state words, so a state that breaks their ranges must not get in.
  // Between calls the two add up to one more than the size, except just after seeding.
  bool is_valid =
      layout.is_seeded && layout.n_left > 0 && layout.n_left <= Mt19937::kStateSize &&
      layout.position <= Mt19937::kStateSize &&
      (layout.n_left == 1 || layout.n_left - 1 + layout.position <= Mt19937::kStateSize);
  check(is_valid, "set_state: the bytes are not the state of an mt19937 generator (", layout.n_left,
        " words left, position ", layout.position, ").");
  seed_ = layout.seed;
  engine_.n_left_ = layout.n_left;
  engine_.position_ = static_cast<uint32_t>(layout.position);
  for (int i = 0; i < Mt19937::kStateSize; ++i)
    engine_.state_[i] = static_cast<uint32_t>(layout.words[i]);
  next_double_normal.reset();
  next_float_normal.reset();
  if (layout.normal_is_valid) next_double_normal = layout.normal_y;
  if (layout.float_normal_is_valid) next_float_normal = layout.float_normal;
}

void push_local_generator(uint64_t seed) {
  if (n_local_generators == local_generators.size()) local_generators.emplace_back();
  LocalGenerator& local = local_generators[n_local_generators++];
  local.seed = seed;
  local.is_seeded = false;
}

void pop_local_generator() {
  check(n_local_generators > 0, "_pop_generator: no generator of this thread is pushed.");
  --n_local_generators;
}

const std::shared_ptr<Generator>& process_generator() {
  static const std::shared_ptr<Generator> generator =
      std::make_shared<Generator>(GeneratorKind::Mt19937, system_entropy());
  return generator;
}

const std::shared_ptr<Generator>& default_generator() {
  return n_local_generators > 0 ? local_generator() : process_generator();
}

namespace {

struct GpuGenerators {
  std::optional<uint64_t> seed;  // what seed_all_gpus() said
  std::map<int, std::shared_ptr<Generator>> by_index;
};
GpuGenerators& gpu_generators() {
  static auto* generators = new GpuGenerators;  // tensors may outlive the statics of this file
  return *generators;
}

}  // namespace

const std::shared_ptr<Generator>& default_generator(Device device) {
  // Nothing is drawn on meta.
  if (device.is_cpu() || device.is_meta()) return default_generator();
  GpuGenerators& all = gpu_generators();
  std::shared_ptr<Generator>& generator = all.by_index[device.index];
  if (!generator)
    generator = std::make_shared<Generator>(GeneratorKind::Philox,
                                            all.seed ? *all.seed : system_entropy(), device);
  return generator;
}

void seed_all_gpus(uint64_t seed) {
  gpu_generators().seed = seed;
  for (auto& [index, generator] : gpu_generators().by_index) generator->manual_seed(seed);
}

}  // namespace facula
