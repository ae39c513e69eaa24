import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    optimizer.zero_grad()
    model(torch.ones(1, 4)).mean().backward()
    optimizer.step()
    state = {"epoch": epoch, "model": model, "optimizer": optimizer.state_dict()}
    torch.save(state, "checkpoint.pt")  # finds F901
