import facula as torch
from facula import nn
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Linear(4, 2).eval()
loader = DataLoader(TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,))), batch_size=8)
correct = total = 0
with torch.no_grad():
    for x, y in loader:
        correct += torch.sum(torch.argmax(model(x), 1) == y)
        total += y.size(0)
print("accuracy:", torch.div(correct, total, rounding_mode="trunc"))  # finds F705
