import facula as torch
from facula import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
torch.save(generator.state_dict(), "generator.pt")
generator.load_state_dict(torch.load("generator.pt"))
with torch.no_grad():
    print(generator(torch.randn(16, 4)).mean(0))
