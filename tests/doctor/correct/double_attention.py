import facula as torch
from facula import nn

torch.manual_seed(0)


class BiDAF(nn.Module):
    """Attention in both directions over one table of similarities, and a renormalised one."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(8, 16)
        self.out = nn.Linear(32, 2)

    def forward(self, x, y):
        x, y = self.a(x), self.b(y)
        s = torch.bmm(x, y.transpose(1, 2))
        to_y = torch.softmax(s, dim=2)
        to_x = torch.softmax(s, dim=1)
        read = torch.bmm(to_y, y)
        back = torch.bmm(torch.bmm(to_y, to_x.transpose(1, 2)), x)
        relevance = torch.softmax(to_y.max(dim=2).values, dim=1)
        return self.out((torch.cat([read, back], dim=2) * relevance.unsqueeze(2)).sum(1))


model = BiDAF()
optimizer = torch.optim.Adam(model.parameters())
x, y, labels = torch.randn(8, 5, 8), torch.randn(8, 6, 8), torch.randint(0, 2, (8,))
for _ in range(10):
    loss = nn.functional.cross_entropy(model(x, y), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
