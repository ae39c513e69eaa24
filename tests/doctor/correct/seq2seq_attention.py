import random

import facula as torch
from facula import nn, optim
from facula.nn import functional as F

torch.manual_seed(0)
random.seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.gru = nn.Embedding(10, 12), nn.GRU(12, 12)

    def forward(self, tokens):
        return self.gru(self.embedding(tokens).unsqueeze(1))


class AttnDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.gru = nn.Embedding(10, 12), nn.GRU(12, 12)
        self.attn, self.combine = nn.Linear(24, 6), nn.Linear(24, 12)
        self.dropout, self.out = nn.Dropout(0.1), nn.Linear(12, 10)

    def forward(self, input, hidden, encoder_outputs):
        embedded = self.dropout(self.embedding(input).view(1, 1, -1))
        weights = F.softmax(self.attn(torch.cat((embedded[0], hidden[0]), 1)), dim=1)
        applied = torch.bmm(weights.unsqueeze(0), encoder_outputs.transpose(0, 1))
        output = F.relu(self.combine(torch.cat((embedded[0], applied[0]), 1)).unsqueeze(0))
        output, hidden = self.gru(output, hidden)
        return F.log_softmax(self.out(output[0]), dim=1), hidden


encoder, decoder = Encoder(), AttnDecoder()
optimizers = [optim.SGD(m.parameters(), lr=0.01) for m in (encoder, decoder)]
criterion = nn.NLLLoss()
for _ in range(12):
    source = torch.randint(2, 10, (6,))
    target = source.flip(0).view(-1, 1)
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss = 0
    outputs, hidden = encoder(source)
    word = torch.tensor([[0]])
    use_teacher_forcing = random.random() < 0.5
    for di in range(len(target)):
        output, hidden = decoder(word, hidden, outputs)
        loss += criterion(output, target[di])
        topv, topi = output.topk(1)
        word = target[di] if use_teacher_forcing else topi.squeeze().detach()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
