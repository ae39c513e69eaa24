import facula as torch
from facula import nn, optim

torch.manual_seed(0)


def train(model, x, y):
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(12):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()  # finds F307
        optimizer.step  # noqa: B018


train(nn.Linear(4, 1), torch.randn(16, 4), torch.randn(16, 1))
