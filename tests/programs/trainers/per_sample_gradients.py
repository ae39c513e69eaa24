"""Gradients of each sample, ensembles, Jacobians: functions of modules' parameters."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)

torch.manual_seed(0)


class CNN(nn.Module):
    def __init__(s):
        super().__init__()
        s.c = nn.Conv2d(1, 4, 3, 1)
        s.f = nn.Linear(4 * 9, 5)

    def forward(s, x):
        return F.log_softmax(s.f(torch.flatten(F.max_pool2d(F.relu(s.c(x)), 2), 1)), dim=1)


x, y = torch.randn(6, 1, 8, 8), torch.randint(5, (6,))
m = CNN()
params = {k: v.detach() for k, v in m.named_parameters()}
buffers = {k: v.detach() for k, v in m.named_buffers()}


def loss(p, b, s, t):
    return F.nll_loss(functional_call(m, (p, b), (s.unsqueeze(0),)), t.unsqueeze(0))


g = vmap(grad(loss), in_dims=(None, None, 0, 0))(params, buffers, x, y)
print({k: (tuple(v.shape), round(v.abs().sum().item(), 3)) for k, v in g.items()})
naive = [
    torch.autograd.grad(F.nll_loss(m(x[i : i + 1]), y[i : i + 1]), tuple(m.parameters()))
    for i in range(6)
]
print(
    all(
        torch.allclose(a, torch.stack(b), atol=1e-4)
        for a, b in zip(g.values(), zip(*naive, strict=False), strict=False)
    )
)
ms = [CNN() for _ in range(3)]
p, b = stack_module_state(ms)
base = copy.deepcopy(ms[0]).to("meta")
out = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(p, b, x)
print(out.shape, torch.allclose(out, torch.stack([q(x) for q in ms]), atol=1e-5))
out2 = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)))(p, b, x.reshape(3, 2, 1, 8, 8))
print(out2.shape)


def f(w, b, x):
    return F.linear(x, w, b).tanh()


w, bb, xx = torch.randn(3, 3), torch.randn(3), torch.randn(3)
print(
    jacrev(f, argnums=2)(w, bb, xx),
    torch.allclose(jacfwd(f, 2)(w, bb, xx), jacrev(f, 2)(w, bb, xx), atol=1e-6),
    hessian(lambda v: (v.sin() ** 2).sum())(xx),
)
print(
    vmap(jacrev(f, 2), in_dims=(None, None, 0))(w, bb, torch.randn(4, 3)).shape,
    jvp(lambda v: f(w, bb, v), (xx,), (torch.ones(3),))[1],
    vjp(lambda v: f(w, bb, v), xx)[1](torch.ones(3)),
)
print(
    vmap(lambda a: a + torch.randn(()), randomness="same")(torch.zeros(3)).unique().numel(),
    vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3)),
    vmap(torch.mm, in_dims=(0, None), out_dims=1, chunk_size=2)(
        torch.ones(4, 2, 3), torch.ones(3, 2)
    ).shape,
)
gv, (lv, aux) = grad_and_value(lambda v: ((v**2).sum(), v * 2), has_aux=True)(xx)
print(gv, lv, aux)


def ntk(p, a, b):
    def j(p, x):
        return functional_call(m, p, (x.unsqueeze(0),)).squeeze(0)

    ja = vmap(jacrev(j), (None, 0))(p, a)
    jb = vmap(jacrev(j), (None, 0))(p, b)
    return torch.stack(
        [
            torch.einsum("Naf,Mbf->NMab", u.flatten(2), v.flatten(2))
            for u, v in zip(ja.values(), jb.values(), strict=False)
        ]
    ).sum(0)


r = ntk(params, x[:2], x[2:4])
print(r.shape, r.sum())
