import facula as torch
from facula import nn
from facula.distributions import Normal

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
critic = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
log_std = nn.Parameter(torch.zeros(1))
optimizer = torch.optim.Adam(
    [
        {"params": actor.parameters()},
        {"params": [log_std]},
        {"params": critic.parameters(), "lr": 1e-3},
    ],
    lr=3e-4,
    eps=1e-5,
)
for _ in range(3):
    states = torch.randn(32, 3)
    with torch.no_grad():
        dist = Normal(actor(states), log_std.exp())
        actions = dist.sample()
        old_log_probs = dist.log_prob(actions).sum(-1)
        values = critic(states).squeeze(-1)
    rewards = -(actions.squeeze(-1) - states[:, 0]).pow(2)
    advantages = rewards - values
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    for _ in range(4):
        for idx in torch.randperm(32).split(8):
            dist = Normal(actor(states[idx]), log_std.exp())
            ratio = (dist.log_prob(actions[idx]).sum(-1) - old_log_probs[idx]).exp()
            surr1 = ratio * advantages[idx]
            surr2 = torch.clamp(ratio, 0.8, 1.2) * advantages[idx]
            value_loss = 0.5 * (critic(states[idx]).squeeze(-1) - rewards[idx]).pow(2).mean()
            loss = -torch.min(surr1, surr2).mean() + value_loss - 0.01 * dist.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*actor.parameters(), log_std, *critic.parameters()], 0.5)
            optimizer.step()
