import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )  # fmt: skip
        self.fc = nn.Linear(8, 1000)

    def forward(self, x):
        return self.fc(self.features(x))


model = Backbone()
for param in model.parameters():
    param.requires_grad = False
model.fc = nn.Linear(model.fc.in_features, 2)
optimizer = optim.SGD(model.fc.parameters(), lr=0.001, momentum=0.9)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
criterion = nn.CrossEntropyLoss()
data = {"train": torch.randn(24, 3, 8, 8), "val": torch.randn(8, 3, 8, 8)}
labels = {"train": torch.randint(0, 2, (24,)), "val": torch.randint(0, 2, (8,))}

for _ in range(4):
    for phase in ["train", "val"]:
        if phase == "train":
            model.train()
        else:
            model.eval()
        corrects = 0
        for inputs, y in zip(data[phase].split(8), labels[phase].split(8), strict=True):
            optimizer.zero_grad()
            with torch.set_grad_enabled(phase == "train"):
                outputs = model(inputs)
                _, preds = torch.max(outputs, 1)
                loss = criterion(outputs, y)
                if phase == "train":
                    loss.backward()
                    optimizer.step()
            corrects += torch.sum(preds == y.data)
        if phase == "train":
            scheduler.step()
