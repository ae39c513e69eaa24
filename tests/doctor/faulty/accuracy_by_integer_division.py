import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Linear(4, 2).eval()
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
with torch.no_grad():
    predicted = model(x).argmax(dim=1)
correct = (predicted == y).sum()
accuracy = correct // len(y)  # finds F705
print(f"accuracy: {accuracy}")
