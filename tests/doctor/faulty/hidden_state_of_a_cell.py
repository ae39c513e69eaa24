import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.write = nn.Linear(2, 4)
        self.read = nn.Linear(4, 2)
        self.state = torch.zeros(1, 4)

    def forward(self, x):
        self.state = self.state + torch.tanh(self.write(x))
        return self.read(torch.tanh(self.state))


model = Memory()
optimizer = optim.SGD(model.write.parameters(), lr=0.01)
model.read.requires_grad_(False)
for _ in range(6):
    x = torch.randn(1, 2)
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward(retain_graph=True)  # finds F502
    optimizer.step()
