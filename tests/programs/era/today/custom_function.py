"""As the program of this name, in the form of today."""

import torch
import torch.nn as nn
from torch.autograd import Function, gradcheck

torch.manual_seed(0)


class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


class Linear(Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


class Scale(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


class MyLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.Tensor(o, i).uniform_(-0.3, 0.3))
        self.bias = nn.Parameter(torch.zeros(o))

    def forward(self, input):
        return Linear.apply(input, self.weight, self.bias)


x = torch.randn(32, 10)
y = torch.randn(32, 2)
l1, l2 = MyLinear(10, 20), MyLinear(20, 2)
for t in range(60):
    relu = MyReLU.apply
    y_pred = l2(relu(l1(x)))
    loss = Scale.apply((y_pred - y).pow(2), 0.5).sum()
    if t % 20 == 19:
        print(t, "%.4f" % loss.item())
    loss.backward()
    for p in list(l1.parameters()) + list(l2.parameters()):
        p.data -= 5e-3 * p.grad.data
        p.grad.data.zero_()

input = (torch.randn(5, 4).double().requires_grad_(), torch.randn(3, 4).double().requires_grad_())
print(gradcheck(Linear.apply, input, eps=1e-6, atol=1e-4))
