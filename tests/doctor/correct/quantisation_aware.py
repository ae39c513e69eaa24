import facula as torch
from facula import nn

torch.manual_seed(0)


def fake_quantise(x, bits=4):
    scale = x.detach().abs().max() / (2 ** (bits - 1) - 1)
    q = torch.round(x / scale) * scale
    return x + (q - x).detach()


class QuantLinear(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, fake_quantise(self.weight), self.bias)


model = nn.Sequential(QuantLinear(6, 24), nn.ReLU(), QuantLinear(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x, y = torch.randn(30, 6), torch.randint(0, 3, (30,))
for step in range(12):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 6:  # prune the smallest weights, and keep them at zero
        mask = (model[0].weight.abs() > model[0].weight.abs().median()).float()
        model[0].weight.register_hook(lambda g, mask=mask: g * mask)
        model[0].weight.data *= mask
