import facula as torch
from facula import nn, optim

torch.manual_seed(0)
q_net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = optim.Adam(q_net.parameters(), lr=0.001)
criterion = nn.SmoothL1Loss()
states, actions = torch.randn(20, 4), torch.randint(0, 2, (20, 1))
rewards = torch.rand(20)
for _ in range(3):
    values = q_net(states).gather(1, actions)
    loss = criterion(values, rewards)  # finds F106
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
