"""The tutorial on extending autograd: functions as objects, with state, and a module on one."""

import torch
import torch.nn as nn
from torch.autograd import Function, Variable, gradcheck

torch.manual_seed(0)


class MyReLU(torch.autograd.Function):
    def forward(self, input):
        self.save_for_backward(input)
        return input.clamp(min=0)

    def backward(self, grad_output):
        (input,) = self.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


class Linear(Function):
    def forward(self, input, weight, bias=None):
        self.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    def backward(self, grad_output):
        input, weight, bias = self.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if self.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if self.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and self.needs_input_grad[2]:
            grad_bias = grad_output.sum(0).squeeze(0)
        return grad_input, grad_weight, grad_bias


class Scale(Function):
    def __init__(self, factor):
        super(Scale, self).__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor

    def backward(self, grad):
        return grad * self.factor


class MyLinear(nn.Module):
    def __init__(self, i, o):
        super(MyLinear, self).__init__()
        self.weight = nn.Parameter(torch.Tensor(o, i).uniform_(-0.3, 0.3))
        self.bias = nn.Parameter(torch.zeros(o))

    def forward(self, input):
        return Linear()(input, self.weight, self.bias)


x = Variable(torch.randn(32, 10))
y = Variable(torch.randn(32, 2))
l1, l2 = MyLinear(10, 20), MyLinear(20, 2)
for t in range(60):
    relu = MyReLU()
    y_pred = l2(relu(l1(x)))
    loss = Scale(0.5)((y_pred - y).pow(2)).sum()
    if t % 20 == 19:
        print(t, "%.4f" % loss.data[0])
    loss.backward()
    for p in list(l1.parameters()) + list(l2.parameters()):
        p.data -= 5e-3 * p.grad.data
        p.grad.data.zero_()

v = Variable(x.data, volatile=True)
assert MyReLU()(v).volatile
input = (
    Variable(torch.randn(5, 4).double(), requires_grad=True),
    Variable(torch.randn(3, 4).double(), requires_grad=True),
)
print(gradcheck(Linear(), input, eps=1e-6, atol=1e-4))
