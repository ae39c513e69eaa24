import facula as torch
from facula import nn, optim
from facula.nn import functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3)
        self.conv2_drop = nn.Dropout2d()
        self.fc1 = nn.Linear(54, 20)
        self.fc2 = nn.Linear(20, 5)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv2_drop(self.conv1(x)), 2))
        x = x.view(-1, 54)
        x = F.relu(self.fc1(x))
        x = F.dropout(x, training=self.training)
        return F.log_softmax(self.fc2(x), dim=1)


model = Net()
optimizer = optim.Adadelta(model.parameters(), lr=1.0)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
images, labels = torch.randn(50, 1, 8, 8), torch.randint(0, 5, (50,))
for _ in range(4):
    correct = total = 0
    model.train()
    for data, target in zip(images.split(10), labels.split(10), strict=True):
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        _, predicted = torch.max(output.data, 1)
        total += target.size(0)
        correct += (predicted == target).sum().item()
        with torch.no_grad():
            top = output.argmax(dim=1, keepdim=True).eq(target.view(-1, 1)).sum()
    model.eval()
    test_loss = 0
    with torch.no_grad():
        output = model(images)
        test_loss += F.nll_loss(output, labels, reduction="sum").item()
        correct = output.argmax(dim=1, keepdim=True).eq(labels.view_as(output[:, :1].long()))
    scheduler.step()
torch.save(model.state_dict(), "mnist_cnn.pt")
