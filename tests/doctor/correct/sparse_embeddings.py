import facula as torch
from facula import nn, optim
from facula.nn import functional as F

torch.manual_seed(0)


class SkipGram(nn.Module):
    def __init__(self, n_words, width):
        super().__init__()
        self.u = nn.Embedding(n_words, width, sparse=True)
        self.v = nn.Embedding(n_words, width, sparse=True)
        nn.init.uniform_(self.u.weight.data, -0.5 / width, 0.5 / width)
        nn.init.constant_(self.v.weight.data, 0)

    def forward(self, centre, context, negatives):
        u, v, n = self.u(centre), self.v(context), self.v(negatives)
        score = -F.logsigmoid(torch.clamp((u * v).sum(1), -10, 10))
        against = torch.bmm(n, u.unsqueeze(2)).squeeze(2).clamp(-10, 10)
        return torch.mean(score - F.logsigmoid(-against).sum(1))


model = SkipGram(50, 8)
optimizer = optim.SparseAdam(list(model.parameters()), lr=0.01)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
for _ in range(20):
    centre, context = torch.randint(0, 50, (16,)), torch.randint(0, 50, (16,))
    optimizer.zero_grad()
    loss = model(centre, context, torch.randint(0, 50, (16, 5)))
    loss.backward()
    optimizer.step()
    scheduler.step()
