import facula as torch
from facula import nn
from facula.distributions import Normal, kl_divergence

torch.manual_seed(0)


class BayesLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(n_out, n_in) * 0.1)
        self.rho = nn.Parameter(torch.full((n_out, n_in), -3.0))
        self.prior = Normal(torch.zeros(n_out, n_in), torch.ones(n_out, n_in))

    def forward(self, x):
        posterior = Normal(self.mu, nn.functional.softplus(self.rho))
        self.kl = kl_divergence(posterior, self.prior).sum()
        return x @ posterior.rsample().t()


l1, l2 = BayesLinear(2, 16), BayesLinear(16, 1)
net = nn.Sequential(l1, nn.Tanh(), l2)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.randn(40, 2)
y = x.sum(1, keepdim=True).sin()
for _ in range(15):
    prediction = net(x)
    nll = -Normal(prediction, 0.1).log_prob(y).sum()
    loss = nll + (l1.kl + l2.kl) / 10
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
