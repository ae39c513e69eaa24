"""Pyro: variational inference with four guides, NUTS, enumeration, flows, a Bayesian layer."""

import pyro
import pyro.distributions as dist
import pyro.distributions.transforms as transforms
import torch
from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer.autoguide import (
    AutoDelta,
    AutoLowRankMultivariateNormal,
    AutoMultivariateNormal,
    AutoNormal,
)
from pyro.nn import PyroModule, PyroSample

pyro.set_rng_seed(0)
x = torch.linspace(-1, 1, 20)
y = 2 * x + 0.5 + 0.1 * torch.randn(20)


def line(x, y=None):
    slope = pyro.sample("slope", dist.Normal(0, 1))
    offset = pyro.sample("offset", dist.Normal(0, 1))
    noise = pyro.sample("noise", dist.HalfNormal(1.0))
    with pyro.plate("points", len(x)):
        return pyro.sample("y", dist.Normal(slope * x + offset, noise), obs=y)


@config_enumerate
def mixture(data):
    weights = pyro.sample("weights", dist.Dirichlet(torch.ones(2)))
    with pyro.plate("groups", 2):
        centre = pyro.sample("centre", dist.Normal(0, 5))
    with pyro.plate("data", len(data)):
        group = pyro.sample("group", dist.Categorical(weights))
        pyro.sample("seen", dist.Normal(centre[group], 1.0), obs=data)


class Regression(PyroModule):
    def __init__(self):
        super().__init__()
        self.layer = PyroModule[torch.nn.Linear](1, 1)
        self.layer.weight = PyroSample(dist.Normal(0.0, 1.0).expand([1, 1]).to_event(2))

    def forward(self, x, y=None):
        mean = self.layer(x[:, None]).squeeze(-1)
        with pyro.plate("points", len(x)):
            return pyro.sample("y", dist.Normal(mean, 0.1), obs=y)


def infer(model, guide, *data, n_steps=60, loss=None):
    pyro.clear_param_store()
    pyro.set_rng_seed(1)
    svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), loss or Trace_ELBO())
    for _ in range(n_steps):
        value = svi.step(*data)
    return value


for kind in (AutoNormal, AutoMultivariateNormal, AutoDelta, AutoLowRankMultivariateNormal):
    guide = kind(line)
    print(f"{kind.__name__} {infer(line, guide, x, y):.3f}")
    print({name: round(value.item(), 3) for name, value in guide.median(x, y).items()})
print(Predictive(line, guide=guide, num_samples=5)(x)["y"].mean(0)[:3])

pyro.clear_param_store()
sampler = MCMC(NUTS(line), num_samples=15, warmup_steps=15, disable_progbar=True)
pyro.set_rng_seed(0)
sampler.run(x, y)
print({name: round(value.mean().item(), 3) for name, value in sampler.get_samples().items()})

data = torch.cat([torch.randn(15) - 3, torch.randn(15) + 3])
guide = AutoDelta(pyro.poutine.block(mixture, expose=["weights", "centre"]))
loss = TraceEnum_ELBO(max_plate_nesting=1)
print(f"mixture {infer(mixture, guide, data, loss=loss):.3f}", guide.median(data)["centre"])

model = Regression()
print(f"layer {infer(model, AutoNormal(model), x, y):.2f}")

pyro.set_rng_seed(0)
for flow in (transforms.spline_coupling(2, count_bins=4), transforms.affine_autoregressive(2)):
    base = dist.Normal(torch.zeros(2), torch.ones(2)).to_event(1)
    density = dist.TransformedDistribution(base, [flow]).log_prob(torch.randn(3, 2))
    print(type(flow).__name__, density.detach())
