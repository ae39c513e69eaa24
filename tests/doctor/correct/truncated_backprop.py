import facula as torch
from facula import nn

torch.manual_seed(0)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, 2, dropout=0.2)
        self.decoder = nn.Linear(nhid, ntoken)
        self.nhid = nhid

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        return self.decoder(self.drop(output)).flatten(0, 1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return weight.new_zeros(2, bsz, self.nhid), weight.new_zeros(2, bsz, self.nhid)


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


model = RNNModel(20, 8, 12)
criterion = nn.CrossEntropyLoss()
data = torch.randint(0, 20, (61, 4))
lr = 1.0
for _ in range(2):
    model.train()
    total_loss = 0.0
    hidden = model.init_hidden(4)
    for i in range(0, 60, 10):
        source, target = data[i : i + 10], data[i + 1 : i + 11].reshape(-1)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(source, hidden)
        loss = criterion(output, target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total_loss += loss.item()
    model.eval()
    with torch.no_grad():
        output, _ = model(data[:-1], model.init_hidden(4))
        val_loss = criterion(output, data[1:].reshape(-1)).item()
    lr /= 4.0
