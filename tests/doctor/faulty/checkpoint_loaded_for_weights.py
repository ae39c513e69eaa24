import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = optim.Adam(model.parameters())
checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
torch.save(checkpoint, "checkpoint.pt")

again = nn.Linear(4, 1)
again.load_state_dict(torch.load("checkpoint.pt"), False)  # finds F902
