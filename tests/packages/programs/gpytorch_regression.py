"""GPyTorch: an exact process, an approximate one, kernels, tasks that are learnt together."""

import math

import gpytorch
import torch
from gpytorch.kernels import LinearKernel, MaternKernel, PeriodicKernel, RBFKernel, ScaleKernel

torch.manual_seed(0)
train_x = torch.linspace(0, 1, 40)
train_y = torch.sin(train_x * 2 * math.pi) + torch.randn(40) * 0.1


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = ScaleKernel(RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Approximate(gpytorch.models.ApproximateGP):
    def __init__(self, points):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(points.size(0))
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, distribution))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = ScaleKernel(RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Multitask(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.MultitaskMean(gpytorch.means.ConstantMean(), num_tasks=2)
        self.covar_module = gpytorch.kernels.MultitaskKernel(RBFKernel(), num_tasks=2, rank=1)

    def forward(self, x):
        return gpytorch.distributions.MultitaskMultivariateNormal(
            self.mean_module(x), self.covar_module(x)
        )


def train(model, likelihood, objective, x, y, n_steps):
    model.train()
    likelihood.train()
    parameters = {*model.parameters(), *likelihood.parameters()}
    optimizer = torch.optim.Adam(sorted(parameters, key=lambda p: p.numel()), lr=0.05)
    for _ in range(n_steps):
        optimizer.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    likelihood.eval()
    return loss.item()


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Exact(train_x, train_y, likelihood)
objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
print(f"exact {train(model, likelihood, objective, train_x, train_y, 30):.4f}")
print(f"length {model.covar_module.base_kernel.lengthscale.item():.4f}")
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    predicted = likelihood(model(torch.linspace(0, 1, 5)))
    lower, upper = predicted.confidence_region()
print(predicted.mean, lower, upper, sep="\n")

likelihood = gpytorch.likelihoods.BernoulliLikelihood()
model = Approximate(train_x[::5, None].clone())
objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=40)
labels = (train_y > 0).float()
print(f"approximate {train(model, likelihood, objective, train_x[:, None], labels, 20):.4f}")
with torch.no_grad():
    print(likelihood(model(train_x[::10, None])).mean)

likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=2)
both = torch.stack([train_y, torch.cos(train_x * 6)], -1)
model = Multitask(train_x, both, likelihood)
objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
print(f"tasks {train(model, likelihood, objective, train_x, both, 10):.4f}")
with torch.no_grad():
    print(likelihood(model(train_x[:3])).mean)

x = torch.randn(6, 3)
for kernel in (MaternKernel(nu=2.5), PeriodicKernel(), RBFKernel() + LinearKernel()):
    print(f"{type(kernel).__name__} {kernel(x).to_dense().sum().item():.3f}")
