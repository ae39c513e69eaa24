import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 10), nn.ReLU(), nn.Linear(10, 1), nn.Flatten(0, 1))
loss_fn = nn.MSELoss(reduction="sum")
x = torch.linspace(-3.14, 3.14, 200)
y = torch.sin(x)
xx = x.unsqueeze(-1).pow(torch.tensor([1, 2, 3]))
for t in range(50):
    y_pred = model(xx)
    loss = loss_fn(y_pred, y)
    if t % 10 == 9:
        print(t, loss.item())
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for param in model.parameters():
            param -= 1e-6 * param.grad
