import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 12)
        self.lstm2 = nn.LSTMCell(12, 12)
        self.linear = nn.Linear(12, 1)

    def forward(self, input, future=0):
        outputs = []
        h1 = c1 = h2 = c2 = torch.zeros(input.size(0), 12, dtype=torch.double)
        for input_t in input.split(1, dim=1):
            h1, c1 = self.lstm1(input_t, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs += [output]
        for _ in range(future):
            h1, c1 = self.lstm1(output, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


data = torch.sin(torch.arange(11.0, dtype=torch.double) + torch.rand(6, 1, dtype=torch.double))
seq = Sequence().double()
criterion = nn.MSELoss()
optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=5)
for _ in range(2):

    def closure():
        optimizer.zero_grad()
        out = seq(data[:, :-1])
        loss = criterion(out, data[:, 1:])
        loss.backward()
        return loss

    optimizer.step(closure)
    with torch.no_grad():
        pred = seq(data[:2, :-1], future=4)
        loss = criterion(pred[:, :-4], data[:2, 1:])
