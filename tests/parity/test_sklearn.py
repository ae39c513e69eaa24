"""scikit-learn's estimators with array API dispatch take tensors, and return them."""

from array_api_cases import printed_by

# scikit-learn wants SciPy's paths open, too, and SciPy looks at the variable when it is imported.
SKLEARN = """
import json, os
os.environ["SCIPY_ARRAY_API"] = "1"
import numpy as np
import facula
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import LabelEncoder, MinMaxScaler, StandardScaler

rng = np.random.default_rng(0)
values = rng.normal(size=(60, 5))
labels = (values[:, 0] + 0.3 * rng.normal(size=60) > 0).astype("int64")
mixture = dict(init_params="random_from_data", random_state=0)
functions = {
    "StandardScaler": lambda x, y: StandardScaler().fit_transform(x),
    "MinMaxScaler": lambda x, y: MinMaxScaler().fit_transform(x),
    "LabelEncoder": lambda x, y: LabelEncoder().fit_transform(y),
    "PCA": lambda x, y: abs(PCA(2, svd_solver="full").fit_transform(x)),
    "Ridge": lambda x, y: Ridge(solver="svd").fit(x, x[:, 0]).predict(x),
    "LogisticRegression": lambda x, y: LogisticRegression(tol=1e-10).fit(x, y).predict_proba(x),
    "LinearDiscriminantAnalysis": lambda x, y: LinearDiscriminantAnalysis().fit(x, y).predict(x),
    "GaussianNB": lambda x, y: GaussianNB().fit(x, y).predict(x),
    "GaussianMixture": lambda x, y: GaussianMixture(2, **mixture).fit(x).means_,
    "rbf_kernel": lambda x, y: rbf_kernel(x),
    "euclidean_distances": lambda x, y: euclidean_distances(x),
    "accuracy_score": lambda x, y: accuracy_score(y, x[:, 1] > 0),
    "r2_score": lambda x, y: r2_score(x[:, 0], x[:, 1]),
}
report = {}
for name, function in functions.items():
    with config_context(array_api_dispatch=True):
        ours = function(facula.tensor(values), facula.tensor(labels))
        theirs = function(values, labels)
    is_tensor = type(ours) is facula.Tensor
    array = ours.numpy() if is_tensor else ours
    same = bool(np.allclose(array, theirs, rtol=1e-6, atol=1e-6))
    report[name] = [is_tensor or name.endswith("score"), same]
print(json.dumps(report))
"""


def test_sklearn_takes_tensors_and_returns_them():
    wrong = {name: r for name, r in printed_by(SKLEARN).items() if r != [True, True]}
    assert wrong == {}
