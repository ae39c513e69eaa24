"""Ignite: a trainer with metrics, schedules, EMA and early stopping, saved and resumed."""

import tempfile

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, EarlyStopping, EMAHandler, ModelCheckpoint, TerminateOnNan
from ignite.handlers.param_scheduler import CosineAnnealingScheduler
from ignite.metrics import Accuracy, ConfusionMatrix, Loss, Precision, RunningAverage
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(128, 8)
y = (x[:, :3].sum(1) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loss = nn.CrossEntropyLoss()

trainer = create_supervised_trainer(model, optimizer, loss, deterministic=True)
RunningAverage(output_transform=lambda output: output).attach(trainer, "loss")
trainer.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())
schedule = CosineAnnealingScheduler(optimizer, "lr", 0.1, 0.01, 16)
trainer.add_event_handler(Events.ITERATION_STARTED, schedule)
ema = EMAHandler(model, momentum=0.1)
ema.attach(trainer)
metrics = {
    "accuracy": Accuracy(),
    "loss": Loss(loss),
    "confusion": ConfusionMatrix(2),
    "precision": Precision(average=True),
}
evaluator = create_supervised_evaluator(model, metrics=metrics)


@trainer.on(Events.EPOCH_COMPLETED)
def report(engine):
    evaluator.run(loader)
    found = evaluator.state.metrics
    print(engine.state.epoch, f"{engine.state.metrics['loss']:.5f} {found['accuracy']:.4f}")
    print(f"{found['loss']:.5f} {found['precision']:.4f}", found["confusion"].tolist())
    print(f"lr {optimizer.param_groups[0]['lr']:.5f}")


with tempfile.TemporaryDirectory() as folder:
    state = {"model": model, "optimizer": optimizer, "trainer": trainer}
    saver = ModelCheckpoint(folder, "m", n_saved=1, require_empty=False)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, saver, state)
    stopper = EarlyStopping(5, lambda engine: -engine.state.metrics["loss"], trainer)
    evaluator.add_event_handler(Events.COMPLETED, stopper)
    trainer.run(loader, max_epochs=4)
    checkpoint = torch.load(saver.last_checkpoint, weights_only=False)
    Checkpoint.load_objects(to_load=state, checkpoint=checkpoint)
    trainer.run(loader, max_epochs=6)
print(f"{sum(p.double().norm().item() for p in ema.ema_model.parameters()):.5f}")
