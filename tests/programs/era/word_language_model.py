"""The word language model of 0.2: repackage_hidden, batchify, volatile source, clip_grad_norm."""

import math

import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(1111)
text = ("the cat sat on the mat and the dog sat on the log " * 24).split()
words = sorted(set(text))
ids = torch.LongTensor(len(text))
for token, word in enumerate(text):
    ids[token] = words.index(word)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    return data.view(bsz, -1).t().contiguous()


train_data = batchify(ids, 4)
val_data = batchify(ids[:60], 2)
bptt = 8


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers):
        super(RNNModel, self).__init__()
        self.drop = nn.Dropout(0.1)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=0.1)
        self.decoder = nn.Linear(nhid, ntoken)
        self.init_weights()
        self.nhid = nhid
        self.nlayers = nlayers

    def init_weights(self):
        initrange = 0.1
        self.encoder.weight.data.uniform_(-initrange, initrange)
        self.decoder.bias.data.fill_(0)
        self.decoder.weight.data.uniform_(-initrange, initrange)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        output = self.drop(output)
        decoded = self.decoder(output.view(output.size(0) * output.size(1), output.size(2)))
        return decoded.view(output.size(0), output.size(1), decoded.size(1)), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters()).data
        return (
            Variable(weight.new(self.nlayers, bsz, self.nhid).zero_()),
            Variable(weight.new(self.nlayers, bsz, self.nhid).zero_()),
        )


ntokens = len(words)
model = RNNModel(ntokens, 16, 24, 2)
criterion = nn.CrossEntropyLoss()


def repackage_hidden(h):
    """Wraps hidden states in new Variables, to detach them from their history."""
    if type(h) == Variable:
        return Variable(h.data)
    else:
        return tuple(repackage_hidden(v) for v in h)


def get_batch(source, i, evaluation=False):
    seq_len = min(bptt, len(source) - 1 - i)
    data = Variable(source[i : i + seq_len], volatile=evaluation)
    target = Variable(source[i + 1 : i + 1 + seq_len].view(-1))
    return data, target


def evaluate(data_source):
    model.eval()
    total_loss = 0
    hidden = model.init_hidden(2)
    for i in range(0, data_source.size(0) - 1, bptt):
        data, targets = get_batch(data_source, i, evaluation=True)
        output, hidden = model(data, hidden)
        assert output.volatile and not output.requires_grad
        output_flat = output.view(-1, ntokens)
        total_loss += len(data) * criterion(output_flat, targets).data
        hidden = repackage_hidden(hidden)
    return total_loss[0] / len(data_source)


lr = 5.0
for epoch in range(1, 5):
    model.train()
    total_loss = 0
    hidden = model.init_hidden(4)
    for batch, i in enumerate(range(0, train_data.size(0) - 1, bptt)):
        data, targets = get_batch(train_data, i)
        hidden = repackage_hidden(hidden)
        model.zero_grad()
        output, hidden = model(data, hidden)
        loss = criterion(output.view(-1, ntokens), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(-lr, p.grad.data)
        total_loss += loss.data
    cur_loss = total_loss[0] / (batch + 1)
    print(f"epoch {epoch} loss {cur_loss:.4f} ppl {math.exp(cur_loss):.2f}")
val_loss = evaluate(val_data)
print(f"valid loss {val_loss:.4f}")
