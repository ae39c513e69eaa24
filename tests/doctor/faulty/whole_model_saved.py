import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
torch.save(model, "model.pth")  # finds F901
