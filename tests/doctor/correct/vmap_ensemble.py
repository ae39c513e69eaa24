import copy

import facula as torch
from facula import nn
from facula.func import functional_call, grad, stack_module_state, vmap

torch.manual_seed(0)
models = [nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2)) for _ in range(4)]
params, buffers = stack_module_state(models)
base = copy.deepcopy(models[0]).to("meta")
x, y = torch.randn(24, 3), torch.randint(0, 2, (24,))


def loss_of(params, buffers, x, y):
    return nn.functional.cross_entropy(functional_call(base, (params, buffers), (x,)), y)


for _ in range(8):
    grads = vmap(grad(loss_of), in_dims=(0, 0, None, None))(params, buffers, x, y)
    params = {name: (p - 0.1 * grads[name]).detach() for name, p in params.items()}

optimizer = torch.optim.Adam([p.requires_grad_() for p in params.values()], lr=1e-2)
for _ in range(8):
    losses = vmap(loss_of, in_dims=(0, 0, None, None))(params, buffers, x, y)
    optimizer.zero_grad()
    losses.sum().backward()
    optimizer.step()
