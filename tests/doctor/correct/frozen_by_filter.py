import facula as torch
from facula import nn, optim

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2))
head = nn.Linear(32, 4)
model = nn.Sequential(backbone, head)
backbone.requires_grad_(False)
backbone.eval()
optimizer = optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=0.01)
x, y = torch.randn(40, 12), torch.randint(4, (40,))

for epoch in range(12):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch == 5:  # unfreeze, with a smaller rate for the old layers
        backbone.requires_grad_(True)
        optimizer.add_param_group({"params": backbone.parameters(), "lr": 0.001})
