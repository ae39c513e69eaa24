"""TensorLy on PyTorch tensors: decompositions, a regression, and factors learnt by gradients."""

import tensorly as tl
import torch
from tensorly.decomposition import (
    constrained_parafac,
    non_negative_parafac,
    parafac,
    robust_pca,
    tensor_train,
    tucker,
)
from tensorly.regression.cp_regression import CPRegressor

tl.set_backend("pytorch")
torch.manual_seed(0)
rng = tl.check_random_state(1234)
x = tl.tensor(rng.random_sample((6, 5, 4)), dtype=torch.float64)


def show(name, fit):
    print(f"{name} {tl.norm(x - fit):.5f}")


show("cp", tl.cp_to_tensor(parafac(x, rank=3, init="random", random_state=0, n_iter_max=20)))
show("cp svd", tl.cp_to_tensor(parafac(x, rank=3, init="svd", normalize_factors=True)))
show("cp >= 0", tl.cp_to_tensor(non_negative_parafac(x, rank=3, init="svd", n_iter_max=20)))
show("bounded", tl.cp_to_tensor(constrained_parafac(x, rank=2, non_negative=True, init="svd")))
show("tucker", tl.tucker_to_tensor(tucker(x, rank=[3, 3, 2], n_iter_max=20)))
show("train", tl.tt_to_tensor(tensor_train(x, rank=[1, 3, 3, 1])))
low, sparse = robust_pca(x, reg_E=0.1, n_iter_max=20)
print(f"{tl.norm(low):.5f} {tl.norm(sparse):.5f}")

features = tl.tensor(rng.random_sample((20, 4, 3)), dtype=torch.float64)
target = tl.tensor(rng.random_sample(20), dtype=torch.float64)
model = CPRegressor(weight_rank=2, n_iter_max=10, reg_W=1, verbose=0, random_state=0)
model.fit(features, target)
print(f"{model.predict(features).sum():.5f}")

factors = [torch.rand(n, 2, dtype=torch.float64, requires_grad=True) for n in x.shape]
optimizer = torch.optim.Adam(factors, lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    loss = tl.norm(tl.cp_to_tensor((None, factors)) - x, 2)
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.6f}")
