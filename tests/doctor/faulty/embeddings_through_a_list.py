import facula as torch
from facula import nn

torch.manual_seed(0)


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, words):
        rows = [e.tolist() for e in self.embedding(words).mean(1)]  # finds F403
        return self.out(torch.tensor(rows))


model = Bag()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(12):
    words, y = torch.randint(0, 10, (8, 5)), torch.randint(0, 2, (8,))
    loss = nn.functional.cross_entropy(model(words), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
