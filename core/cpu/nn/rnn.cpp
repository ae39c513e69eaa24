// Note [Recurrent steps]
// A step multiplies the h of the step before by the weights and applies the gates to what comes
// out. The weights are packed once per sequence into panels: a panel holds the columns of the same
// few units in all gates, so that the gates follow while the products are in L1. Sequences of a
// batch never meet. While the weights fit in L2, a thread takes a few
// sequences all the way; larger weights are shared, each thread with some panels, and the threads
// meet after every step. Both ways give the same bits: every product adds its terms in order.
#include "cpu/nn/rnn.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "base/integers.h"
#include "base/parallel.h"
#include "cpu/row.h"
#include "math/activations.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

#if defined(FACULA_AVX512)
constexpr int64_t kRegisters = 32;
#else
constexpr int64_t kRegisters = 16;
#endif
// A panel has two vectors of columns of each gate. Those of a gate are multiplied at once, by as
// many rows as registers hold the sums of: so each number of the weights, which come from L2, is
// loaded once for many rows.
constexpr int64_t kPair = 2;
constexpr int64_t kMaxRows = (kRegisters - kPair - 1) / kPair;
constexpr int64_t kMaxGates = 4;
constexpr int64_t kPrivateBytes = 768 << 10;    // of weights that may fill a thread's L2
constexpr int64_t kMinWork = int64_t{1} << 18;  // multiplications that are worth giving to a thread

struct Range {
  int64_t begin, end;
};
// Part i of n nearly equal ones.
Range part_of(int64_t size, int64_t i, int64_t n) { return {size * i / n, size * (i + 1) / n}; }

template <class T>
struct Strided {
  const T* data;
  int64_t row_stride, col_stride;
};

template <class T>
class Panels {
 public:
  using V = Vec<T>;
  static constexpr int64_t L = V::kLanes;

  // Of a matrix of `depth` rows and n_gates * width columns.
  Panels(int64_t depth, int64_t width, int64_t n_gates, T* memory)
      : depth_(depth),
        width_(width),
        n_gates_(n_gates),
        n_blocks_(ceil_div(width, L)),
        n_panels_(ceil_div(n_blocks_, kPair)),
        memory_(memory) {}

  int64_t size() const { return n_panels_; }
  int64_t depth() const { return depth_; }
  int64_t nbytes() const { return n_blocks_ * n_gates_ * L * depth_ * int64_t{sizeof(T)}; }
  // The columns of panel i within a gate, in vectors of L.
  Range blocks(int64_t i) const { return {i * kPair, std::min((i + 1) * kPair, n_blocks_)}; }
  int64_t n_blocks(int64_t i) const { return blocks(i).end - blocks(i).begin; }
  int64_t tile_step(int64_t i) const { return n_gates_ * n_blocks(i) * L; }
  // Where in a tile the sums of a row and a block are, those of the first gate.
  int64_t place(int64_t i, int64_t row, int64_t block) const {
    return row * tile_step(i) + (block - blocks(i).begin) * L;
  }
  // Columns of a block that exist: the last one may be short.
  int64_t n_lanes(int64_t block) const { return std::min(L, width_ - block * L); }

  void pack(Strided<T> from) {
    parallel_for(n_panels_, ceil_div(1 << 15, nbytes() / n_panels_ + 1),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) pack(from, i);
                 });
  }

  // tile[row][gate][block][lane] = the sums over k of rows[row][k] and the panel's columns.
  void multiply(int64_t i, const T* const* rows, int64_t n_rows, T* tile) const {
    auto multiply = kMultiply[(n_rows - 1) * kPair + n_blocks(i) - 1];
    for (int64_t gate = 0; gate < n_gates_; ++gate)
      multiply(rows, strip(i, gate), depth_, tile + gate * n_blocks(i) * L, tile_step(i));
  }

 private:
  // The columns of a gate in a panel, row by row.
  T* strip(int64_t i, int64_t gate) const {
    return memory_ + (blocks(i).begin * n_gates_ + gate * n_blocks(i)) * L * depth_;
  }

  void pack(Strided<T> from, int64_t i) {
    int64_t step = n_blocks(i) * L;
    for (int64_t gate = 0; gate < n_gates_; ++gate) {
      for (int64_t block = blocks(i).begin; block < blocks(i).end; ++block) {
        const T* first = from.data + (gate * width_ + block * L) * from.col_stride;
        T* to = strip(i, gate) + (block - blocks(i).begin) * L;
        int64_t n = n_lanes(block);
        if (from.col_stride == 1) {
          for (int64_t k = 0; k < depth_; ++k)
            V::load(first + k * from.row_stride, n).store(to + k * step);
          continue;
        }
        for (int64_t lane = 0; lane < L; ++lane) {
          for (int64_t k = 0; k < depth_; ++k)
            to[k * step + lane] = lane < n ? first[lane * from.col_stride + k] : T(0);
        }
      }
    }
  }

  template <int kRows, int kVectors>
  static void multiply_rows(const T* const* rows, const T* strip, int64_t depth, T* tile,
                            int64_t tile_step) {
    constexpr int64_t kAhead = 24;  // steps of k after which a line that is asked for is there
    V sums[kRows][kVectors];
    const T* a[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      a[r] = rows[r];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = V(T(0));
    }
    for (int64_t k = 0; k < depth; ++k) {
      V columns[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        columns[v] = V::load(strip + v * L);
        __builtin_prefetch(strip + (kAhead * kVectors + v) * L);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        V x = V(a[r][k]);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sums[r][v] = fma(x, columns[v], sums[r][v]);
      }
      strip += kVectors * L;
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v].store(tile + r * tile_step + v * L);
    }
  }

  using Multiply = void (*)(const T* const*, const T*, int64_t, T*, int64_t);
  template <int... I>
  static constexpr std::array<Multiply, sizeof...(I)> table(std::integer_sequence<int, I...>) {
    return {multiply_rows<I / kPair + 1, I % kPair + 1>...};
  }
  static constexpr auto kMultiply = table(std::make_integer_sequence<int, kMaxRows * kPair>());

  int64_t depth_, width_, n_gates_, n_blocks_, n_panels_;
  T* memory_;
};

// What both ways of a direction share. Steps are counted in the order in which they are taken.
template <class T>
class Walk {
 public:
  using V = Vec<T>;
  static constexpr int64_t L = V::kLanes;
  static constexpr int64_t kTile = kMaxRows * kMaxGates * kPair * L;

  Walk(const RnnDirection<T>& x, RnnSteps steps) : x_(x), steps_(steps) {}

 protected:
  int64_t time(int64_t step) const { return x_.is_reverse ? steps_.n_steps - 1 - step : step; }
  // Sequences that take this step; none outside of [0, n_steps).
  int64_t batch(int64_t step) const {
    return step < 0 || step >= steps_.n_steps ? 0 : steps_.batch(time(step));
  }
  int64_t row_at(int64_t step, int64_t sequence) const {
    return steps_.first_row[time(step)] + sequence;
  }
  // h and c of a sequence before a step. The ones that have taken a step already come first.
  const T* h_before(int64_t step, int64_t sequence) const {
    return sequence < batch(step - 1) ? x_.y + row_at(step - 1, sequence) * x_.ld_y
                                      : x_.h0 + sequence * x_.state;
  }
  const T* c_before(int64_t step, int64_t sequence) const {
    return sequence < batch(step - 1) ? x_.cells + row_at(step - 1, sequence) * x_.hidden
                                      : x_.c0 + sequence * x_.hidden;
  }

  // f(first, n) for the sequences of the range that take the step, kMaxRows at most at a time.
  template <class F>
  void for_rows(int64_t step, Range range, F f) const {
    int64_t n_rows = std::min(range.end, batch(step)) - range.begin;
    int64_t n_parts = ceil_div(std::max<int64_t>(n_rows, 0), kMaxRows);
    for (int64_t i = 0; i < n_parts; ++i) {
      Range part = part_of(n_rows, i, n_parts);
      f(range.begin + part.begin, part.end - part.begin);
    }
  }

  // Lines of a matrix with a column per gate and unit. Asked for before a multiplication, they are
  // there after it; they lie too far apart for the processor to see them coming.
  void ask_for(const T* matrix, int64_t step, int64_t sequence, Range blocks) const {
    int64_t n = n_gates(x_.mode), row = this->row_at(step, sequence);
    for (int64_t gate = 0; gate < n; ++gate) {
      const T* from = matrix + (row * n + gate) * x_.hidden;
      for (int64_t block = blocks.begin; block < blocks.end; ++block)
        __builtin_prefetch(from + block * L, 1);
    }
  }

  static FACULA_FN V load_or_zero(const T* from, int64_t at, int64_t n) {
    return from ? load_lanes<V>(from + at, n) : V(T(0));
  }

  const RnnDirection<T>& x_;
  RnnSteps steps_;
};

template <class T>
class Forward : Walk<T> {
  using Base = Walk<T>;
  using Base::x_;
  using typename Base::V;
  static constexpr int64_t L = Base::L;

 public:
  Forward(const RnnDirection<T>& x, RnnSteps steps)
      : Base(x, steps),
        gates_(x.state, x.hidden, n_gates(x.mode), x.scratch),
        projection_(x.hidden, x.state, 1, x.scratch + gates_.nbytes() / int64_t{sizeof(T)}),
        unprojected_(x.scratch + (gates_.nbytes() + projection_.nbytes()) / int64_t{sizeof(T)}) {
    if (!x.recurrent) gates_.pack({x.weight_hh, 1, x.state});
    if (x.weight_hr) projection_.pack({x.weight_hr, 1, x.hidden});
  }

  int64_t n_phases() const { return x_.weight_hr ? 2 : 1; }
  int64_t n_panels(int64_t phase) const { return (phase == 0 ? gates_ : projection_).size(); }
  int64_t nbytes() const { return gates_.nbytes() + (x_.weight_hr ? projection_.nbytes() : 0); }

  void run(int64_t step, int64_t phase, Range sequences, int64_t panel) const {
    phase == 0 ? apply_gates(step, sequences, panel) : project(step, sequences, panel);
  }

  // The last h and c of the sequences.
  void finish(Range sequences) const {
    int64_t step = this->steps_.n_steps;
    for (int64_t i = sequences.begin; i < sequences.end; ++i) {
      while (this->batch(step - 1) <= i && !x_.is_reverse) --step;
      std::memcpy(x_.hn + i * x_.state, x_.y + this->row_at(step - 1, i) * x_.ld_y,
                  sizeof(T) * static_cast<size_t>(x_.state));
      if (x_.mode == RnnMode::Lstm)
        std::memcpy(x_.cn + i * x_.hidden, x_.cells + this->row_at(step - 1, i) * x_.hidden,
                    sizeof(T) * static_cast<size_t>(x_.hidden));
    }
  }

 private:
  void apply_gates(int64_t step, Range sequences, int64_t panel) const {
    this->for_rows(step, sequences, [&](int64_t first, int64_t n_rows) {
      alignas(64) T tile[Base::kTile];
      if (!x_.recurrent) {
        const T* rows[kMaxRows];
        for (int64_t r = 0; r < n_rows; ++r) {
          rows[r] = this->h_before(step, first + r);
          this->ask_for(x_.gates, step, first + r, gates_.blocks(panel));
        }
        gates_.multiply(panel, rows, n_rows, tile);
      }
      for (int64_t r = 0; r < n_rows; ++r) {
        Range blocks = gates_.blocks(panel);
        for (int64_t block = blocks.begin; block < blocks.end; ++block) {
          // Without panels the products of the gates lie `hidden` apart.
          const T* sums =
              x_.recurrent ? x_.recurrent + (first + r) * n_gates(x_.mode) * x_.hidden + block * L
                           : tile + gates_.place(panel, r, block);
          int64_t n = gates_.n_lanes(block),
                  gate_step = x_.recurrent ? x_.hidden : gates_.n_blocks(panel) * L;
          // Inlined twice: most vectors are whole, and the first call knows it.
          if (n == L)
            apply_gates_to(step, first + r, block * L, L, sums, gate_step);
          else
            apply_gates_to(step, first + r, block * L, n, sums, gate_step);
        }
      }
    });
  }

  FACULA_FN void apply_gates_to(int64_t step, int64_t sequence, int64_t unit, int64_t n,
                                const T* sums, int64_t gate_step) const {
    int64_t row = this->row_at(step, sequence), hidden = x_.hidden;
    T* gates = x_.gates + row * n_gates(x_.mode) * hidden + unit;
    T* y = (x_.weight_hr ? unprojected_ + sequence * hidden : x_.y + row * x_.ld_y) + unit;
    auto of_h = [&](int64_t gate) { return load_lanes<V>(sums + gate * gate_step, n); };
    auto of_x = [&](int64_t gate) {
      return load_lanes<V>(gates + gate * hidden, n) +
             this->load_or_zero(x_.bias, gate * hidden + unit, n);
    };
    auto keep = [&](int64_t gate, V value) { store_lanes(value, gates + gate * hidden, n); };
    switch (x_.mode) {
      case RnnMode::Tanh:
        return store_lanes(math::tanh(of_x(0) + of_h(0)), y, n);
      case RnnMode::Relu: {
        V sum = of_x(0) + of_h(0);
        return store_lanes(select(sum < V(T(0)), V(T(0)), sum), y, n);
      }
      case RnnMode::Lstm: {
        V i = math::sigmoid(of_x(0) + of_h(0)), f = math::sigmoid(of_x(1) + of_h(1));
        V g = math::tanh(of_x(2) + of_h(2)), o = math::sigmoid(of_x(3) + of_h(3));
        V c = fma(f, load_lanes<V>(this->c_before(step, sequence) + unit, n), i * g);
        keep(0, i), keep(1, f), keep(2, g), keep(3, o);
        store_lanes(c, x_.cells + row * hidden + unit, n);
        return store_lanes(o * math::tanh(c), y, n);
      }
      case RnnMode::Gru: {
        V r = math::sigmoid(of_x(0) + of_h(0)), z = math::sigmoid(of_x(1) + of_h(1));
        V part = of_h(2) + this->load_or_zero(x_.bias_hidden, unit, n);
        V h = math::tanh(fma(r, part, of_x(2)));
        keep(0, r), keep(1, z), keep(2, h);
        store_lanes(part, x_.cells + row * hidden + unit, n);
        V before = load_lanes<V>(this->h_before(step, sequence) + unit, n);
        return store_lanes(fma(z, before - h, h), y, n);
      }
    }
  }

  void project(int64_t step, Range sequences, int64_t panel) const {
    this->for_rows(step, sequences, [&](int64_t first, int64_t n_rows) {
      alignas(64) T tile[Base::kTile];
      const T* rows[kMaxRows];
      for (int64_t r = 0; r < n_rows; ++r) rows[r] = unprojected_ + (first + r) * x_.hidden;
      projection_.multiply(panel, rows, n_rows, tile);
      Range blocks = projection_.blocks(panel);
      for (int64_t r = 0; r < n_rows; ++r) {
        T* y = x_.y + this->row_at(step, first + r) * x_.ld_y;
        for (int64_t block = blocks.begin; block < blocks.end; ++block)
          store_lanes(V::load(tile + projection_.place(panel, r, block)), y + block * L,
                      projection_.n_lanes(block));
      }
    });
  }

  Panels<T> gates_, projection_;
  T* unprojected_;  // batch x hidden: h of the running step
};

template <class T>
class Backward : Walk<T> {
  using Base = Walk<T>;
  using Base::x_;
  using typename Base::V;
  static constexpr int64_t L = Base::L;

 public:
  Backward(const RnnDirection<T>& x, const RnnGradients<T>& g, RnnSteps steps)
      : Base(x, steps),
        g_(g),
        recurrent_(n_gates(x.mode) * x.hidden, x.state, 1, x.scratch),
        projection_(x.state, x.hidden, 1, x.scratch + recurrent_.nbytes() / int64_t{sizeof(T)}) {
    if (steps.n_steps > 1) recurrent_.pack({x.weight_hh, x.state, 1});
    if (x.weight_hr) projection_.pack({x.weight_hr, x.hidden, 1});
  }

  int64_t n_phases() const { return x_.weight_hr ? 2 : 1; }
  int64_t n_panels(int64_t phase) const { return (phase == 0 ? recurrent_ : projection_).size(); }
  int64_t nbytes() const { return recurrent_.nbytes() + (x_.weight_hr ? projection_.nbytes() : 0); }

  // Phase 0 finds the gradient of h, and goes on to the gates if there is no projection between.
  void run(int64_t turn, int64_t phase, Range sequences, int64_t panel) const {
    int64_t step = this->steps_.n_steps - 1 - turn;
    const Panels<T>& panels = phase == 0 ? recurrent_ : projection_;
    Range blocks = panels.blocks(panel);
    this->for_rows(step, sequences, [&](int64_t first, int64_t n_rows) {
      alignas(64) T tile[Base::kTile];
      for (int64_t r = 0; r < n_rows && !x_.weight_hr; ++r) {
        this->ask_for(x_.gates, step, first + r, blocks);
        this->ask_for(g_.dgates_input, step, first + r, blocks);
      }
      phase == 0 ? multiply_gates(step, panel, first, n_rows, tile)
                 : multiply_state(step, panel, first, n_rows, tile);
      for (int64_t r = 0; r < n_rows; ++r) {
        for (int64_t block = blocks.begin; block < blocks.end; ++block) {
          V dh = V::load(tile + panels.place(panel, r, block));
          int64_t n = panels.n_lanes(block);
          // Inlined twice: most vectors are whole, and the first call knows it.
          if (n == L)
            go_on(step, phase, first + r, block * L, L, dh);
          else
            go_on(step, phase, first + r, block * L, n, dh);
        }
        if (phase == 0 && blocks.begin == 0) keep_previous(step, first + r);
      }
    });
  }

  void finish(Range) const {}

 private:
  // The gradients of the gates of the step after, for the sequences that take it: they come first.
  void multiply_gates(int64_t step, int64_t panel, int64_t first, int64_t n_rows, T* tile) const {
    int64_t n_next = std::clamp(this->batch(step + 1) - first, int64_t{0}, n_rows);
    int64_t tile_step = recurrent_.tile_step(panel);
    std::fill(tile + n_next * tile_step, tile + n_rows * tile_step, T(0));
    if (n_next == 0) return;
    const T* rows[kMaxRows];
    for (int64_t r = 0; r < n_next; ++r)
      rows[r] = g_.dgates_hidden + this->row_at(step + 1, first + r) * recurrent_.depth();
    recurrent_.multiply(panel, rows, n_next, tile);
  }

  void multiply_state(int64_t step, int64_t panel, int64_t first, int64_t n_rows, T* tile) const {
    const T* rows[kMaxRows];
    for (int64_t r = 0; r < n_rows; ++r)
      rows[r] = g_.dstate + this->row_at(step, first + r) * x_.state;
    projection_.multiply(panel, rows, n_rows, tile);
  }

  // From the gradient of h that the products give.
  FACULA_FN void go_on(int64_t step, int64_t phase, int64_t sequence, int64_t unit, int64_t n,
                       V dh) const {
    if (phase == 0) dh += from_outside(step, sequence, unit, n);
    if (phase == 0 && x_.weight_hr)
      store_lanes(dh, g_.dstate + this->row_at(step, sequence) * x_.state + unit, n);
    else
      apply_gates(step, sequence, unit, n, dh);
  }

  // Of y, and of hn where it is the last step of the sequence; a GRU carries that.
  FACULA_FN V from_outside(int64_t step, int64_t sequence, int64_t unit, int64_t n) const {
    V dh = this->load_or_zero(g_.dy, this->row_at(step, sequence) * x_.ld_y + unit, n);
    if (x_.mode != RnnMode::Gru && sequence >= this->batch(step + 1))
      dh += load_lanes<V>(g_.dhn + sequence * x_.state + unit, n);
    return dh;
  }

  void keep_previous(int64_t step, int64_t sequence) const {
    std::memcpy(g_.previous + this->row_at(step, sequence) * x_.state,
                this->h_before(step, sequence), sizeof(T) * static_cast<size_t>(x_.state));
  }

  FACULA_FN void apply_gates(int64_t step, int64_t sequence, int64_t unit, int64_t n, V dh) const {
    int64_t row = this->row_at(step, sequence), hidden = x_.hidden;
    int64_t at = row * n_gates(x_.mode) * hidden + unit;
    V one = V(T(1));
    auto gate = [&](int64_t i) { return load_lanes<V>(x_.gates + at + i * hidden, n); };
    auto give = [&](int64_t i, V d) { store_lanes(d, g_.dgates_input + at + i * hidden, n); };
    auto give_h = [&](int64_t i, V d) { store_lanes(d, g_.dgates_hidden + at + i * hidden, n); };
    switch (x_.mode) {
      case RnnMode::Tanh: {
        V y = load_lanes<V>(x_.y + row * x_.ld_y + unit, n);
        return give(0, dh * fma(-y, y, one));
      }
      case RnnMode::Relu: {
        V y = load_lanes<V>(x_.y + row * x_.ld_y + unit, n);
        return give(0, select(y <= V(T(0)), V(T(0)), dh));
      }
      case RnnMode::Lstm: {
        T* carry = g_.carry + sequence * hidden + unit;
        V i = gate(0), f = gate(1), g = gate(2), o = gate(3);
        V tanh_c = math::tanh(load_lanes<V>(x_.cells + row * hidden + unit, n));
        if (x_.weight_hr) store_lanes(o * tanh_c, g_.unprojected + row * hidden + unit, n);
        V dc = fma(dh * o, fma(-tanh_c, tanh_c, one), load_lanes<V>(carry, n));
        V before = load_lanes<V>(this->c_before(step, sequence) + unit, n);
        give(0, dc * g * i * (one - i));
        give(1, dc * before * f * (one - f));
        give(2, dc * i * fma(-g, g, one));
        give(3, dh * tanh_c * o * (one - o));
        return store_lanes(dc * f, carry, n);
      }
      case RnnMode::Gru: {
        T* carry = g_.carry + sequence * hidden + unit;
        V r = gate(0), z = gate(1), h = gate(2);
        V before = load_lanes<V>(this->h_before(step, sequence) + unit, n);
        V part = load_lanes<V>(x_.cells + row * hidden + unit, n);
        dh += load_lanes<V>(carry, n);
        V dn = dh * (one - z) * fma(-h, h, one);
        V dr = dn * part * r * (one - r), dz = dh * (before - h) * z * (one - z);
        give(0, dr), give(1, dz), give(2, dn);
        give_h(0, dr), give_h(1, dz), give_h(2, dn * r);
        return store_lanes(dh * z, carry, n);
      }
    }
  }

  const RnnGradients<T>& g_;
  Panels<T> recurrent_, projection_;
};

template <class T>
int64_t work_of_row(const RnnDirection<T>& x) {
  return n_gates(x.mode) * x.hidden * x.state;
}

// All steps of all directions. See Note [Recurrent steps].
template <class W>
void run(const std::vector<W>& walks, int64_t n_steps, int64_t batch, int64_t work_of_row) {
  int64_t n = static_cast<int64_t>(walks.size()), n_phases = walks[0].n_phases();
  int64_t n_parts = ceil_div(batch, kMaxRows);
  auto run_all = [&](int64_t d, int64_t step, Range sequences) {
    for (int64_t phase = 0; phase < n_phases; ++phase)
      for (int64_t panel = 0; panel < walks[d].n_panels(phase); ++panel)
        walks[d].run(step, phase, sequences, panel);
  };
  if (n * n_parts > 1 && walks[0].nbytes() <= kPrivateBytes) {
    int64_t work = batch / n_parts * n_steps * work_of_row;
    parallel_for(n * n_parts, ceil_div(kMinWork, work), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Range sequences = part_of(batch, i % n_parts, n_parts);
        for (int64_t step = 0; step < n_steps; ++step) run_all(i / n_parts, step, sequences);
        walks[i / n_parts].finish(sequences);
      }
    });
    return;
  }
  Range all = {0, batch};
  for (int64_t step = 0; step < n_steps; ++step) {
    for (int64_t phase = 0; phase < n_phases; ++phase) {
      int64_t n_panels = walks[0].n_panels(phase);
      int64_t work = batch * work_of_row / n_panels + 1;
      parallel_for(n * n_panels, ceil_div(kMinWork, work), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          walks[i / n_panels].run(step, phase, all, i % n_panels);
      });
    }
  }
  for (const W& walk : walks) walk.finish(all);
}

template <class T>
void forward(const RnnDirection<T>* directions, int64_t n_directions, RnnSteps steps) {
  int64_t batch = steps.batch(0), work = work_of_row(directions[0]);
  if (batch == 0 || work == 0) return;
  std::vector<Forward<T>> walks;
  for (int64_t d = 0; d < n_directions; ++d) walks.emplace_back(directions[d], steps);
  run(walks, steps.n_steps, batch, work);
}

template <class T>
void backward(const RnnDirection<T>* directions, const RnnGradients<T>* gradients,
              int64_t n_directions, RnnSteps steps) {
  int64_t batch = steps.batch(0), work = work_of_row(directions[0]);
  if (batch == 0 || work == 0) return;
  std::vector<Backward<T>> walks;
  for (int64_t d = 0; d < n_directions; ++d) walks.emplace_back(directions[d], gradients[d], steps);
  run(walks, steps.n_steps, batch, work);
}

}  // namespace

extern const RnnTable rnn_table;
const RnnTable rnn_table = {{forward<float>, backward<float>}, {forward<double>, backward<double>}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
