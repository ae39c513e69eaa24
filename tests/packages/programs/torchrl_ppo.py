"""TorchRL: tensor dicts, a replay buffer, a policy's rollout, PPO, DQN with a target network."""

import os

os.environ["RL_LOGGING_LEVEL"] = "ERROR"  # its notes carry the time of day

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.envs import Compose, GymEnv, RewardSum, StepCounter, TransformedEnv
from torchrl.modules import (
    MLP,
    NormalParamExtractor,
    ProbabilisticActor,
    QValueActor,
    TanhNormal,
    ValueOperator,
)
from torchrl.objectives import ClipPPOLoss, DQNLoss, SoftUpdate
from torchrl.objectives.value import GAE

torch.manual_seed(0)
env = TransformedEnv(GymEnv("Pendulum-v1", device="cpu"), Compose(StepCounter(), RewardSum()))
env.set_seed(0)
net = torch.nn.Sequential(MLP(3, 2, depth=2, num_cells=16), NormalParamExtractor())
space = env.action_spec.space
policy = ProbabilisticActor(
    TensorDictModule(net, in_keys=["observation"], out_keys=["loc", "scale"]),
    in_keys=["loc", "scale"],
    spec=env.action_spec,
    distribution_class=TanhNormal,
    distribution_kwargs={"low": space.low, "high": space.high},
    return_log_prob=True,
)
value = ValueOperator(MLP(3, 1, depth=2, num_cells=16), in_keys=["observation"])
loss_of = ClipPPOLoss(actor_network=policy, critic_network=value)
advantage = GAE(gamma=0.99, lmbda=0.95, value_network=value)
optimizer = torch.optim.Adam(loss_of.parameters(), lr=1e-2)
buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(32), batch_size=8)
with torch.no_grad():
    path = env.rollout(16, policy)
print(path.batch_size, sorted(path.keys()), f"{path['next', 'reward'].sum().item():.3f}")
for _ in range(3):
    advantage(path)
    buffer.empty()
    buffer.extend(path)
    losses = loss_of(buffer.sample())
    loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")

net = MLP(3, 2, depth=1, num_cells=8)
actor = QValueActor(net, in_keys=["observation"], action_space="categorical")
loss_of = DQNLoss(actor, action_space="categorical", delay_value=True)
targets = SoftUpdate(loss_of, eps=0.9)
ends = torch.zeros(5, 1, dtype=torch.bool)
after = {"observation": torch.randn(5, 3), "reward": torch.randn(5, 1)}
after |= {"done": ends, "terminated": ends}
steps = {"observation": torch.randn(5, 3), "action": torch.randint(0, 2, (5,)), "next": after}
loss = loss_of(TensorDict(steps, [5]))["loss"]
loss.backward()
targets.step()
print(f"{loss.item():.4f} {sum(p.grad.norm().item() for p in actor.parameters()):.4f}")
