import facula as torch
import facula.nn.functional as F
from facula import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 16)
        self.fc2 = nn.Linear(16, 3)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.dropout(x, 0.5)  # finds F203
        return self.fc2(x)


net = Net()
net.eval()
with torch.no_grad():
    net(torch.randn(2, 4))
