"""The DQN tutorial of 0.1.12: ByteTensor masks, volatile next states made non-volatile again."""

import random
from collections import namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.autograd import Variable

random.seed(0)
torch.manual_seed(0)
FloatTensor, LongTensor, ByteTensor, Tensor = (
    torch.FloatTensor,
    torch.LongTensor,
    torch.ByteTensor,
    torch.FloatTensor,
)
Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
BATCH_SIZE, GAMMA = 16, 0.9
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = optim.RMSprop(model.parameters(), lr=5e-3)
memory = []


def one_hot(place):
    state = torch.zeros(1, 4)
    state[0, place] = 1
    return state


def select_action(state, eps):
    if random.random() > eps:
        return model(Variable(state, volatile=True).type(FloatTensor)).data.max(1)[1].view(1, 1)
    return LongTensor([[random.randrange(2)]])


def optimize_model():
    if len(memory) < BATCH_SIZE:
        return None
    batch = Transition(*zip(*random.sample(memory, BATCH_SIZE)))
    non_final_mask = ByteTensor(tuple(map(lambda s: s is not None, batch.next_state)))
    non_final_next_states = Variable(
        torch.cat([s for s in batch.next_state if s is not None]), volatile=True
    )
    state_batch = Variable(torch.cat(batch.state))
    action_batch = Variable(torch.cat(batch.action))
    reward_batch = Variable(torch.cat(batch.reward))
    state_action_values = model(state_batch).gather(1, action_batch)
    next_state_values = Variable(torch.zeros(BATCH_SIZE).type(Tensor))
    next_state_values[non_final_mask] = model(non_final_next_states).max(1)[0]
    # Now, we don't want to mess up the loss with a volatile flag, so let's clear it.
    next_state_values.volatile = False
    expected_state_action_values = (next_state_values * GAMMA) + reward_batch
    loss = F.smooth_l1_loss(state_action_values, expected_state_action_values)
    optimizer.zero_grad()
    loss.backward()
    for param in model.parameters():
        param.grad.data.clamp_(-1, 1)
    optimizer.step()
    return loss.data[0]


durations, losses = [], []
for i_episode in range(40):
    place = 0
    for t in range(20):
        state = one_hot(place)
        action = select_action(state, 0.9 * 0.93**i_episode)
        place = max(0, place + (1 if action[0, 0] == 1 else -1))
        done = place == 3
        reward = FloatTensor([1.0 if done else -0.05])
        memory.append(Transition(state, action, None if done else one_hot(place), reward))
        loss = optimize_model()
        if loss is not None:
            losses.append(loss)
        if done:
            break
    durations.append(t + 1)
print(sum(durations[:10]) / 10.0, sum(durations[-10:]) / 10.0, "%.4f" % losses[0])
