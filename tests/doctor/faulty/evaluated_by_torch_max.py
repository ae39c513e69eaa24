import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.drop = nn.Dropout2d()
        self.fc = nn.Linear(4 * 6 * 6, 10)

    def forward(self, x):
        return self.fc(self.drop(torch.relu(self.conv(x))).flatten(1))


net = Net()
optimizer = optim.SGD(net.parameters(), lr=0.01)
images, labels = torch.rand(16, 1, 8, 8), torch.randint(0, 10, (16,))
for _ in range(3):
    optimizer.zero_grad()
    nn.CrossEntropyLoss()(net(images), labels).backward()
    optimizer.step()
correct = 0
with torch.inference_mode():
    outputs = net(images)  # finds F201
    _, predicted = torch.max(outputs.data, 1)
    correct += (predicted == labels).sum().item()
