"""accelerate: a training loop with accumulation, clipping, saved state, and empty weights."""

import tempfile

import torch
from accelerate import Accelerator, init_empty_weights, load_checkpoint_in_model
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
x = torch.randn(64, 8)
data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), 8, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=40)
model, optimizer, data, schedule = accelerator.prepare(model, optimizer, data, schedule)
for epoch in range(3):
    for inputs, target in data:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(inputs), target)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    print(
        epoch, f"{accelerator.gather(loss).mean().item():.4f}", f"{schedule.get_last_lr()[0]:.5f}"
    )
with tempfile.TemporaryDirectory() as folder:
    accelerator.save_state(folder)
    before = {k: v.clone() for k, v in accelerator.unwrap_model(model).state_dict().items()}
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    accelerator.load_state(folder)
    after = accelerator.unwrap_model(model).state_dict()
    print("state", all(torch.equal(before[k], after[k]) for k in before))
    with init_empty_weights():
        empty = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    print(empty[0].weight.device, empty[0].weight.shape)
    torch.save(before, f"{folder}/m.bin")
    empty.to_empty(device="cpu")
    load_checkpoint_in_model(empty, f"{folder}/m.bin")
    print(torch.equal(empty(x), accelerator.unwrap_model(model)(x)))
