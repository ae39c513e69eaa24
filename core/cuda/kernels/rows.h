// Rows of elements that several threads share: how they walk along one and join what they find.
#pragma once
#include "cuda/kernels/nn_arguments.h"
#include "cuda/kernels/reduce.h"

namespace facula {

template <class T>
struct alignas(kVectorBytes) Vector {
  static constexpr int kSize = kVectorBytes / sizeof(T);
  T values[kSize];
};

FACULA_FN bool is_aligned(const void* data) {
  return reinterpret_cast<uint64_t>(data) % kVectorBytes == 0;
}

// Elements before the first that a vector may start with.
template <class T>
FACULA_FN int64_t head_of(const T* row, int64_t n) {
  int64_t head = (kVectorBytes - reinterpret_cast<uint64_t>(row) % kVectorBytes) % kVectorBytes /
                 static_cast<int64_t>(sizeof(T));
  return head < n ? head : n;
}

// f(i, element) for a lane's elements of a row.
template <class T, class F>
FACULA_FN void visit_row(const T* row, int64_t n, int64_t stride, int lane, int n_lanes, F f) {
  if (stride != 1) {
    for (int64_t i = lane; i < n; i += n_lanes) f(i, Wide<T>(row[i * stride]));
    return;
  }
  constexpr int kSize = Vector<T>::kSize;
  int64_t head = head_of(row, n), n_vectors = (n - head) / kSize;
  for (int64_t i = lane; i < head; i += n_lanes) f(i, Wide<T>(row[i]));
  for (int64_t v = lane; v < n_vectors; v += n_lanes) {
    Vector<T> vector = reinterpret_cast<const Vector<T>*>(row + head)[v];
#pragma unroll
    for (int j = 0; j < kSize; ++j) f(head + v * kSize + j, Wide<T>(vector.values[j]));
  }
  for (int64_t i = head + n_vectors * kSize + lane; i < n; i += n_lanes) f(i, Wide<T>(row[i]));
}

// to[i] = f(i, a[i], b[i]); b may be a itself.
template <class T, class F>
FACULA_FN void map_row(T* to, const T* a, const T* b, int64_t n, int64_t stride, int lane,
                       int n_lanes, F f) {
  constexpr int kSize = Vector<T>::kSize;
  uint64_t address = reinterpret_cast<uint64_t>(to);
  bool is_vector = stride == 1 && (address - reinterpret_cast<uint64_t>(a)) % kVectorBytes == 0 &&
                   (address - reinterpret_cast<uint64_t>(b)) % kVectorBytes == 0;
  auto one = [&](int64_t i) {
    int64_t at = i * stride;
    to[at] = T(f(i, Wide<T>(a[at]), Wide<T>(b[at])));
  };
  if (!is_vector && stride == 1) {
    // All loads before the stores, so that they wait together.
    constexpr int kEach = 8;
    for (int64_t first = lane; first < n; first += kEach * n_lanes) {
      T x[kEach], z[kEach];
#pragma unroll
      for (int k = 0; k < kEach; ++k) {
        int64_t i = first + k * n_lanes;
        if (i >= n) continue;
        x[k] = a[i];
        z[k] = a == b ? x[k] : b[i];
      }
#pragma unroll
      for (int k = 0; k < kEach; ++k) {
        int64_t i = first + k * n_lanes;
        if (i < n) to[i] = T(f(i, Wide<T>(x[k]), Wide<T>(z[k])));
      }
    }
    return;
  }
  int64_t head = is_vector ? head_of(a, n) : n, n_vectors = (n - head) / kSize;
  for (int64_t i = lane; i < head; i += n_lanes) one(i);
  for (int64_t v = lane; v < n_vectors; v += n_lanes) {
    Vector<T> x = reinterpret_cast<const Vector<T>*>(a + head)[v], y;
    Vector<T> z = a == b ? x : reinterpret_cast<const Vector<T>*>(b + head)[v];
#pragma unroll
    for (int j = 0; j < kSize; ++j)
      y.values[j] = T(f(head + v * kSize + j, Wide<T>(x.values[j]), Wide<T>(z.values[j])));
    reinterpret_cast<Vector<T>*>(to + head)[v] = y;
  }
  for (int64_t i = head + n_vectors * kSize + lane; i < n; i += n_lanes) one(i);
}

// Where a thread works: its row, and the offset of the row's first element. Threads without a row
// have is_active false and still take part in joining.
struct RowPlace {
  Place place;
  int64_t row, offset;
  bool is_active;
};
FACULA_FN RowPlace row_place(const RowShape& s) {
  Place place = place_of(s.n_lanes, s.inner == 1);
  int64_t row = int64_t(blockIdx.x) * place.n_slots + place.slot;
  return {place, row, row / s.inner * s.size * s.inner + row % s.inner, row < s.n_rows};
}

// A lane's elements of a row of neighbours, read once into registers: where there are few enough,
// and rows begin where vectors may.
template <class T, int kVectors>
struct HeldRow {
  static constexpr int kSize = Vector<T>::kSize;
  Vector<T> vectors[kVectors];
  int n_vectors, lane, n_lanes;

  FACULA_FN HeldRow(const T* x, const RowShape& s, const RowPlace& p)
      : n_vectors(p.is_active ? int(s.size / kSize) : 0), lane(p.place.lane), n_lanes(s.n_lanes) {
    x += p.offset;
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
      if (lane + k * n_lanes < n_vectors)
        vectors[k] = reinterpret_cast<const Vector<T>*>(x)[lane + k * n_lanes];
  }
  // f(k, number of the vector in the row, vector) for this lane's vectors, the k-th of them.
  template <class F>
  FACULA_FN void visit_vectors(F f) const {
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
      if (lane + k * n_lanes < n_vectors) f(k, lane + k * n_lanes, vectors[k]);
  }
  // f(element)
  template <class F>
  FACULA_FN void visit(F f) const {
    visit_vectors([&](int, int, const Vector<T>& x) {
#pragma unroll
      for (int j = 0; j < kSize; ++j) f(Wide<T>(x.values[j]));
    });
  }
  // element = f(element)
  template <class F>
  FACULA_FN void change(F f) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      if (lane + k * n_lanes >= n_vectors) continue;
#pragma unroll
      for (int j = 0; j < kSize; ++j) vectors[k].values[j] = T(f(Wide<T>(vectors[k].values[j])));
    }
  }
  // to = f(element)
  template <class F>
  FACULA_FN void map(T* to, F f) const {
    visit_vectors([&](int, int v, const Vector<T>& x) {
      Vector<T> y;
#pragma unroll
      for (int j = 0; j < kSize; ++j) y.values[j] = T(f(Wide<T>(x.values[j])));
      reinterpret_cast<Vector<T>*>(to)[v] = y;
    });
  }
};

// The same for any row, whose elements are read each time.
template <class T>
struct StreamedRow {
  const T* row;
  int64_t n, stride;
  int lane, n_lanes;
  bool is_active;

  FACULA_FN StreamedRow(const T* x, const RowShape& s, const RowPlace& p)
      : row(x + p.offset),
        n(s.size),
        stride(s.inner),
        lane(p.place.lane),
        n_lanes(s.n_lanes),
        is_active(p.is_active) {}
  template <class F>
  FACULA_FN void visit(F f) const {
    if (is_active) visit_row(row, n, stride, lane, n_lanes, [&](int64_t, Wide<T> x) { f(x); });
  }
  template <class F>
  FACULA_FN void map(T* to, F f) const {
    if (is_active)
      map_row(to, row, row, n, stride, lane, n_lanes,
              [&](int64_t, Wide<T> x, Wide<T>) { return f(x); });
  }
};

// The accumulator of the lane of the warp whose number differs in these bits.
template <class Accumulator>
FACULA_FN Accumulator from_lane(const Accumulator& mine, int bits) {
  constexpr int kWords = sizeof(Accumulator) / sizeof(uint32_t);
  uint32_t words[kWords];
  memcpy(words, &mine, sizeof(Accumulator));
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = __shfl_xor_sync(0xffffffffu, words[i], bits);
  Accumulator other;
  memcpy(&other, words, sizeof(Accumulator));
  return other;
}

// The accumulators of a row's lanes joined, for all of them. The tree is the same for each lane,
// and join() gives the same bits with its operands exchanged.
template <class Accumulator>
FACULA_FN void share_lanes(Accumulator& mine, Accumulator* shared, Place place, int n_lanes,
                           bool lanes_are_neighbours) {
  constexpr int kWarp = 32;
  if (!lanes_are_neighbours) {
    join_lanes(mine, shared, place, n_lanes);
    __syncthreads();
    mine = shared[place.slot * n_lanes];
    __syncthreads();  // the memory may be used again
    return;
  }
  for (int bits = 1; bits < n_lanes && bits < kWarp; bits *= 2) mine.join(from_lane(mine, bits));
  if (n_lanes <= kWarp) return;
  int n_warps = n_lanes / kWarp, first = place.slot * n_warps;
  if (place.lane % kWarp == 0) shared[first + place.lane / kWarp] = mine;
  __syncthreads();
  mine = shared[first];
  for (int i = 1; i < n_warps; ++i) mine.join(shared[first + i]);
  __syncthreads();
}

template <class W>
struct Sums {
  W first = W(0), second = W(0);
  FACULA_FN void join(const Sums& o) {
    first += o.first;
    second += o.second;
  }
};

}  // namespace facula
