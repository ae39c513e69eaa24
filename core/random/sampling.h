// Samplers: raw contiguous memory in, random numbers out. With an Mt19937 generator every one of
// them gives the numbers of PyTorch 2.13's CPU kernels and leaves the generator in the same state.
// They take the generator's mutex for the whole call. Arguments are checked by the callers, in ops.
#pragma once
#include <cstdint>

#include "random/generator.h"

namespace facula {

// T: Half, BFloat16, float, double. Uniform in [from, to).
template <class T>
void fill_uniform(T* out, int64_t n, double from, double to, Generator& generator);

// PyTorch fills contiguous tensors of 16 elements or more by blocks and all others one by one, and
// the numbers differ: `is_contiguous` is that of the tensor whose elements `out` will become.
template <class T>
void fill_normal(T* out, int64_t n, double mean, double std, bool is_contiguous,
                 Generator& generator);

template <class T>
void fill_log_normal(T* out, int64_t n, double mean, double std, Generator& generator);
template <class T>
void fill_cauchy(T* out, int64_t n, double median, double sigma, Generator& generator);
template <class T>
void fill_exponential(T* out, int64_t n, double rate, Generator& generator);

// T: the floating-point types and int8 to int64, uint8. Number of trials up to the first success.
template <class T>
void fill_geometric(T* out, int64_t n, double p, Generator& generator);

// T: those and bool. One with probability p, else zero.
template <class T>
void fill_bernoulli(T* out, int64_t n, double p, Generator& generator);
// P: float or double; a probability for each element.
template <class T, class P>
void fill_bernoulli(T* out, const P* p, int64_t n, Generator& generator);

// Integers in [0, max], or [0, 2^digits] for floating-point types.
template <class T>
void fill_random(T* out, int64_t n, Generator& generator);
// Integers in [base, base + range); range 0 means all 2^64 values.
template <class T>
void fill_random_range(T* out, int64_t n, int64_t base, uint64_t range, Generator& generator);

// A permutation of 0 .. n-1.
template <class T>
void fill_permutation(T* out, int64_t n, Generator& generator);

// Indices drawn with replacement from n_rows distributions of n_categories weights, n_samples of
// each.
template <class T>
void sample_multinomial(int64_t* out, const T* weights, int64_t n_rows, int64_t n_categories,
                        int64_t n_samples, Generator& generator);
// The same without replacement, given one draw of Exp(1) for each weight.
template <class T>
void choose_by_draws(int64_t* out, const T* weights, const T* draws, int64_t n_rows,
                     int64_t n_categories, int64_t n_samples);

// T: float, double.
template <class T>
void sample_poisson(T* out, const T* rate, int64_t n, Generator& generator);
template <class T>
void sample_standard_gamma(T* out, const T* alpha, int64_t n, Generator& generator);
// Rows of n_categories numbers that sum to 1, each of them strictly between 0 and 1.
template <class T>
void sample_dirichlet(T* out, const T* alpha, int64_t n_rows, int64_t n_categories,
                      Generator& generator);
template <class T>
void sample_binomial(T* out, const T* count, const T* prob, int64_t n, Generator& generator);

}  // namespace facula
