import facula as torch
from facula import nn, optim

torch.manual_seed(0)
generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
g_optimizer = optim.SGD(generator.parameters(), lr=0.01)
c_optimizer = optim.SGD(critic.parameters(), lr=0.01)
for _ in range(4):
    fake = generator(torch.randn(8, 2))
    c_loss = critic(fake.detach()).mean() - critic(torch.randn(8, 2)).mean()
    c_loss.backward()  # finds F301
    c_optimizer.step()
    g_optimizer.zero_grad()
    g_loss = -critic(fake).mean()
    g_loss.backward()
    g_optimizer.step()
