// Elements picked by their rank.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "tensor/tensor.h"

namespace facula {

using ValuesAndIndices = std::pair<Tensor, Tensor>;

Tensor median(const Tensor& x);
Tensor nanmedian(const Tensor& x);
ValuesAndIndices median(const Tensor& x, int64_t dim, bool keepdim);
ValuesAndIndices nanmedian(const Tensor& x, int64_t dim, bool keepdim);
ValuesAndIndices mode(const Tensor& x, int64_t dim, bool keepdim);
ValuesAndIndices kthvalue(const Tensor& x, int64_t k, int64_t dim, bool keepdim);

// q: one probability (0-d) or several (1-d), which become the first dimension. Of all elements
// without a dim.
Tensor quantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                const std::string& interpolation, bool ignore_nan);

// Where the elements of input belong in sequences, which lie in the last dimension in increasing
// order, or are put in it by a sorter.
Tensor searchsorted(const Tensor& sequence, const Tensor& input, bool is_right, bool as_int32,
                    const Tensor& sorter);

// How many elements of x, float32 or float64, fall into each of equal intervals from low to high,
// the ends included.
Tensor count_bins(const Tensor& x, int64_t bins, double low, double high);

}  // namespace facula
