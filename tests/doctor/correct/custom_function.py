import facula as torch
from facula import nn
from facula.autograd import Function

torch.manual_seed(0)


class Binarise(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.sign()

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad = grad_output.clone()
        grad[input.abs() > 1] = 0
        return grad


class BinaryLinear(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, Binarise.apply(self.weight), self.bias)


class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.scale * g, None


features = nn.Sequential(BinaryLinear(6, 24), nn.BatchNorm1d(24), nn.Hardtanh())
label, domain = nn.Linear(24, 2), nn.Linear(24, 2)
net = nn.ModuleDict({"features": features, "label": label, "domain": domain})
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
x, y, d = torch.randn(32, 6), torch.randint(0, 2, (32,)), torch.arange(32) % 2
for step in range(12):
    h = features(x)
    reversed_h = GradientReversal.apply(h, step / 12)
    loss = nn.functional.cross_entropy(label(h), y)
    loss = loss + nn.functional.cross_entropy(domain(reversed_h), d)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for m in net.modules():
        if isinstance(m, BinaryLinear):
            m.weight.data.clamp_(-1, 1)
