import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(6, 2)
        self.decoder = nn.Linear(2, 6)

    def forward(self, x):
        return self.decoder(self.encoder(x))


model = AutoEncoder()
optimizer = optim.Adam(model.decoder.parameters(), lr=0.01)  # finds F401
x = torch.randn(32, 6)
for _ in range(4):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), x)
    loss.backward()
    optimizer.step()
