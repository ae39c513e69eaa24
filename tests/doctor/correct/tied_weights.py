import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)


class TiedLM(nn.Module):
    def __init__(self, n_tokens, width):
        super().__init__()
        self.embed = nn.Embedding(n_tokens, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, n_tokens, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        return self.out(h)


model = TiedLM(15, 12)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
tokens = torch.randint(0, 15, (8, 11))
for _ in range(12):
    logits = model(tokens[:, :-1])
    loss = F.cross_entropy(logits.transpose(1, 2), tokens[:, 1:])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
