import facula as torch
from facula import nn
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(7, 20), nn.BatchNorm1d(20), nn.ReLU(), nn.Dropout(0.2), nn.Linear(20, 4)
)
optimizer = torch.optim.RAdam(model.parameters(), lr=1e-2)
loss_fn = nn.CrossEntropyLoss()
data = TensorDataset(torch.randn(80, 7), torch.randint(0, 4, (80,)))
train_loader = DataLoader(data, batch_size=16, shuffle=True, drop_last=True)
test_loader = DataLoader(data, batch_size=40)


def accuracy_fn(y_true, y_pred):
    return torch.eq(y_true, y_pred).sum().item() / len(y_pred) * 100


for _ in range(3):
    model.train()
    train_loss, train_acc = 0, 0
    for x, y in train_loader:
        logits = model(x)
        loss = loss_fn(logits, y)
        train_loss += loss.item()
        train_acc += accuracy_fn(y, logits.argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    test_loss = 0
    with torch.inference_mode():
        for x, y in test_loader:
            logits = model(x)
            test_loss += loss_fn(logits, y)
            y_pred = torch.softmax(logits, dim=1).argmax(dim=1)
        test_loss /= len(test_loader)
