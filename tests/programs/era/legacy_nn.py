"""torch.legacy.nn and torch.legacy.optim: forward and backward by hand, as in Lua."""

import torch
import torch.legacy.nn as nn
import torch.legacy.optim as optim

torch.manual_seed(0)
x = torch.randn(40, 4)
target = (x[:, 0] * x[:, 1] > 0).long()

net = nn.Sequential()
net.add(nn.Linear(4, 16))
branches = nn.Concat(1)
branches.add(nn.Sequential().add(nn.Linear(16, 8)).add(nn.Tanh()))
branches.add(nn.Sequential().add(nn.Linear(16, 8)).add(nn.ReLU()))
net.add(nn.ReLU())
net.add(branches)
net.add(nn.Linear(16, 2))
net.add(nn.LogSoftMax())
criterion = nn.ClassNLLCriterion()

for step in range(150):
    net.zeroGradParameters()
    output = net.forward(x)
    loss = criterion.forward(output, target)
    net.backward(x, criterion.backward(output, target))
    net.updateParameters(0.3)
    if step % 50 == 49:
        print("%d %.4f" % (step, loss))

params, grads = net.flattenParameters()


def feval(p):
    net.zeroGradParameters()
    out = net.forward(x)
    f = criterion.forward(out, target)
    net.backward(x, criterion.backward(out, target))
    return f, grads


config = {"learningRate": 0.01}
for step in range(30):
    _, f = optim.adam(feval, params, config)
print("adam %.4f" % f)

table = nn.ParallelTable().add(nn.MulConstant(2)).add(nn.Identity())
both = nn.Sequential().add(table).add(nn.CAddTable())
a, b = torch.ones(2), torch.ones(2) * 3
print(both.forward([a, b]).tolist(), [g.tolist() for g in both.backward([a, b], torch.ones(2))])


class Double(nn.Module):
    def updateOutput(self, input):
        self.output = input * 2
        return self.output

    def updateGradInput(self, input, gradOutput):
        self.gradInput = gradOutput * 2
        return self.gradInput


mixed = nn.Sequential().add(Double()).add(nn.Square())
print(mixed.forward(a).tolist(), mixed.backward(a, torch.ones(2)).tolist())
mse = nn.MSECriterion()
print(mse.forward(a, b), mse.backward(a, b).tolist())
