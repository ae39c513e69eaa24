import facula as torch
from facula import nn, optim

torch.manual_seed(0)
generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
g_optimizer = optim.SGD(generator.parameters(), lr=0.01)
c_optimizer = optim.SGD(critic.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu")
for _ in range(5):
    fake = generator(torch.randn(8, 2))
    c_optimizer.zero_grad()
    c_loss = critic(fake.detach()).mean() - critic(torch.randn(8, 2)).mean()
    scaler.scale(c_loss).backward()
    scaler.unscale_(c_optimizer)
    nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
    scaler.step(c_optimizer)
    g_optimizer.zero_grad()
    scaler.scale(-critic(fake).mean()).backward()
    scaler.unscale_(g_optimizer)
    nn.utils.clip_grad_norm_(generator.parameters(), 1.0)
    scaler.step(g_optimizer)
    scaler.update()
