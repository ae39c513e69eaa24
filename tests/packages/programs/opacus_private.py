"""Opacus: gradients of each sample, and private training with its budget."""

import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.grad_sample import wrap_model
from opacus.layers import DPLSTM, DPMultiheadAttention
from opacus.validators import ModuleValidator
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.norm, self.fc = nn.Embedding(10, 4), nn.LayerNorm(4), nn.Linear(4, 2)

    def forward(self, tokens):
        return self.fc(self.norm(self.embedding(tokens)).mean(1))


def image_model():
    torch.manual_seed(0)
    layers = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)
    return ModuleValidator.fix(nn.Sequential(*layers))


def show(model):
    print([f"{p.grad_sample.norm().item():.4f}" for p in model.parameters()])


print(image_model())
model = GradSampleModule(image_model())
cross_entropy(model(torch.randn(6, 1, 8, 8)), torch.arange(6) % 5).backward()
show(model)
tokens = torch.arange(12).view(3, 4) % 10
for mode in ("hooks", "functorch", "ew"):
    torch.manual_seed(1)
    model = wrap_model(Text(), grad_sample_mode=mode)
    cross_entropy(model(tokens), torch.tensor([0, 1, 0])).backward()
    show(model)
torch.manual_seed(2)
model = GradSampleModule(DPLSTM(3, 4, batch_first=True))
model(torch.randn(2, 5, 3))[0].sum().backward()
show(model)
attention, query = DPMultiheadAttention(4, 2), torch.randn(5, 2, 4)
print(tuple(attention(query, query, query)[0].shape))

model, engine = image_model(), PrivacyEngine()
data = TensorDataset(torch.randn(64, 1, 8, 8), torch.randint(0, 5, (64,)))
model, optimizer, loader = engine.make_private(
    module=model,
    optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
    data_loader=DataLoader(data, batch_size=16),
    noise_multiplier=1.0,
    max_grad_norm=1.0,
    noise_generator=torch.Generator().manual_seed(1),
)
for epoch in range(2):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, len(loader), f"{total:.4f} {engine.get_epsilon(1e-3):.4f}")
