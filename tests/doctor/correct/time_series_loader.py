import facula as torch
from facula import nn
from facula.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Windows(Dataset):
    def __init__(self, series, length):
        self.series, self.length = series, length

    def __len__(self):
        return len(self.series) - self.length

    def __getitem__(self, i):
        return self.series[i : i + self.length, None], self.series[i + self.length]


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(1, 8, batch_first=True)
        self.fc = nn.Linear(8, 1)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.fc(out[:, -1]).squeeze(1)


if __name__ == "__main__":
    series = torch.sin(torch.arange(80) * 0.3)
    loader = DataLoader(Windows(series, 8), batch_size=12, shuffle=False, num_workers=2)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(2):
        for window, following in loader:
            loss = nn.functional.mse_loss(model(window), following)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
