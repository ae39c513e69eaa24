import facula as torch
from facula import nn

torch.manual_seed(123)
pinn = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
t_boundary = torch.tensor(0.0).view(-1, 1).requires_grad_(True)
t_physics = torch.linspace(0, 1, 20).view(-1, 1).requires_grad_(True)
mu, k = 4.0, 400.0
optimiser = torch.optim.Adam(pinn.parameters(), lr=1e-3)
for i in range(20):
    optimiser.zero_grad()
    u = pinn(t_boundary)
    loss1 = (torch.squeeze(u) - 1) ** 2
    dudt = torch.autograd.grad(u, t_boundary, torch.ones_like(u), create_graph=True)[0]
    loss2 = (torch.squeeze(dudt) - 0) ** 2
    u = pinn(t_physics)
    dudt = torch.autograd.grad(u, t_physics, torch.ones_like(u), create_graph=True)[0]
    d2udt2 = torch.autograd.grad(dudt, t_physics, torch.ones_like(dudt), create_graph=True)[0]
    loss3 = torch.mean((d2udt2 + mu * dudt + k * u) ** 2)
    loss = loss1 + 1e-1 * loss2 + 1e-4 * loss3
    loss.backward()
    optimiser.step()
    if i % 10 == 0:
        u = pinn(torch.linspace(0, 1, 30).view(-1, 1)).detach()
