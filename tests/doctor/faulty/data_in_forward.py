import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.out = nn.Linear(4, 10)

    def forward(self, tokens):
        mean = self.embed(tokens).mean(1)
        mean = mean.data / mean.data.norm(dim=1, keepdim=True)  # finds F403
        return self.out(mean)


net = Net()
optimizer = optim.Adam(net.parameters(), lr=0.01)
tokens = torch.randint(0, 10, (16, 5))
for _ in range(12):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(tokens[:, :-1]), tokens[:, -1])
    loss.backward()
    optimizer.step()
