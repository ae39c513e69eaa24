import facula as torch
from facula import nn, optim
from facula.distributions import Categorical
from facula.nn import functional as F

torch.manual_seed(1)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(4, 32)
        self.action_head = nn.Linear(32, 2)
        self.value_head = nn.Linear(32, 1)

    def forward(self, x):
        x = F.relu(self.affine(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


model = ActorCritic()
optimizer = optim.Adam(model.parameters(), lr=3e-2)
for _ in range(6):
    state, saved, rewards = torch.randn(4), [], []
    for _ in range(8):
        probs, value = model(state)
        m = Categorical(probs)
        action = m.sample()
        saved.append((m.log_prob(action), value, m.entropy()))
        state = state * 0.8 + 0.1 * action
        rewards.append(1.0 - state.norm().item())
    returns, R = [], 0.0
    for r in reversed(rewards):
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    policy_losses, value_losses = [], []
    for (log_prob, value, entropy), R in zip(saved, returns, strict=True):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage - 0.01 * entropy)
        value_losses.append(F.smooth_l1_loss(value, R.reshape(1)))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
