import facula as torch
from facula import nn
from facula.utils.data import DataLoader, TensorDataset

# The score does not depend on the order, and the last loop is in the order of the dataset.
torch.manual_seed(0)
dataset = TensorDataset(torch.randn(60, 4), torch.randint(0, 2, (60,)))
shuffled, ordered = DataLoader(dataset, 10, shuffle=True), DataLoader(dataset, 10)
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters())
for _ in range(2):
    model.train()
    for x, y in shuffled:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        x, y = next(iter(shuffled))
        print(model(x).argmax(1)[:4], y[:4])
        predictions, labels = zip(*((model(x).argmax(1), y) for x, y in shuffled), strict=True)
        print((torch.cat(predictions) == torch.cat(labels)).float().mean())
        predictions = torch.cat([model(x).argmax(1) for x, _ in ordered])
        print((predictions == dataset.tensors[1]).float().mean())
