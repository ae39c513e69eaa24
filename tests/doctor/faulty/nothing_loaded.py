import facula as torch
from facula import nn

torch.manual_seed(0)
trained = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
state = {f"module.{name}": value for name, value in trained.state_dict().items()}
torch.save(state, "weights.pt")

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
model.load_state_dict(torch.load("weights.pt"), strict=False)  # finds F902
