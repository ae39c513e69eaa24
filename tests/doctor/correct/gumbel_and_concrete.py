import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)
encoder, decoder = nn.Linear(10, 3 * 4), nn.Linear(3 * 4, 10)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
x = (torch.rand(24, 10) > 0.5).float()
tau = 1.0
for step in range(15):
    logits = encoder(x).view(-1, 3, 4)
    z = F.gumbel_softmax(logits, tau=tau, hard=step % 2 == 0)
    q = F.softmax(logits, dim=-1)
    kl = (q * (q.clamp_min(1e-10).log() - torch.log(torch.tensor(0.25)))).sum((1, 2)).mean()
    reconstruction = decoder(z.view(-1, 12))
    loss = F.binary_cross_entropy_with_logits(reconstruction, x, reduction="sum") / 24 + kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    tau = max(tau * 0.95, 0.3)
