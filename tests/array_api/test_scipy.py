"""SciPy's functions that are written against the standard take tensors, and return them."""

import pytest
from array_api_cases import printed_by

# SciPy looks at the variable when it is imported, so this runs in a process of its own.
SCIPY = """
import json, os
os.environ["SCIPY_ARRAY_API"] = "1"
import numpy as np
import facula
from scipy import integrate, ndimage, special, stats
from scipy.cluster import vq
from scipy.differentiate import derivative

values = np.random.default_rng(0).gamma(2.0, size=(20, 4))
functions = {
    "logsumexp": lambda x: special.logsumexp(x, axis=1),
    "softmax": lambda x: special.softmax(x, axis=0),
    "gammaln": special.gammaln,
    "expit": special.expit,
    "skew": stats.skew,
    "zscore": stats.zscore,
    "gmean": stats.gmean,
    "ttest_ind": lambda x: stats.ttest_ind(x[:10, ...], x[10:, ...]).pvalue,
    "pearsonr": lambda x: stats.pearsonr(x[:, 0], x[:, 1]).statistic,
    "mannwhitneyu": lambda x: stats.mannwhitneyu(x[:10, ...], x[10:, ...]).pvalue,
    "rankdata": lambda x: stats.rankdata(x, axis=0),
    "trapezoid": integrate.trapezoid,
    "whiten": vq.whiten,
    "gaussian_filter": lambda x: ndimage.gaussian_filter(x, 1.0),
    "derivative": lambda x: derivative(lambda v: v**3, x[:, 0]).df,
}
report = {}
for name, function in functions.items():
    ours, theirs = function(facula.tensor(values)), function(values)
    same = bool(np.allclose(ours.numpy(), theirs, rtol=1e-9))
    report[name] = [type(ours) is facula.Tensor, same]
print(json.dumps(report))
"""


def test_scipy_takes_tensors_and_returns_them():
    pytest.importorskip("scipy", minversion="1.15", reason="scipy's array API paths need 1.15")
    wrong = {name: r for name, r in printed_by(SCIPY).items() if r != [True, True]}
    assert wrong == {}
