import math

import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class TransformerModel(nn.Module):
    def __init__(self, ntoken, d_model):
        super().__init__()
        position = torch.arange(32).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(32, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)
        layer = nn.TransformerEncoderLayer(d_model, 2, 32, dropout=0.1)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.embedding = nn.Embedding(ntoken, d_model)
        self.linear = nn.Linear(d_model, ntoken)
        self.d_model = d_model

    def forward(self, src):
        n = src.size(0)
        mask = torch.triu(torch.full((n, n), float("-inf")), diagonal=1)
        src = self.embedding(src) * math.sqrt(self.d_model) + self.pe[:n]
        return self.linear(self.encoder(src, mask))


model = TransformerModel(20, 16)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.5)
scheduler = optim.lr_scheduler.StepLR(optimizer, 1.0, gamma=0.95)
tokens = torch.randint(0, 20, (9, 6))
for _ in range(4):
    model.train()
    for _ in range(3):
        output = model(tokens[:-1])
        loss = criterion(output.view(-1, 20), tokens[1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    scheduler.step()
