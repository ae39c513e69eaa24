"""einops, safetensors, torchinfo and tensordict."""

import tempfile

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import Rearrange, Reduce
from safetensors.torch import load_file, load_model, save_file, save_model
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
from torchinfo import summary

x = torch.arange(24.0, requires_grad=True).reshape(2, 3, 4)
print(rearrange(x, "b h w -> (b h) w").shape, repeat(x, "b h w -> b (r h) w", r=2).shape)
print(reduce(x, "b h w -> b", "max").tolist(), einsum(x, x, "b h w, b k w -> b h k").sum().item())
packed, shapes = pack([x, torch.zeros(2, 4)], "b * w")
print(packed.shape, [tuple(u.shape) for u in unpack(packed, shapes, "b * w")])
net = torch.nn.Sequential(
    Rearrange("b h w -> b w h"), torch.nn.Linear(3, 2), Reduce("b w c -> b c", "mean")
)
net(x).sum().backward()
print(net)

with tempfile.TemporaryDirectory() as folder:
    save_file(
        {"a": x.detach(), "b": torch.ones(3, dtype=torch.bfloat16)}, f"{folder}/x.safetensors"
    )
    back = load_file(f"{folder}/x.safetensors")
    print({k: (v.dtype, tuple(v.shape)) for k, v in back.items()}, torch.equal(back["a"], x))
    tied = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    tied[1].weight = tied[0].weight
    save_model(tied, f"{folder}/m.safetensors")
    print(
        load_model(
            torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)),
            f"{folder}/m.safetensors",
            strict=False,
        )
    )

info = summary(
    torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 5)
    ),
    input_size=(2, 3, 8, 8),
    verbose=0,
)
print(info.total_params, info.total_mult_adds)
print(info)

data = TensorDict({"obs": torch.ones(4, 3), "next": {"reward": torch.zeros(4)}}, batch_size=[4])
print(data[:2].batch_size, data["next", "reward"].shape, sorted(data.keys(True), key=str))
print(
    torch.stack([data, data]).batch_size,
    torch.cat([data, data]).batch_size,
    (data + 1)["obs"].sum().item(),
)
torch.manual_seed(0)
policy = TensorDictSequential(
    TensorDictModule(torch.nn.Linear(3, 2), in_keys=["obs"], out_keys=["hidden"]),
    TensorDictModule(torch.tanh, in_keys=["hidden"], out_keys=["action"]),
)
print([round(v, 4) for v in policy(data)["action"][0].tolist()], data.reshape(2, 2).shape)
