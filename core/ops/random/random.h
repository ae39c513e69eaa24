// Random tensors. The generator's kind decides which numbers: see base/generator.h.
#pragma once
#include <optional>

#include "random/generator.h"
#include "tensor/tensor.h"

namespace facula {

Tensor& uniform_(Tensor& x, double from, double to, Generator& generator);
Tensor& normal_(Tensor& x, double mean, double std, Generator& generator);
Tensor& log_normal_(Tensor& x, double mean, double std, Generator& generator);
Tensor& cauchy_(Tensor& x, double median, double sigma, Generator& generator);
Tensor& exponential_(Tensor& x, double lambd, Generator& generator);
Tensor& geometric_(Tensor& x, double p, Generator& generator);
Tensor& bernoulli_(Tensor& x, double p, Generator& generator);
Tensor& bernoulli_(Tensor& x, const Tensor& p, Generator& generator);
Tensor& random_(Tensor& x, Generator& generator);
// Integers in [from, to), or from `from` up to what the dtype holds.
Tensor& random_(Tensor& x, int64_t from, std::optional<int64_t> to, Generator& generator);

Tensor bernoulli(const Tensor& p, Generator& generator);
Tensor bernoulli(const Tensor& like, double p, Generator& generator);
// Fresh tensors of the broadcast shape, or `out`.
Tensor normal(const Tensor& mean, const Tensor& std, Generator& generator, const Tensor& out = {});
Tensor normal(const Tensor& mean, double std, Generator& generator, const Tensor& out = {});
Tensor normal(double mean, const Tensor& std, Generator& generator, const Tensor& out = {});
Tensor randperm(int64_t n, DType dtype, Generator& generator);
Tensor multinomial(const Tensor& weights, int64_t n_samples, bool has_replacement,
                   Generator& generator);
Tensor poisson(const Tensor& rate, Generator& generator);
// Without a derivative so far: refuses an alpha that requires one.
Tensor standard_gamma(const Tensor& alpha, Generator& generator);
Tensor binomial(const Tensor& count, const Tensor& prob, Generator& generator);

}  // namespace facula
