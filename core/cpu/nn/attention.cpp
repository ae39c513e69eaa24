// Note [Blocked attention]
// Scores are computed for kQueries queries and kKeys keys at a time and never stored as a whole.
// They lie transposed, a row per key: a vector holds one key's scores of several queries, so that
// maxima and sums over the keys go down the rows without a step across the lanes. The forward pass
// keeps the maximum and the sum of each query so far, and scales what it has summed up when the
// maximum grows. Backward computes the blocks again from the logarithm of that sum. A block of keys
// and values is copied once for a span of several blocks of queries: rows of one head lie far apart
// in memory, and to fetch them costs a quarter of the products with one block.
//
// All matrices of a block are copies in scratch memory, zero up to whole vectors, in rows of an odd
// number of cache lines, which spread over the sets of the cache. What lies after the diagonal of a
// causal block is left out by tiles of kTileRows rows.
#include "cpu/nn/attention.h"
#include "base/integers.h"

#include <algorithm>
#include <limits>

#include "cpu/row.h"
#include "cpu/transpose.h"
#include "math/exp_log.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

constexpr int64_t kQueries = kAttentionQueries;
constexpr int64_t kKeys = 128;
// Tiles of 3 vectors: the sums, a row of B and a number of A fill the registers.
#if defined(FACULA_AVX512)
constexpr int64_t kTileRows = 8;
#else
constexpr int64_t kTileRows = 4;
#endif
constexpr int64_t kRowUnit = 8;

int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// What a product does with the old C.
enum class Start { Zero, Add, Scaled };

// S is the stored element, T what it is computed in.
template <class S>
struct Heads {
  using T = Wide<S>;
  using V = Vec<T>;
  static constexpr int64_t L = V::kLanes;
  static constexpr T kNothing = -std::numeric_limits<T>::infinity();

  struct Matrix {
    T* data;
    int64_t ld;
    T* row(int64_t i) const { return data + i * ld; }
  };
  static constexpr int64_t kLine = 64 / sizeof(T);
  static int64_t row_length(int64_t n) { return (ceil_div(n, kLine) | 1) * kLine; }

  // Cuts matrices from the scratch memory; without one, it counts.
  struct Carver {
    char* scratch;
    int64_t nbytes = 0;
    Matrix take(int64_t rows, int64_t cols) {
      Matrix m{scratch ? reinterpret_cast<T*>(scratch + nbytes) : nullptr, row_length(cols)};
      nbytes += round_up(rows, kRowUnit) * m.ld * static_cast<int64_t>(sizeof(T));
      return m;
    }
  };

  struct Block {
    int64_t batch, head, first_query, n_queries, first_key, n_keys;
    bool is_causal;

    // The keys that the queries of the vector at `lane` see, in whole units of rows.
    int64_t keys_of(int64_t lane) const {
      if (!is_causal) return n_keys;
      return std::min(n_keys, round_up(first_query + lane + L - first_key, kRowUnit));
    }
    // The first query that sees this key.
    int64_t queries_from(int64_t key) const {
      return is_causal ? std::max<int64_t>(0, first_key + key - first_query) : 0;
    }
    // The keys that the tile of queries from here on sees.
    int64_t keys_of_tile(int64_t query) const {
      if (!is_causal) return n_keys;
      return std::min(n_keys, first_query + query + kTileRows - first_key);
    }
  };

  // ---- products

  template <int kN, bool kByColumns, Start kStart>
  static void multiply_tile(const T* a, int64_t lda, const T* b, int64_t ldb, int64_t depth, T* c,
                            int64_t ldc, const T* factors) {
    V sums[kTileRows][kN];
#pragma GCC unroll 8
    for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 3
      for (int j = 0; j < kN; ++j) {
        sums[i][j] = kStart == Start::Zero ? V(T(0)) : V::load(c + i * ldc + j * L);
        if (kStart == Start::Scaled) sums[i][j] *= V(factors[i]);
      }
    }
    for (int64_t p = 0; p < depth; ++p) {
      V row[kN];
#pragma GCC unroll 3
      for (int j = 0; j < kN; ++j) row[j] = V::load(b + j * L);
#pragma GCC unroll 8
      for (int i = 0; i < kTileRows; ++i) {
        V x(a[kByColumns ? i : i * lda]);
#pragma GCC unroll 3
        for (int j = 0; j < kN; ++j) sums[i][j] = fma(x, row[j], sums[i][j]);
      }
      a += kByColumns ? lda : 1;
      b += ldb;
    }
#pragma GCC unroll 8
    for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 3
      for (int j = 0; j < kN; ++j) sums[i][j].store(c + i * ldc + j * L);
    }
  }

  // Of one tile of rows: the first column that is wanted, and the steps of the sum.
  struct Extent {
    int64_t col, begin, end;
  };

  // C = A B, over whole tiles of rows and whole vectors of columns. A is m x k; by columns, its
  // transpose is given. `factors` belong to Start::Scaled: C = factor of the row * C + A B.
  template <bool kByColumns, Start kStart, class F>
  static void multiply(int64_t m, int64_t n, Matrix a, Matrix b, Matrix c, F extent_of,
                       const T* factors = nullptr) {
    for (int64_t i = 0; i < m; i += kTileRows) {
      Extent extent = extent_of(i);
      int64_t depth = std::max<int64_t>(0, extent.end - extent.begin);
      const T* from = kByColumns ? a.row(extent.begin) + i : a.row(i) + extent.begin;
      const T* scales = kStart == Start::Scaled ? factors + i : nullptr;
      for (int64_t j = extent.col; j < n;) {
        int64_t left = ceil_div(n - j, L), n_vectors = left == 4 ? 2 : std::min<int64_t>(left, 3);
        const T* cols = b.row(extent.begin) + j;
        T* to = c.row(i) + j;
        auto tile = n_vectors == 3   ? multiply_tile<3, kByColumns, kStart>
                    : n_vectors == 2 ? multiply_tile<2, kByColumns, kStart>
                                     : multiply_tile<1, kByColumns, kStart>;
        tile(from, a.ld, cols, b.ld, depth, to, c.ld, scales);
        j += n_vectors * L;
      }
    }
  }

  // ---- copies

  static const S* rows_of(const HeadRows& x, int64_t batch, int64_t head, int64_t row) {
    return reinterpret_cast<const S*>(x.data) + batch * x.batch + head * x.head + row * x.row;
  }

  static V load(const S* from, int64_t n) { return n >= L ? V::load(from) : V::load(from, n); }

  // n rows; the columns up to whole vectors and the rows up to whole units are zero.
  static void pack(const S* from, int64_t stride, int64_t n, int64_t width, Matrix to) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; j += L)
        load(from + i * stride + j, width - j).store(to.row(i) + j);
    for (int64_t i = n; i < round_up(n, kRowUnit); ++i)
      for (int64_t j = 0; j < width; j += L) V(T(0)).store(to.row(i) + j);
  }

  // Row i of `from` becomes column i, times `scale`; the columns up to whole vectors are zero.
  static void pack_transposed(const S* from, int64_t stride, int64_t n, int64_t width, T scale,
                              Matrix to) {
    for (int64_t i = 0; i < n; i += L) {
      for (int64_t j = 0; j < width; j += L) {
        V square[L];
        for (int64_t r = 0; r < L; ++r)
          square[r] = i + r < n ? load(from + (i + r) * stride + j, width - j) : V(T(0));
        transpose(square);
        for (int64_t r = 0; r < std::min<int64_t>(L, width - j); ++r)
          (square[r] * V(scale)).store(to.row(j + r) + i);
      }
    }
  }

  template <class To>
  static void store_row(const T* from, int64_t n, T factor, To* to) {
    int64_t i = 0;
    for (; i + L <= n; i += L) (V::load(from + i) * V(factor)).store(to + i);
    if (i < n) (V::load(from + i) * V(factor)).store(to + i, n - i);
  }

  // Not std::fill: the linker could give its AVX-512 twin to the baseline.
  static void fill(T* to, int64_t n, T value) {
    for (int64_t i = 0; i < n; ++i) to[i] = value;
  }
  static void clear(Matrix m, int64_t n_rows) { fill(m.data, n_rows * m.ld, T(0)); }

  // ---- scores

  // n numbers to add for a query's keys.
  template <class M>
  static FACULA_FN V mask_row(const M* from, int64_t stride, int64_t n) {
    if constexpr (std::is_same_v<M, T>) {
      if (stride == 1) return n >= L ? V::load(from) : V::load(from, n);
    }
    T numbers[L] = {};
    for (int64_t i = 0; i < std::min<int64_t>(n, L); ++i) {
      if constexpr (std::is_same_v<M, bool>) {
        numbers[i] = from[i * stride] ? T(0) : kNothing;
      } else {
        numbers[i] = from[i * stride];
      }
    }
    return V::load(numbers);
  }

  template <class M>
  static void mask_scores(const AttentionMask& mask, const Block& at, Matrix scores) {
    const M* from = reinterpret_cast<const M*>(mask.data) + at.batch * mask.batch +
                    at.head * mask.head + at.first_query * mask.row + at.first_key * mask.col;
    for (int64_t i = 0; i < at.n_queries; i += L) {
      for (int64_t key = 0; key < at.n_keys; key += L) {
        V square[L];
        for (int64_t r = 0; r < L; ++r) {
          const M* row = from + std::min(i + r, at.n_queries - 1) * mask.row + key * mask.col;
          square[r] = mask_row(row, mask.col, at.n_keys - key);
        }
        transpose(square);
        for (int64_t r = 0; r < std::min<int64_t>(L, at.n_keys - key); ++r) {
          T* place = scores.row(key + r) + i;
          (V::load(place) + square[r]).store(place);
        }
      }
    }
  }

  // Keys after the query.
  static void hide_future(const Block& at, Matrix scores) {
    T lanes[L];
    for (int64_t i = 0; i < L; ++i) lanes[i] = static_cast<T>(i);
    V lane = V::load(lanes);
    for (int64_t i = 0; i < at.n_queries; i += L) {
      int64_t offset = at.first_query + i - at.first_key;
      for (int64_t key = std::max<int64_t>(0, offset + 1); key < at.keys_of(i); ++key) {
        T* place = scores.row(key) + i;
        select(lane < V(static_cast<T>(key - offset)), V(kNothing), V::load(place)).store(place);
      }
    }
  }

  static void compute_scores(const Attention& x, const Block& at, Matrix keys, Matrix query_t,
                             Matrix scores) {
    multiply<false, Start::Zero>(at.n_keys, at.n_queries, keys, query_t, scores,
                                 [&](int64_t key) -> Extent {
                                   return {at.queries_from(key) / L * L, 0, x.width};
                                 });
    if (x.mask.data && x.mask.is_bool) mask_scores<bool>(x.mask, at, scores);
    if (x.mask.data && !x.mask.is_bool) mask_scores<T>(x.mask, at, scores);
    if (at.is_causal) hide_future(at, scores);
  }

  // exp(x) of x that are not far above 0.
  static FACULA_FN V exp_below(V x) {
    return math::exp_of_clamped(at_least(x, math::lowest_exponent<V>()));
  }

  // ---- forward

  // Buffers of the blocks of a span lie one after the other.
  static Matrix part(Matrix m, int64_t n_rows, int64_t i) {
    return {m.row(i * round_up(n_rows, kRowUnit)), m.ld};
  }
  static Matrix take_parts(Carver& carve, const Attention& x, int64_t n_rows, int64_t cols) {
    return carve.take(x.blocks_per_span * round_up(n_rows, kRowUnit), cols);
  }

  struct Forward {
    Matrix query_t, sums, high, total;  // of each block; the last two: of each query the largest
                                        // score and the sum
    Matrix keys, values, scores;
    T* factor;  // of each query: what the sums are multiplied by where the largest score grew

    Forward(const Attention& x, Carver& carve)
        : query_t(take_parts(carve, x, x.width, kQueries)),
          sums(take_parts(carve, x, kQueries, x.value_width)),
          high(carve.take(x.blocks_per_span, kQueries)),
          total(carve.take(x.blocks_per_span, kQueries)),
          keys(carve.take(kKeys, x.width)),
          values(carve.take(kKeys, x.value_width)),
          scores(carve.take(kKeys, kQueries)),
          factor(carve.take(1, kQueries).data) {}
  };

  static int64_t scratch_bytes(const Attention& x) {
    Carver count{nullptr};
    Forward f(x, count);
    return count.nbytes;
  }

  // Scores become exponentials.
  static void softmax_block(const Block& at, Matrix scores, T* highs, T* totals, T* factors) {
    for (int64_t i = 0; i < at.n_queries; i += L) {
      int64_t n = at.keys_of(i), ld = scores.ld, key = 0;
      T* column = scores.data + i;
      V before = V::load(highs + i), high[4] = {before, before, before, before};
      // A NaN may be lost here; its exponential is not.
      for (; key + 4 <= n; key += 4)
        for (int64_t k = 0; k < 4; ++k)
          high[k] = at_least(high[k], V::load(column + (key + k) * ld));
      for (; key < n; ++key) high[0] = at_least(high[0], V::load(column + key * ld));
      V top = at_least(at_least(high[0], high[1]), at_least(high[2], high[3]));
      V shift = select(top == V(kNothing), V(T(0)), top);
      V sum = V(T(0));
      for (key = 0; key < n; ++key) {
        V e = exp_below(V::load(column + key * ld) - shift);
        e.store(column + key * ld);
        sum += e;
      }
      V factor = exp_below(before - shift);
      top.store(highs + i);
      factor.store(factors + i);
      (V::load(totals + i) * factor + sum).store(totals + i);
    }
  }

  static int64_t spans_of(const Attention& x) {
    return ceil_div(x.n_queries, x.blocks_per_span * kQueries);
  }

  // f(number, first query, number of queries) for the blocks of a span.
  template <class F>
  static FACULA_FN void for_each_block(const Attention& x, int64_t span, F f) {
    int64_t first = span * x.blocks_per_span * kQueries;
    for (int64_t i = 0; i < x.blocks_per_span && first < x.n_queries; ++i, first += kQueries)
      f(i, first, std::min(kQueries, x.n_queries - first));
  }

  // The keys that a span of queries sees.
  static int64_t keys_of_span(const Attention& x, int64_t span) {
    return x.is_causal ? std::min(x.n_keys, (span + 1) * x.blocks_per_span * kQueries) : x.n_keys;
  }

  static Block block_of(const Attention& x, int64_t batch, int64_t head, int64_t query,
                        int64_t n_queries, int64_t key, int64_t n_keys) {
    bool has_diagonal = x.is_causal && key + n_keys > query + 1;
    if (x.is_causal) n_keys = std::min(n_keys, query + n_queries - key);
    return {batch, head, query, n_queries, key, n_keys, has_diagonal};
  }

  static void forward(const Attention& x, char* scratch, int64_t begin, int64_t end) {
    Carver carve{scratch};
    Forward f(x, carve);
    int64_t n_spans = spans_of(x);
    for (int64_t task = begin; task < end; ++task) {
      int64_t index = task / n_spans;
      forward_span(x, f, index / x.n_heads, index % x.n_heads, task % n_spans);
    }
  }

  static void forward_span(const Attention& x, Forward& f, int64_t batch, int64_t head,
                           int64_t span) {
    int64_t key_head = head / x.heads_per_key, n_keys = keys_of_span(x, span);
    for_each_block(x, span, [&](int64_t i, int64_t first, int64_t n) {
      pack_transposed(rows_of(x.query, batch, head, first), x.query.row, n, x.width,
                      static_cast<T>(x.scale), part(f.query_t, x.width, i));
      clear(part(f.sums, kQueries, i), kQueries);
      fill(f.high.row(i), kQueries, kNothing);
      fill(f.total.row(i), kQueries, T(0));
    });
    for (int64_t key = 0; key < n_keys; key += kKeys) {
      int64_t left = std::min(kKeys, n_keys - key);
      pack(rows_of(x.key, batch, key_head, key), x.key.row, left, x.width, f.keys);
      pack(rows_of(x.value, batch, key_head, key), x.value.row, left, x.value_width, f.values);
      for_each_block(x, span, [&](int64_t i, int64_t first, int64_t n) {
        Block at = block_of(x, batch, head, first, n, key, left);
        if (at.n_keys <= 0) return;
        compute_scores(x, at, f.keys, part(f.query_t, x.width, i), f.scores);
        softmax_block(at, f.scores, f.high.row(i), f.total.row(i), f.factor);
        multiply<true, Start::Scaled>(
            n, x.value_width, f.scores, f.values, part(f.sums, kQueries, i),
            [&](int64_t query) -> Extent {
              return {0, 0, at.keys_of_tile(query)};
            },
            f.factor);
      });
    }
    for_each_block(x, span, [&](int64_t i, int64_t first, int64_t n) {
      store_results(x, part(f.sums, kQueries, i), f.high.row(i), f.total.row(i), batch, head, first,
                    n);
    });
  }

  static void store_results(const Attention& x, Matrix sums, const T* high, const T* total,
                            int64_t batch, int64_t head, int64_t first, int64_t n) {
    S* out = const_cast<S*>(rows_of(x.out, batch, head, first));
    T* logsumexp =
        reinterpret_cast<T*>(x.logsumexp) + (batch * x.n_heads + head) * x.n_queries + first;
    for (int64_t i = 0; i < n; ++i) {
      // A query that sees no key has no weights, neither here nor when they are computed again.
      bool is_empty = total[i] == T(0);
      store_row(sums.row(i), x.value_width, is_empty ? T(0) : 1 / total[i], out + i * x.out.row);
      logsumexp[i] = is_empty ? -kNothing : high[i] + math::log(total[i]);
    }
  }

  // ---- backward

  struct Backward {
    // Of each block; dots: of each query its result times the gradient of that.
    Matrix query_t, queries, grad_t, grads, grad_query, logsumexp, dots;
    Matrix keys, values, scores, grad_scores, grad_keys, grad_values;

    Backward(const Attention& x, Carver& carve)
        : query_t(take_parts(carve, x, x.width, kQueries)),
          queries(take_parts(carve, x, kQueries, x.width)),
          grad_t(take_parts(carve, x, x.value_width, kQueries)),
          grads(take_parts(carve, x, kQueries, x.value_width)),
          grad_query(take_parts(carve, x, kQueries, x.width)),
          logsumexp(carve.take(x.blocks_per_span, kQueries)),
          dots(carve.take(x.blocks_per_span, kQueries)),
          keys(carve.take(kKeys, x.width)),
          values(carve.take(kKeys, x.value_width)),
          scores(carve.take(kKeys, kQueries)),
          grad_scores(carve.take(kKeys, kQueries)),
          grad_keys(carve.take(x.n_keys, x.width)),
          grad_values(carve.take(x.n_keys, x.value_width)) {}
  };

  static int64_t backward_scratch_bytes(const Attention& x) {
    Carver count{nullptr};
    Backward b(x, count);
    return count.nbytes;
  }

  // Scores become weights, and the gradients of the weights those of the scores.
  static void softmax_backward_block(const Block& at, Backward& b, const T* logsumexp,
                                     const T* dots) {
    int64_t ld = b.scores.ld;
    for (int64_t i = 0; i < at.n_queries; i += L) {
      V shift = V::load(logsumexp + i), dot = V::load(dots + i);
      T *score = b.scores.data + i, *grad = b.grad_scores.data + i;
      for (int64_t key = 0; key < at.keys_of(i); ++key, score += ld, grad += ld) {
        V weight = exp_below(V::load(score) - shift);
        weight.store(score);
        V g = weight * (V::load(grad) - dot);
        // Beyond the diagonal the gradient was not computed.
        (at.is_causal ? select(weight == V(T(0)), V(T(0)), g) : g).store(grad);
      }
    }
    // The rest of the last tile of keys.
    for (int64_t key = at.n_keys; key < round_up(at.n_keys, kRowUnit); ++key) {
      fill(b.scores.row(key), ld, T(0));
      fill(b.grad_scores.row(key), ld, T(0));
    }
  }

  static void store_grad_scores(const Attention& x, const Block& at, Matrix grads, char* to) {
    T* place = reinterpret_cast<T*>(to) +
               ((at.batch * x.n_heads + at.head) * x.n_queries + at.first_query) * x.n_keys +
               at.first_key;
    for (int64_t i = 0; i < at.n_queries; ++i)
      for (int64_t key = 0; key < at.n_keys; ++key) place[i * x.n_keys + key] = grads.row(key)[i];
  }

  static void load_block(const Attention& x, const AttentionGrad& grad, Backward& b, int64_t block,
                         int64_t batch, int64_t head, int64_t first, int64_t n) {
    const S* query = rows_of(x.query, batch, head, first);
    const S* grad_out = rows_of(grad.out, batch, head, first);
    const S* out = rows_of(x.out, batch, head, first);
    Matrix grads = part(b.grads, kQueries, block);
    pack_transposed(query, x.query.row, n, x.width, static_cast<T>(x.scale),
                    part(b.query_t, x.width, block));
    pack(query, x.query.row, n, x.width, part(b.queries, kQueries, block));
    pack_transposed(grad_out, grad.out.row, n, x.value_width, T(1),
                    part(b.grad_t, x.value_width, block));
    pack(grad_out, grad.out.row, n, x.value_width, grads);
    clear(part(b.grad_query, kQueries, block), kQueries);
    const T* from =
        reinterpret_cast<T*>(x.logsumexp) + (batch * x.n_heads + head) * x.n_queries + first;
    T *logsumexp = b.logsumexp.row(block), *dots = b.dots.row(block);
    fill(logsumexp, kQueries, T(0));
    fill(dots, kQueries, T(0));
    for (int64_t i = 0; i < n; ++i) {
      logsumexp[i] = from[i];
      V sum = V(T(0));
      for (int64_t j = 0; j < x.value_width; j += L)
        sum += V::load(grads.row(i) + j) * load(out + i * x.out.row + j, x.value_width - j);
      dots[i] = join_lanes<Add>(sum)[0];
    }
  }

  // One block of queries and the block of keys that b holds.
  static void backward_block(const Attention& x, const AttentionGrad& grad, Backward& b,
                             int64_t block, const Block& at) {
    compute_scores(x, at, b.keys, part(b.query_t, x.width, block), b.scores);
    multiply<false, Start::Zero>(at.n_keys, at.n_queries, b.values,
                                 part(b.grad_t, x.value_width, block), b.grad_scores,
                                 [&](int64_t row) -> Extent {
                                   return {at.queries_from(row) / L * L, 0, x.value_width};
                                 });
    softmax_backward_block(at, b, b.logsumexp.row(block), b.dots.row(block));
    if (grad.scores) store_grad_scores(x, at, b.grad_scores, grad.scores);
    auto over_queries = [&](int64_t row) -> Extent {
      return {0, at.queries_from(row), at.n_queries};
    };
    Matrix to_values{b.grad_values.row(at.first_key), b.grad_values.ld};
    Matrix to_keys{b.grad_keys.row(at.first_key), b.grad_keys.ld};
    multiply<false, Start::Add>(at.n_keys, x.value_width, b.scores, part(b.grads, kQueries, block),
                                to_values, over_queries);
    multiply<false, Start::Add>(at.n_keys, x.width, b.grad_scores, part(b.queries, kQueries, block),
                                to_keys, over_queries);
    multiply<true, Start::Add>(at.n_queries, x.width, b.grad_scores, b.keys,
                               part(b.grad_query, kQueries, block), [&](int64_t query) -> Extent {
                                 return {0, 0, at.keys_of_tile(query)};
                               });
  }

  static void backward_span(const Attention& x, const AttentionGrad& grad, Backward& b,
                            int64_t batch, int64_t head, int64_t span) {
    int64_t key_head = head / x.heads_per_key, n_keys = keys_of_span(x, span);
    for_each_block(x, span, [&](int64_t i, int64_t first, int64_t n) {
      load_block(x, grad, b, i, batch, head, first, n);
    });
    for (int64_t key = 0; key < n_keys; key += kKeys) {
      int64_t left = std::min(kKeys, n_keys - key);
      pack(rows_of(x.key, batch, key_head, key), x.key.row, left, x.width, b.keys);
      pack(rows_of(x.value, batch, key_head, key), x.value.row, left, x.value_width, b.values);
      for_each_block(x, span, [&](int64_t i, int64_t first, int64_t n) {
        Block at = block_of(x, batch, head, first, n, key, left);
        if (at.n_keys > 0) backward_block(x, grad, b, i, at);
      });
    }
    for_each_block(x, span, [&](int64_t i, int64_t first, int64_t n) {
      S* to = const_cast<S*>(rows_of(grad.query, batch, head, first));
      Matrix from = part(b.grad_query, kQueries, i);
      for (int64_t r = 0; r < n; ++r)
        store_row(from.row(r), x.width, static_cast<T>(x.scale), to + r * grad.query.row);
    });
  }

  template <class To>
  static void store_head(Matrix from, int64_t n, int64_t width, T factor, const HeadRows& to,
                         int64_t batch, int64_t head) {
    To* place = reinterpret_cast<To*>(to.data) + batch * to.batch + head * to.head;
    for (int64_t i = 0; i < n; ++i) store_row(from.row(i), width, factor, place + i * to.row);
  }

  static void backward(const Attention& x, const AttentionGrad& grad, char* scratch, int64_t begin,
                       int64_t end) {
    Carver carve{scratch};
    Backward b(x, carve);
    int64_t key_heads = x.n_heads / x.heads_per_key;
    for (int64_t task = begin; task < end; ++task) {
      int64_t share = task % grad.n_parts, index = task / grad.n_parts;
      int64_t batch = index / key_heads, key_head = index % key_heads;
      clear(b.grad_keys, x.n_keys);
      clear(b.grad_values, x.n_keys);
      for (int64_t h = 0; h < x.heads_per_key; ++h)
        for (int64_t span = share; span < spans_of(x); span += grad.n_parts)
          backward_span(x, grad, b, batch, key_head * x.heads_per_key + h, span);
      auto store = grad.n_parts == 1 ? store_head<S> : store_head<T>;
      batch += share * x.n_batch;
      store(b.grad_keys, x.n_keys, x.width, static_cast<T>(x.scale), grad.key, batch, key_head);
      store(b.grad_values, x.n_keys, x.value_width, T(1), grad.value, batch, key_head);
    }
  }

  static constexpr AttentionKernels kernels = {scratch_bytes, forward, backward_scratch_bytes,
                                               backward};
};

constexpr AttentionTable make_table() {
  AttentionTable table = {};
  table.by_dtype[static_cast<int>(DType::Float16)] = Heads<Half>::kernels;
  table.by_dtype[static_cast<int>(DType::BFloat16)] = Heads<BFloat16>::kernels;
  table.by_dtype[static_cast<int>(DType::Float32)] = Heads<float>::kernels;
  table.by_dtype[static_cast<int>(DType::Float64)] = Heads<double>::kernels;
  return table;
}

}  // namespace

extern const AttentionTable attention_table;
const AttentionTable attention_table = make_table();

}  // namespace FACULA_ISA
}  // namespace facula::cpu
