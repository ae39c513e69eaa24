import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
q, q_target = (nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1)) for _ in range(2))
q_target.load_state_dict(q.state_dict())
log_alpha = torch.zeros(1, requires_grad=True)
actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-4)
q_opt = torch.optim.Adam(q.parameters(), lr=3e-4)
alpha_opt = torch.optim.Adam([log_alpha], lr=3e-4)


def act(state):
    mean, log_std = actor(state).chunk(2, dim=-1)
    dist = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
    u = dist.rsample()
    a = torch.tanh(u)
    log_prob = dist.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)
    return a, log_prob.sum(-1, keepdim=True)


for _ in range(15):
    state, next_state = torch.randn(16, 3), torch.randn(16, 3)
    action, reward = torch.rand(16, 1) * 2 - 1, torch.randn(16, 1)
    with torch.no_grad():
        next_action, next_log_prob = act(next_state)
        next_q = q_target(torch.cat([next_state, next_action], 1))
        y = reward + 0.99 * (next_q - log_alpha.exp() * next_log_prob)
    q_loss = F.mse_loss(q(torch.cat([state, action], 1)), y)
    q_opt.zero_grad()
    q_loss.backward()
    q_opt.step()

    pi, log_pi = act(state)
    actor_loss = (log_alpha.exp().detach() * log_pi - q(torch.cat([state, pi], 1))).mean()
    actor_opt.zero_grad()
    actor_loss.backward()  # leaves gradients in q, which q_opt zeroes before its next backward
    actor_opt.step()

    alpha_loss = -(log_alpha * (log_pi + 1.0).detach()).mean()
    alpha_opt.zero_grad()
    alpha_loss.backward()
    alpha_opt.step()
    for p, t in zip(q.parameters(), q_target.parameters(), strict=True):
        t.data.copy_(0.995 * t.data + 0.005 * p.data)
