// The source of random bits. An Mt19937 generator gives PyTorch's CPU numbers; a Philox one gives
// numbers that depend on (seed, call, element) alone and are the same on every device.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/device.h"

namespace facula {

enum class GeneratorKind { Mt19937, Philox };

// Mersenne Twister with the one-word seeding of Matsumoto and Nishimura (2002), of which PyTorch
// keeps the low 32 bits.
class Mt19937 {
 public:
  static constexpr int kStateSize = 624;

  void seed(uint64_t value);
  uint32_t next() {
    if (n_left_ == 1) refill();
    --n_left_;
    return temper(state_[position_++]);
  }
  // The next n words at once, which lets the compiler temper several in one instruction.
  void next_block(uint32_t* out, int64_t n);

 private:
  friend class Generator;  // reads and writes the fields as PyTorch stores them
  static uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  void refill();

  // PyTorch's two counters: n_left_ is one more than the number of words that remain, and is 1
  // after seeding.
  int32_t n_left_ = 1;
  uint32_t position_ = 0;
  std::array<uint32_t, kStateSize> state_{};
};

class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  static constexpr int64_t kMt19937StateBytes = 5056;
  static constexpr int64_t kPhiloxStateBytes = 16;

  // `device` is whose tensors it is meant for; its numbers depend on the kind alone.
  explicit Generator(GeneratorKind kind = GeneratorKind::Mt19937, uint64_t seed = kDefaultSeed,
                     Device device = {});
  ~Generator();

  GeneratorKind kind() const { return kind_; }
  Device device() const { return device_; }
  void manual_seed(uint64_t seed);
  uint64_t seed();  // seeds from the system's entropy and returns the seed
  uint64_t initial_seed() const;

  // Mt19937: the bytes of PyTorch's get_state(), so states can be exchanged. Philox: seed and call,
  // 8 bytes each.
  std::vector<uint8_t> get_state() const;
  void set_state(const uint8_t* bytes, int64_t nbytes);

  // Everything below is for the sampling functions, which hold mutex() for as long as one call
  // fills one tensor.
  std::mutex& mutex() const { return mutex_; }

  Mt19937& engine() { return engine_; }
  uint32_t random() { return engine_.next(); }
  uint64_t random64() {
    uint64_t high = engine_.next();
    return high << 32 | engine_.next();
  }
  // The sine half of a Box-Muller pair whose cosine half was handed out. PyTorch's CPU samplers
  // draw scalar normals in double only; the float one is kept because it is part of the state.
  std::optional<double> next_double_normal;
  std::optional<float> next_float_normal;

  // Philox: the number of this call, which every element's counter includes.
  uint64_t next_call() { return n_calls_++; }
  uint64_t philox_seed() const { return seed_; }

 private:
  void reseed(uint64_t seed);
  std::vector<uint8_t> mt19937_state() const;
  void set_mt19937_state(const uint8_t* bytes);

  GeneratorKind kind_;
  Device device_;
  uint64_t seed_ = 0;
  uint64_t n_calls_ = 0;
  Mt19937 engine_;
  mutable std::mutex mutex_;
};

// The generator that is used where none is given; seeded from the system's entropy at its first
// use.
const std::shared_ptr<Generator>& default_generator();
// That for tensors of this device: a GPU has a Philox generator of its own. Guarded by the
// interpreter lock.
const std::shared_ptr<Generator>& default_generator(Device device);
// Starts the sequence of a seed on all GPUs, also on those whose generator is not yet used.
void seed_all_gpus(uint64_t seed);
// The one of threads that have none of their own.
const std::shared_ptr<Generator>& process_generator();

}  // namespace facula
