import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
torch.save(model.state_dict, "weights.pt")  # finds F901
