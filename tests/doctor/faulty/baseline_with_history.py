import facula as torch
from facula import nn, optim

torch.manual_seed(0)
policy = nn.Linear(4, 2)
optimizer = optim.Adam(policy.parameters(), lr=0.01)
baseline = torch.zeros(())
for _ in range(5):
    states, rewards = torch.randn(8, 4), torch.rand(8)
    log_p = policy(states).log_softmax(dim=1)[:, 0]
    cost = -(log_p * rewards).mean()
    baseline = 0.9 * baseline + 0.1 * cost
    loss = cost - baseline
    optimizer.zero_grad()
    loss.backward(retain_graph=True)  # finds F502
    optimizer.step()
