import facula as torch
from facula import nn

torch.manual_seed(0)


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(8, 16, 3, padding=1)
        self.rnn = nn.GRU(16, 12, bidirectional=True)
        self.fc = nn.Linear(24, 7)

    def forward(self, x):
        h = torch.relu(self.conv(x)).permute(2, 0, 1)
        h, _ = self.rnn(h)
        return nn.functional.log_softmax(self.fc(h), dim=2)


model = Recogniser()
criterion = nn.CTCLoss(blank=0, zero_infinity=True)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x, targets = torch.randn(4, 8, 20), torch.randint(1, 7, (4, 6))
input_lengths = torch.full((4,), 20, dtype=torch.long)
target_lengths = torch.tensor([6, 5, 4, 3])
for _ in range(8):
    optimizer.zero_grad()
    loss = criterion(model(x), targets, input_lengths, target_lengths)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5)
    optimizer.step()
decoded = model(x).argmax(dim=2).t()
