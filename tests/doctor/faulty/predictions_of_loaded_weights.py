import facula as torch
from facula import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU())
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.body(x))


torch.save(Net().state_dict(), "weights.pt")
model = Net()
model.load_state_dict(torch.load("weights.pt"))
with torch.no_grad():
    for _ in range(4):
        print(model(torch.randn(8, 4)).argmax(1))  # finds F201
