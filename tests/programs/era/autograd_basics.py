"""The 60 minute introduction of 0.1: creator, previous_functions, gradients of vectors."""

import torch
from torch.autograd import Variable

torch.manual_seed(0)
x = Variable(torch.ones(2, 2), requires_grad=True)
y = x + 2
print(y.data.tolist(), y.creator is not None, x.creator)
z = y * y * 3
out = z.mean()
print(out.data[0], out.size(), out.creator.previous_functions[0][0] is not None)
out.backward(retain_variables=True)
print(x.grad.data.tolist())
out.backward()
print(x.grad.data.tolist())

x = Variable(torch.Tensor([0.5, -1, 2]), requires_grad=True)
y = x * 2
while y.data.norm() < 1000:
    y = y * 2
gradients = torch.FloatTensor([0.1, 1.0, 0.0001])
y.backward(gradients)
print(y.data.tolist(), ["%.4f" % g for g in x.grad.data])

a = Variable(torch.ones(3), requires_grad=True)
b = Variable(torch.ones(3), volatile=True)
c = a + b
print(c.volatile, c.requires_grad, a.volatile, b[0].volatile, c.detach().volatile)
idx = Variable(torch.LongTensor([0, 2]), volatile=True)
print(a.index_select(0, idx).volatile, a[idx].volatile, torch.cat([a, b]).volatile)
mask = Variable(torch.ByteTensor([1, 0, 1]), volatile=True)
print(a.masked_select(mask).volatile, (a * 1).masked_fill(mask, 0).volatile)
d = a * 2
d.add_(b)
print(d.volatile, d.requires_grad)
loss = torch.nn.functional.nll_loss(
    torch.nn.functional.log_softmax(a.view(1, 3), 1), Variable(torch.LongTensor([1]), volatile=True)
)
print(loss.volatile, isinstance(a, Variable), isinstance(a.data, Variable), type(a) == Variable)
h = Variable(torch.zeros(1), requires_grad=True)
handle = h.register_hook(lambda grad: grad * 2)
(h * 3).sum().backward(torch.ones(1))
print(h.grad.data[0])
