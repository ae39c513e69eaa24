// Attention in tiles: the scores are never written to memory. For GPUs without cuDNN, and tensors
// that it has no kernel for. All sums are in a fixed order.
#pragma once
#include "cuda/kernels/attention_arguments.h"
#include "cuda/kernels/types.h"
#include "math/primitives.h"

#ifdef __CUDACC_RTC__

namespace facula {

// A block has kAttentionRows rows of one side, each shared by kAttentionLanes neighbouring threads,
// and walks along the rows of the other, a few at a time.
constexpr int kAttentionLanes = 8, kAttentionThreads = kAttentionRows * kAttentionLanes;
constexpr int kColumnsPerLane = kAttentionWidth / kAttentionLanes;

template <int kRows>
using AttentionTile = float[kRows][kAttentionWidth + 1];  // rows begin in other banks

struct AttentionPlace {
  int64_t batch, head, first;  // the first row of the block
  int64_t number;              // of the head among all
  int row, lane;
};
FACULA_FN AttentionPlace attention_place(const AttentionArguments& a, int64_t n_rows) {
  int64_t n_tiles = (n_rows + kAttentionRows - 1) / kAttentionRows;
  int64_t number = blockIdx.x / n_tiles;
  return {number / a.n_heads,
          number % a.n_heads,
          blockIdx.x % n_tiles * kAttentionRows,
          number,
          int(threadIdx.x) / kAttentionLanes,
          int(threadIdx.x) % kAttentionLanes};
}

template <class T>
FACULA_FN T* head_of(const AttentionSide& side, const AttentionPlace& p) {
  return reinterpret_cast<T*>(side.data) + p.batch * side.batch + p.head * side.head;
}

// Rows from `first` on, zeros from `end` on.
template <class T, int kRows>
FACULA_FN void load_rows(AttentionTile<kRows>& to, const AttentionSide& side,
                         const AttentionPlace& p, int64_t first, int64_t end, int width) {
  const T* from = head_of<const T>(side, p);
  for (int i = threadIdx.x; i < kRows * width; i += kAttentionThreads) {
    int row = i / width, column = i % width;
    bool is_there = first + row < end;
    to[row][column] = is_there ? float(from[(first + row) * side.row + column]) : 0.0f;
  }
}

FACULA_FN float product_of(const float* a, const float* b, int width) {
  float sum = 0;
  for (int i = 0; i < width; ++i) sum = ::fmaf(a[i], b[i], sum);
  return sum;
}

// totals[c] += sum of weights times the columns of rows that this lane has.
template <int kRows>
FACULA_FN void add_rows(float (&totals)[kColumnsPerLane], const float* weights,
                        const AttentionTile<kRows>& rows, int lane, int width) {
#pragma unroll
  for (int c = 0; c < kColumnsPerLane; ++c) {
    int column = lane + c * kAttentionLanes;
    if (column >= width) continue;
    float total = totals[c];
    for (int i = 0; i < kRows; ++i) total = ::fmaf(weights[i], rows[i][column], total);
    totals[c] = total;
  }
}

template <class T>
FACULA_FN void store_row(const AttentionSide& side, const AttentionPlace& p, int64_t row,
                         const float (&totals)[kColumnsPerLane], float factor, int width) {
  T* to = head_of<T>(side, p) + row * side.row;
#pragma unroll
  for (int c = 0; c < kColumnsPerLane; ++c) {
    int column = p.lane + c * kAttentionLanes;
    if (column < width) to[column] = T(totals[c] * factor);
  }
}

FACULA_FN float sum_lanes(float x) {
  for (int bits = 1; bits < kAttentionLanes; bits *= 2) x += __shfl_xor_sync(0xffffffffu, x, bits);
  return x;
}
FACULA_FN float max_lanes(float x) {
  for (int bits = 1; bits < kAttentionLanes; bits *= 2) {
    float other = __shfl_xor_sync(0xffffffffu, x, bits);
    x = other > x ? other : x;
  }
  return x;
}

FACULA_FN bool sees(const AttentionArguments& a, int64_t query, int64_t key) {
  return query < a.n_queries && key < a.n_keys && (!a.is_causal || key <= query);
}

template <class T>
FACULA_FN void attention_forward(const AttentionArguments& a) {
  constexpr int kKeys = 16, kEach = kKeys / kAttentionLanes;
  __shared__ AttentionTile<kAttentionRows> queries;
  __shared__ AttentionTile<kKeys> keys, values;
  __shared__ float weights[kAttentionRows][kKeys + 1];
  AttentionPlace p = attention_place(a, a.n_queries);
  int64_t query = p.first + p.row, end = a.n_keys;
  if (a.is_causal && end > p.first + kAttentionRows) end = p.first + kAttentionRows;
  load_rows<T>(queries, a.query, p, p.first, a.n_queries, a.width);
  float high = -math::infinity<float>(), sum = 0, totals[kColumnsPerLane] = {};
  for (int64_t first = 0; first < end; first += kKeys) {
    __syncthreads();
    load_rows<T>(keys, a.key, p, first, a.n_keys, a.width);
    load_rows<T>(values, a.value, p, first, a.n_keys, a.value_width);
    __syncthreads();
    float scores[kEach], most = -math::infinity<float>();
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      int at = p.lane + j * kAttentionLanes;
      float score = product_of(queries[p.row], keys[at], a.width) * a.scale;
      scores[j] = sees(a, query, first + at) ? score : -math::infinity<float>();
      most = scores[j] > most ? scores[j] : most;
    }
    most = max_lanes(most);
    most = high > most ? high : most;
    // Where nothing was seen yet, all weights are 0.
    float shift = most == -math::infinity<float>() ? 0.0f : most, factor = ::expf(high - shift);
    float part = 0;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      float weight = ::expf(scores[j] - shift);
      weights[p.row][p.lane + j * kAttentionLanes] = weight;
      part += weight;
    }
    sum = sum * factor + sum_lanes(part);
    high = most;
    __syncwarp();
#pragma unroll
    for (int c = 0; c < kColumnsPerLane; ++c) totals[c] *= factor;
    add_rows<kKeys>(totals, weights[p.row], values, p.lane, a.value_width);
  }
  if (query >= a.n_queries) return;
  store_row<T>(a.out, p, query, totals, sum == 0 ? 0.0f : 1 / sum, a.value_width);
  if (p.lane == 0) a.stats[p.number * a.n_queries + query] = high + ::logf(sum);
}

// The gradient of queries; and, for that of keys and values, of each query the product of the
// result and its gradient.
template <class T>
FACULA_FN void attention_to_queries(const AttentionArguments& a) {
  constexpr int kKeys = kAttentionLanes;
  __shared__ AttentionTile<kAttentionRows> queries, grads;
  __shared__ AttentionTile<kKeys> keys, values;
  __shared__ float to_scores[kAttentionRows][kKeys + 1];
  AttentionPlace p = attention_place(a, a.n_queries);
  int64_t query = p.first + p.row, end = a.n_keys;
  if (a.is_causal && end > p.first + kAttentionRows) end = p.first + kAttentionRows;
  load_rows<T>(queries, a.query, p, p.first, a.n_queries, a.width);
  load_rows<T>(grads, a.grad, p, p.first, a.n_queries, a.value_width);
  __syncthreads();
  bool is_active = query < a.n_queries;
  float dot = 0, stat = 0, totals[kColumnsPerLane] = {};
  if (is_active) {
    const T* out = head_of<const T>(a.out, p) + query * a.out.row;
    for (int i = p.lane; i < a.value_width; i += kAttentionLanes)
      dot = ::fmaf(grads[p.row][i], float(out[i]), dot);
    stat = a.stats[p.number * a.n_queries + query];
  }
  dot = sum_lanes(dot);
  if (is_active && p.lane == 0) a.dots[p.number * a.n_queries + query] = dot;
  for (int64_t first = 0; first < end; first += kKeys) {
    __syncthreads();
    load_rows<T>(keys, a.key, p, first, a.n_keys, a.width);
    load_rows<T>(values, a.value, p, first, a.n_keys, a.value_width);
    __syncthreads();
    float to_score = 0;
    if (sees(a, query, first + p.lane)) {
      float weight = ::expf(product_of(queries[p.row], keys[p.lane], a.width) * a.scale - stat);
      float to_weight = product_of(grads[p.row], values[p.lane], a.value_width);
      to_score = weight * (to_weight - dot) * a.scale;
    }
    to_scores[p.row][p.lane] = to_score;
    __syncwarp();
    add_rows<kKeys>(totals, to_scores[p.row], keys, p.lane, a.width);
  }
  if (is_active) store_row<T>(a.to_query, p, query, totals, 1.0f, a.width);
}

template <class T>
FACULA_FN void attention_to_keys(const AttentionArguments& a) {
  constexpr int kQueries = kAttentionLanes;
  __shared__ AttentionTile<kAttentionRows> keys, values;
  __shared__ AttentionTile<kQueries> queries, grads;
  __shared__ float weights[kAttentionRows][kQueries + 1], to_scores[kAttentionRows][kQueries + 1];
  AttentionPlace p = attention_place(a, a.n_keys);
  int64_t key = p.first + p.row;
  load_rows<T>(keys, a.key, p, p.first, a.n_keys, a.width);
  load_rows<T>(values, a.value, p, p.first, a.n_keys, a.value_width);
  float to_key[kColumnsPerLane] = {}, to_value[kColumnsPerLane] = {};
  for (int64_t first = a.is_causal ? p.first : 0; first < a.n_queries; first += kQueries) {
    __syncthreads();
    load_rows<T>(queries, a.query, p, first, a.n_queries, a.width);
    load_rows<T>(grads, a.grad, p, first, a.n_queries, a.value_width);
    __syncthreads();
    int64_t query = first + p.lane, at = p.number * a.n_queries + query;
    float weight = 0, to_score = 0;
    if (sees(a, query, key)) {
      float score = product_of(keys[p.row], queries[p.lane], a.width) * a.scale;
      weight = ::expf(score - a.stats[at]);
      float to_weight = product_of(values[p.row], grads[p.lane], a.value_width);
      to_score = weight * (to_weight - a.dots[at]) * a.scale;
    }
    weights[p.row][p.lane] = weight;
    to_scores[p.row][p.lane] = to_score;
    __syncwarp();
    add_rows<kQueries>(to_value, weights[p.row], grads, p.lane, a.value_width);
    add_rows<kQueries>(to_key, to_scores[p.row], queries, p.lane, a.width);
  }
  if (key >= a.n_keys) return;
  store_row<T>(a.to_key, p, key, to_key, 1.0f, a.width);
  store_row<T>(a.to_value, p, key, to_value, 1.0f, a.value_width);
}

}  // namespace facula

#endif
