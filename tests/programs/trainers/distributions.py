"""Samples and densities of every distribution, and what is learnt through them."""

import torch
import torch.distributions as D
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import constraints, transforms
from torch.distributions.utils import logits_to_probs

torch.manual_seed(0)
logits = torch.zeros(3, requires_grad=True)
o = torch.optim.Adam([logits], 0.1)
base = 0.0
for _i in range(10):
    d = D.Categorical(logits=logits)
    a = d.sample((8,))
    r = (a == 2).float()
    loss = -(d.log_prob(a) * (r - base)).mean() - 0.01 * d.entropy()
    o.zero_grad()
    loss.backward()
    o.step()
    base = 0.9 * base + 0.1 * r.mean().item()
print(logits_to_probs(logits.detach()), d)
mu, rho = nn.Parameter(torch.zeros(2)), nn.Parameter(-torch.ones(2))
op = torch.optim.SGD([mu, rho], 0.01)
x = torch.randn(20, 2)
y = x @ torch.tensor([1.0, -2.0]) + 0.1 * torch.randn(20)
for _i in range(5):
    q = D.Normal(mu, F.softplus(rho))
    w = q.rsample((4,))
    ll = D.Normal(torch.einsum("nd,sd->sn", x, w), 0.5).log_prob(y).sum(-1).mean()
    kl = D.kl_divergence(q, D.Normal(torch.zeros(2), torch.ones(2))).sum()
    (kl - ll).backward()
    op.step()
    op.zero_grad()
    print(f"{(kl - ll).item():.3f}")
for d in (
    D.Gamma(2.0, 3.0),
    D.Dirichlet(torch.ones(3)),
    D.StudentT(4.0),
    D.Poisson(3.0),
    D.Bernoulli(0.3),
    D.Laplace(0.0, 1.0),
    D.LogNormal(0.0, 1.0),
    D.Beta(2.0, 2.0),
    D.Exponential(1.0),
    D.Uniform(0.0, 2.0),
    D.Gumbel(0.0, 1.0),
    D.Cauchy(0.0, 1.0),
    D.HalfNormal(1.0),
    D.Geometric(0.4),
    D.Multinomial(5, torch.ones(3) / 3),
    D.VonMises(torch.tensor(0.0), torch.tensor(4.0)),
    D.Weibull(1.0, 2.0),
    D.Pareto(1.0, 2.0),
    D.OneHotCategorical(torch.ones(3)),
    D.RelaxedOneHotCategorical(torch.tensor(0.5), logits=torch.zeros(3)),
    D.MixtureSameFamily(
        D.Categorical(torch.ones(2)), D.Normal(torch.tensor([0.0, 3.0]), torch.ones(2))
    ),
    D.Kumaraswamy(torch.tensor(2.0), torch.tensor(3.0)),
    D.NegativeBinomial(3.0, 0.5),
    D.Wishart(torch.tensor(3.0), torch.eye(2)),
    D.LKJCholesky(3, 1.0),
    D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2)),
    D.ContinuousBernoulli(0.4),
    D.FisherSnedecor(torch.tensor(3.0), torch.tensor(4.0)),
    D.InverseGamma(torch.tensor(3.0), torch.tensor(2.0)),
):
    s = d.sample((2,))
    print(type(d).__name__, s.flatten()[:3], d.log_prob(s).sum())
try:
    D.Normal(0.0, -1.0)
except ValueError as e:
    print(str(e).splitlines()[0])
fl = [
    transforms.AffineTransform(1.0, 2.0),
    transforms.SigmoidTransform(),
    transforms.ExpTransform().inv,
]
td = D.TransformedDistribution(D.Normal(0.0, 1.0), fl)
z = td.sample()
print(z, td.log_prob(z))
print(
    D.biject_to(constraints.simplex)(torch.zeros(2)),
    F.gumbel_softmax(torch.zeros(3), tau=0.5, hard=True),
    torch.normal(0.0, 1.0, (2,)),
    torch.poisson(torch.ones(2) * 3),
    torch.empty(2).exponential_(),
    torch.empty(2).geometric_(0.3),
    torch.empty(2).log_normal_(),
    torch.empty(2).cauchy_(),
    torch.randperm(5),
    torch.binomial(torch.tensor([5.0]), torch.tensor([0.5])),
)
