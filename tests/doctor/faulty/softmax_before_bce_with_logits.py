import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
optimizer = optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(32, 4), nn.functional.one_hot(torch.randint(0, 3, (32,)), 3).float()
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(input=model(x), target=y)  # finds F103
    loss.backward()
    optimizer.step()
