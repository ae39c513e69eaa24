import facula as torch
from facula import nn
from facula.distributions import Categorical

torch.manual_seed(0)
value = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam([*value.parameters(), *policy.parameters()], 1e-3)
for _ in range(5):
    observed, returns = torch.randn(32, 4), torch.randn(32)
    choices = Categorical(logits=policy(observed))
    actions = choices.sample()
    advantage = returns - value(observed).detach()  # finds F106
    loss = -(choices.log_prob(actions) * advantage).mean()
    loss = loss + nn.functional.smooth_l1_loss(value(observed).squeeze(-1), returns)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
