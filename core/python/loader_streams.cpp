// The random streams of a loader: for each batch they start from its seed, then go on as before.
#include <cstring>
#include <vector>

#include "bind/bind.h"
#include "random/local_generator.h"

namespace facula {

namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;

uint64_t splitmix64(uint64_t x) {  // Steele, Lea and Flood (2014)
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t mix_seeds(uint64_t seed, uint64_t n) {
  return splitmix64(splitmix64(seed + kGolden) + (n + 1) * kGolden);
}

// A Mersenne Twister that Python or NumPy keeps in plain memory: its words, its position, and the
// second number of a normal pair, which is in memory too or the attribute gauss_next of its owner.
// NumPy draws whole arrays without the GIL: its lock is held while its memory is written.
class Twister {
 public:
  Twister(nb::object owner, nb::object lock, uintptr_t words, uintptr_t position, uintptr_t pair)
      : owner_(std::move(owner)),
        lock_(std::move(lock)),
        words_(reinterpret_cast<char*>(words)),
        position_(reinterpret_cast<char*>(position)),
        pair_(reinterpret_cast<char*>(pair)) {}

  // Starts from this seed. Starts nest: each is undone by a stop.
  void start(uint64_t seed) {
    Held held(lock_);
    State& kept = kept_.emplace_back();
    std::memcpy(kept.words, words_, sizeof kept.words);
    std::memcpy(kept.position, position_, sizeof kept.position);
    if (pair_)
      std::memcpy(kept.pair, pair_, sizeof kept.pair);
    else
      kept.second = owner_.attr("gauss_next");

    char* out = words_;
    for (char* end = out + sizeof kept.words; out != end; out += 8) {
      // One product of 128 bits makes two words; splitmix64 would take three times as long.
      seed += kGolden;
      auto product = static_cast<unsigned __int128>(seed) * (seed ^ 0xbf58476d1ce4e5b9u);
      uint64_t two_words = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
      std::memcpy(out, &two_words, 8);
    }
    std::memcpy(position_, &kUsedUp, sizeof kUsedUp);
    if (pair_)
      std::memset(pair_, 0, sizeof kept.pair);
    else
      owner_.attr("gauss_next") = nb::none();
  }

  // Goes on as if the last start had not been, nor anything drawn since.
  void stop() {
    check_index(!kept_.empty(), "_Twister.stop: it was not started.");
    Held held(lock_);
    State kept = std::move(kept_.back());
    kept_.pop_back();
    std::memcpy(words_, kept.words, sizeof kept.words);
    std::memcpy(position_, kept.position, sizeof kept.position);
    if (pair_)
      std::memcpy(pair_, kept.pair, sizeof kept.pair);
    else
      owner_.attr("gauss_next") = kept.second;
  }

  // Something that is different after anybody has drawn, be it only the second of a pair.
  uint64_t mark() const {
    uint32_t first, position;
    std::memcpy(&first, words_, 4);
    std::memcpy(&position, position_, 4);
    return uint64_t{has_second()} << 63 | uint64_t{position} << 32 | first;
  }

 private:
  struct Held {
    explicit Held(nb::handle lock) : lock(lock) {
      if (!lock.is_none()) lock.attr("acquire")();
    }
    ~Held() {
      if (!lock.is_none()) lock.attr("release")();
    }
    nb::handle lock;
  };

  bool has_second() const {
    if (!pair_) return !owner_.attr("gauss_next").is_none();
    int64_t flag;
    std::memcpy(&flag, pair_, sizeof flag);
    return flag != 0;
  }

  static constexpr int32_t kUsedUp = 624;  // the position behind the last word
  struct State {
    char words[4 * kUsedUp], position[4], pair[16];
    nb::object second;
  };
  nb::object owner_;  // whose memory it is
  nb::object lock_;   // or None
  char *words_, *position_, *pair_;
  std::vector<State> kept_;
};

}  // namespace

FACULA_BINDINGS {
  m.def("_push_generator", &push_local_generator, "seed"_a,
        "Until _pop_generator(), the default generator of this thread is another, of this seed.");
  m.def("_pop_generator", &pop_local_generator, "Ends what _push_generator(seed) began.");
  m.def("_mix_seeds", &mix_seeds, "seed"_a, "n"_a,
        "A seed for the n-th of the streams that belong to a seed.");
  nb::class_<Twister>(m, "_Twister", "A Mersenne Twister that lies in the memory of its owner.")
      .def(nb::init<nb::object, nb::object, uintptr_t, uintptr_t, uintptr_t>(), "owner"_a,
           "lock"_a.none(), "words"_a, "position"_a, "pair"_a)
      .def("start", &Twister::start, "seed"_a, "Starts from a seed, until stop().")
      .def("stop", &Twister::stop, "Goes on as before start().")
      .def("mark", &Twister::mark, "A number that is another after anybody has drawn.");
}

}  // namespace facula
