import facula as torch
from facula import nn

torch.manual_seed(0)
rule = nn.LSTMCell(1, 8)
out = nn.Linear(8, 1)
meta = torch.optim.Adam([*rule.parameters(), *out.parameters()], lr=1e-2)
for _ in range(4):
    W, target = torch.randn(5, 5), torch.randn(5)
    theta = torch.randn(5, requires_grad=True)
    h, c = torch.zeros(5, 8), torch.zeros(5, 8)
    total = 0
    for t in range(9):
        loss = (W @ theta - target).pow(2).mean()
        total = total + loss
        (grad,) = torch.autograd.grad(loss, theta, retain_graph=True)
        h, c = rule(grad.detach().unsqueeze(1), (h, c))
        theta = theta + 0.1 * out(h).squeeze(1)
        if t % 3 == 2:  # truncated: three updates, then a step of the rule
            meta.zero_grad()
            total.backward()
            meta.step()
            total = 0
            theta = theta.detach().requires_grad_()
            h, c = h.detach(), c.detach()
