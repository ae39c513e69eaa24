"""torchdiffeq and torchsde: solvers, gradients by the adjoint, events, Brownian motion."""

import torch
import torchsde
from torch import nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


class Ball(nn.Module):
    def forward(self, t, state):
        return state[1], torch.full_like(state[1], -9.8)


class Noisy(nn.Module):
    noise_type, sde_type = "general", "ito"

    def __init__(self):
        super().__init__()
        self.drift = nn.Linear(3, 3)
        self.diffusion = nn.Linear(3, 6)

    def f(self, t, y):
        return self.drift(y)

    def g(self, t, y):
        return self.diffusion(y).view(-1, 3, 2)


torch.manual_seed(0)
field, y0, times = Field(), torch.tensor([[2.0, 0.0]]), torch.linspace(0, 1, 6)
for method in ("dopri5", "dopri8", "bosh3", "adaptive_heun", "euler", "rk4", "implicit_adams"):
    print(method, f"{odeint(field, y0, times, method=method).norm().item():.5f}")
optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-2)
for _ in range(5):
    optimizer.zero_grad()
    loss = odeint_adjoint(field, y0, times, rtol=1e-5, atol=1e-6).abs().mean()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
start = torch.tensor([10.0]), torch.tensor([0.0])
landing, _ = odeint_event(
    Ball(), start, torch.tensor(0.0), event_fn=lambda t, state: state[0].squeeze()
)
print(f"{landing.item():.4f}")

torch.manual_seed(1)
noisy, y0 = Noisy(), torch.full((4, 3), 0.1)
motion = torchsde.BrownianInterval(0.0, 1.0, size=(4, 2), entropy=42)
y = torchsde.sdeint(noisy, y0, torch.linspace(0, 1, 5), bm=motion, method="euler", dt=0.05)
y.sum().backward()
print(f"{y.norm().item():.5f} {noisy.drift.weight.grad.norm().item():.5f}")
