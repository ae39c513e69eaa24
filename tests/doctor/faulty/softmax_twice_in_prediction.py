import facula as torch
from facula import nn

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        return self.softmax(self.fc(x))


model = Classifier().eval()
with torch.no_grad():
    output = model(torch.randn(5, 4))
    confidence, label = torch.softmax(output, dim=1).max(dim=1)  # finds F104
