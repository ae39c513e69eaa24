import facula as torch
from facula import nn, optim

torch.manual_seed(0)
trunk, actor, critic = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 1)
actor_optimizer = optim.Adam([*trunk.parameters(), *actor.parameters()], lr=0.001)
critic_optimizer = optim.Adam([*trunk.parameters(), *critic.parameters()], lr=0.001)
states, actions, returns = torch.randn(16, 4), torch.randint(0, 2, (16,)), torch.randn(16, 1)
for _ in range(4):
    hidden = trunk(states).tanh()
    policy_loss = nn.functional.cross_entropy(actor(hidden), actions)
    value_loss = nn.functional.mse_loss(critic(hidden), returns)
    actor_optimizer.zero_grad()
    critic_optimizer.zero_grad()
    (policy_loss + value_loss).backward()
    actor_optimizer.step()
    critic_optimizer.step()  # finds F407
