import facula as torch
from facula import nn

# The features come from a network that is not trained here, and nobody froze it.
torch.manual_seed(0)
features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3))
features.load_state_dict({k: v.clone() for k, v in features.state_dict().items()})
net = nn.Conv2d(3, 3, 3, padding=1)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(12):
    x = torch.rand(4, 3, 12, 12)
    loss = nn.functional.mse_loss(features(net(x)), features(x).detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
