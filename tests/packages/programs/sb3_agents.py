"""Stable-Baselines3: PPO, A2C, DQN, SAC and TD3 learn a little, are saved, loaded, go on."""

import os
import tempfile

import gymnasium as gym
import numpy as np
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.evaluation import evaluate_policy

REPLAY = {"learning_starts": 40, "buffer_size": 1000}

for agent, world, options in (
    (PPO, "CartPole-v1", {"n_steps": 64, "batch_size": 32, "n_epochs": 2}),
    (A2C, "CartPole-v1", {}),
    (DQN, "CartPole-v1", REPLAY),
    (SAC, "Pendulum-v1", REPLAY),
    (TD3, "Pendulum-v1", REPLAY),
):
    shape = {"net_arch": [32, 32]}
    model = agent("MlpPolicy", world, seed=0, device="cpu", policy_kwargs=shape, **options)
    model.learn(total_timesteps=150)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.zip")
        model.save(path)
        model = agent.load(path, env=gym.make(world), device="cpu")
    seen = np.linspace(-0.1, 0.1, model.observation_space.shape[0], dtype=np.float32)
    action, _ = model.predict(seen, deterministic=True)
    norms = [round(p.detach().norm().item(), 3) for p in list(model.policy.parameters())[:4]]
    print(agent.__name__, np.round(action, 3), norms)
    model.learn(total_timesteps=64)
    reward, _ = evaluate_policy(model, model.get_env(), n_eval_episodes=2)
    print(f"{reward:.1f}")
