#include "cpu/fft/plan.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <mutex>
#include <utility>

#include "cpu/fft/fft.h"

namespace facula::cpu {

namespace {

constexpr int64_t kMaxDirect = 1 << 14;  // points; more are worth two threads
// Of plans that are kept.
constexpr int64_t kMaxBytes = 64 << 20;
constexpr size_t kMaxPlans = 256;

struct Root {
  double cos, sin;
};

// The root e^(2 pi i k / n), from an angle of at most an eighth of a circle: rounded once.
Root root(int64_t k, int64_t n) {
  k %= n;
  // Eighths of the circle, and the rest, in units of 1 / 8n.
  int64_t eighth = 8 * k / n, rest = 8 * k % n;
  if (eighth % 2) rest = n - rest;
  long double angle = 3.141592653589793238462643383279502884L / 4 * static_cast<long double>(rest) /
                      static_cast<long double>(n);
  auto c = static_cast<double>(std::cos(angle)), s = static_cast<double>(std::sin(angle));
  switch (eighth) {
    case 0:
      return {c, s};
    case 1:
      return {s, c};
    case 2:
      return {-s, c};
    case 3:
      return {-c, s};
    case 4:
      return {-c, -s};
    case 5:
      return {-s, -c};
    case 6:
      return {s, -c};
    default:
      return {c, -s};
  }
}

// The radices whose product is n; empty if a factor is too large.
std::vector<int64_t> radices_of(int64_t n) {
  std::vector<int64_t> odd, all;
  int n_twos = 0;
  while (n % 2 == 0) n /= 2, ++n_twos;
  for (int64_t p = 3; p <= kMaxOddRadix && n > 1; p += 2)
    while (n % p == 0) n /= p, odd.push_back(p);
  if (n > 1) return {};
  if (n_twos == 1) all.push_back(2), n_twos = 0;
  while (n_twos % 3) all.push_back(4), n_twos -= 2;
  all.insert(all.end(), static_cast<size_t>(n_twos / 3), 8);
  all.insert(all.end(), odd.begin(), odd.end());
  // A single line has as many neighbours in each pass as the radices after it multiply to.
  std::sort(all.begin(), all.end());
  return all;
}

bool has_large_prime(int64_t n) { return n > 1 && radices_of(n).empty(); }

// The turns of a pass: for each block of `lanes` k's and each j its cosines, then its sines.
template <class T>
std::vector<T> turns_of(int64_t radix, int64_t n_done, int64_t lanes) {
  std::vector<T> turns;
  for (int64_t block = 0; block < n_done; block += lanes)
    for (int64_t j = 1; j < radix; ++j) {
      std::vector<Root> roots;
      for (int64_t k = block; k < block + lanes; ++k) roots.push_back(root(j * k, n_done * radix));
      for (const Root& r : roots) turns.push_back(static_cast<T>(r.cos));
      for (const Root& r : roots) turns.push_back(static_cast<T>(-r.sin));
    }
  return turns;
}

template <class T>
void plan_passes(FftPlan<T>& plan, int64_t n_lanes) {
  // Short lines seldom come alone.
  plan.ends_with_lanes = plan.n % n_lanes == 0 && plan.n > 4 * n_lanes;
  std::vector<int64_t> radices = radices_of(plan.ends_with_lanes ? plan.n / n_lanes : plan.n);
  if (plan.ends_with_lanes) radices.push_back(n_lanes);
  plan.tables.reserve(2 * radices.size());
  int64_t n_done = 1;
  for (size_t i = 0; i < radices.size(); ++i) {
    int64_t radix = radices[i];
    FftPass<T> pass{radix, n_done, nullptr, i + 1 == radices.size() ? n_lanes : 1, nullptr};
    if (n_done > 1) {
      plan.tables.push_back(turns_of<T>(radix, n_done, pass.block_lanes));
      pass.turns = plan.tables.back().data();
    }
    if (radix % 2) {
      std::vector<T> roots;
      for (int64_t k = 0; k < radix; ++k) {
        Root r = root(k, radix);
        roots.push_back(static_cast<T>(r.cos));
        roots.push_back(static_cast<T>(r.sin));
      }
      plan.tables.push_back(std::move(roots));
      pass.roots = plan.tables.back().data();
    }
    plan.passes.push_back(pass);
    n_done *= radix;
  }
}

int64_t divisor_below_root(int64_t n) {
  auto d = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % d) --d;
  return d;
}

template <class T>
void plan_four_steps(FftPlan<T>& plan, int64_t n_lanes) {
  int64_t n = plan.n, n_rows = divisor_below_root(n);
  plan.way = FftWay::FourSteps;
  plan.columns = fft_plan<T>(n_rows, n_lanes);
  plan.rows = fft_plan<T>(n / n_rows, n_lanes);
  for (int64_t k = 0; k < n_rows; ++k) {
    for (int64_t j = 0; j < n_lanes; ++j) plan.lanes.push_back(static_cast<T>(root(j * k, n).cos));
    for (int64_t j = 0; j < n_lanes; ++j) plan.lanes.push_back(static_cast<T>(-root(j * k, n).sin));
  }
  constexpr int64_t n_fine = 1 << kFineBits;
  for (int64_t k = 0; k < n_fine; ++k) {
    Root r = root(k, n);
    plan.fine.insert(plan.fine.end(), {r.cos, -r.sin});
  }
  for (int64_t k = 0; k < n; k += n_fine) {
    Root r = root(k, n);
    plan.coarse.insert(plan.coarse.end(), {r.cos, -r.sin});
  }
}

// The shortest length that holds the convolution, of those that are transformed fast.
int64_t convolution_length(int64_t n) {
  int64_t power = 64;
  while (power < 2 * n - 1) power *= 2;
  for (int64_t length : {power / 8 * 5, power / 4 * 3})
    if (length >= 2 * n - 1) return length;
  return power;
}

template <class T>
void plan_bluestein(FftPlan<T>& plan) {
  int64_t n = plan.n, m = convolution_length(n);
  plan.way = FftWay::Bluestein;
  plan.chirp.resize(static_cast<size_t>(2 * n));
  plan.spectrum.assign(static_cast<size_t>(2 * m), 0);
  int64_t square = 0;  // k^2 modulo 2n, as k^2 itself has too many digits
  for (int64_t k = 0; k < n; ++k) {
    Root r = root(square, 2 * n);
    plan.chirp[2 * k] = r.cos;
    plan.chirp[2 * k + 1] = -r.sin;
    for (int64_t at : {k, (m - k) % m}) {
      plan.spectrum[2 * at] = r.cos / static_cast<double>(m);
      plan.spectrum[2 * at + 1] = r.sin / static_cast<double>(m);
    }
    square = (square + 2 * k + 1) % (2 * n);
  }
  plan.convolution = fft_plan<double>(m, get_fft_table().n_lanes_float64);
  FftJob<double> job;
  job.n = job.n_out = m;
  job.source = job.result = plan.spectrum.data();
  job.source_step = job.result_step = 2;
  run_fft(job);
}

template <class T>
int64_t nbytes_of(const FftPlan<T>& plan) {
  size_t numel = plan.lanes.size();
  for (const auto& table : plan.tables) numel += table.size();
  size_t wide = plan.fine.size() + plan.coarse.size() + plan.chirp.size() + plan.spectrum.size();
  return static_cast<int64_t>(sizeof(plan) + numel * sizeof(T) + wide * sizeof(double));
}

// What was used last comes first.
template <class Value>
class Cache {
 public:
  template <class Make>
  std::shared_ptr<const Value> get(int64_t n, Make make) {
    if (auto found = find(n)) return found;
    std::shared_ptr<const Value> made = make();  // without the lock: it may ask for another plan
    std::lock_guard<std::mutex> lock(mutex_);
    items_.emplace_front(n, made);
    nbytes_ += made->nbytes;
    while (items_.size() > 1 && (nbytes_ > kMaxBytes || items_.size() > kMaxPlans)) {
      nbytes_ -= items_.back().second->nbytes;
      items_.pop_back();
    }
    return made;
  }

 private:
  std::shared_ptr<const Value> find(int64_t n) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = items_.begin(); it != items_.end(); ++it) {
      if (it->first != n) continue;
      items_.splice(items_.begin(), items_, it);
      return it->second;
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::list<std::pair<int64_t, std::shared_ptr<const Value>>> items_;
  int64_t nbytes_ = 0;
};

}  // namespace

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n, int64_t n_lanes) {
  // Never destroyed: a thread may still compute when the process ends.
  static auto& cache = *new Cache<FftPlan<T>>;
  return cache.get(n, [&] {
    auto plan = std::make_shared<FftPlan<T>>();
    plan->n = n;
    if (has_large_prime(n)) {
      plan_bluestein(*plan);
    } else if (n > kMaxDirect) {
      plan_four_steps(*plan, n_lanes);
    } else {
      plan_passes(*plan, n_lanes);
    }
    plan->nbytes = nbytes_of(*plan);
    return plan;
  });
}

template <class T>
std::shared_ptr<const RealTurns<T>> real_turns(int64_t n) {
  static auto& cache = *new Cache<RealTurns<T>>;
  return cache.get(n, [&] {
    auto turns = std::make_shared<RealTurns<T>>();
    constexpr int64_t n_fine = 1 << kFineBits;
    for (int64_t k = 0; k < n_fine; ++k) {
      turns->fine_cos.push_back(static_cast<T>(root(k, n).cos));
      turns->fine_sin.push_back(static_cast<T>(root(k, n).sin));
    }
    for (int64_t k = 0; k <= n / 2; k += n_fine) {
      turns->coarse.push_back(static_cast<T>(root(k, n).cos));
      turns->coarse.push_back(static_cast<T>(root(k, n).sin));
    }
    turns->nbytes = static_cast<int64_t>((2 * n_fine + turns->coarse.size()) * sizeof(T));
    return turns;
  });
}

namespace {

template <class T>
void run_with_plan(FftJob<T>& job, void (*run)(const FftJob<T>&), int64_t n_lanes) {
  for (int64_t size : job.sizes)
    if (size == 0) return;
  bool is_halved = job.form == FftForm::RealEven || job.form == FftForm::HalfEven;
  auto plan = fft_plan<T>(is_halved ? job.n / 2 : job.n, n_lanes);
  auto turns = is_halved ? real_turns<T>(job.n) : nullptr;
  job.plan = plan.get();
  job.turns = turns.get();
  run(job);
}

}  // namespace

void run_fft(FftJob<float> job) {
  run_with_plan(job, get_fft_table().float32, get_fft_table().n_lanes_float32);
}
void run_fft(FftJob<double> job) {
  run_with_plan(job, get_fft_table().float64, get_fft_table().n_lanes_float64);
}

template std::shared_ptr<const FftPlan<float>> fft_plan<float>(int64_t, int64_t);
template std::shared_ptr<const FftPlan<double>> fft_plan<double>(int64_t, int64_t);
template std::shared_ptr<const RealTurns<float>> real_turns<float>(int64_t);
template std::shared_ptr<const RealTurns<double>> real_turns<double>(int64_t);

}  // namespace facula::cpu
