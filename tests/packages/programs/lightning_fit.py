"""Lightning: fit, callbacks, checkpoints, resume, predict, mixed precision, Fabric."""

import logging
import tempfile
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Classifier(L.LightningModule):
    def __init__(self, width=16, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(8, width), torch.nn.ReLU(), torch.nn.Linear(width, 2)
        )

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val_loss", F.cross_entropy(self(x), y), prog_bar=True)

    def predict_step(self, batch, index):
        return self(batch[0]).argmax(-1)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2)]


generator = torch.Generator().manual_seed(0)
x = torch.randn(128, 8, generator=generator)
data = TensorDataset(x, (x[:, 0] > 0).long())
quiet = {
    "accelerator": "cpu",
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "log_every_n_steps": 4,
}
with tempfile.TemporaryDirectory() as folder:
    L.seed_everything(1, verbose=False)
    model = Classifier()
    best = ModelCheckpoint(folder, monitor="val_loss", save_last=True, filename="best")
    trainer = L.Trainer(
        max_epochs=3,
        logger=CSVLogger(folder),
        gradient_clip_val=1.0,
        default_root_dir=folder,
        callbacks=[best, EarlyStopping("val_loss"), LearningRateMonitor()],
        **quiet,
    )
    train, val = DataLoader(data, 16, shuffle=True), DataLoader(data, 32)
    trainer.fit(model, train, val)
    print("fit", trainer.global_step, f"{trainer.callback_metrics['val_loss'].item():.4f}")
    again = L.Trainer(max_epochs=5, logger=False, default_root_dir=folder, **quiet)
    again.fit(Classifier(), train, val, ckpt_path=f"{folder}/last.ckpt", weights_only=False)
    print("resumed", again.global_step, f"{again.callback_metrics['val_loss'].item():.4f}")
    loaded = Classifier.load_from_checkpoint(best.best_model_path, weights_only=False)
    print(loaded.hparams["width"], f"{best.best_model_score.item():.4f}")
    found = torch.cat(again.predict(loaded, val))
    print("right", int((found == data.tensors[1]).sum()), "of", len(found))

L.seed_everything(2, verbose=False)
half = L.Trainer(
    max_epochs=1, precision="bf16-mixed", logger=False, enable_checkpointing=False, **quiet
)
half.fit(Classifier(), DataLoader(data, 16))
print("bf16", f"{half.callback_metrics['train_loss'].item():.2f}")

fabric = L.Fabric(accelerator="cpu", devices=1)
fabric.seed_everything(3, verbose=False)
net = torch.nn.Linear(8, 2)
net, optimizer = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
loader = fabric.setup_dataloaders(DataLoader(data, 32))
for inputs, labels in loader:
    optimizer.zero_grad()
    loss = F.cross_entropy(net(inputs), labels)
    fabric.backward(loss)
    optimizer.step()
print("fabric", f"{loss.item():.4f}")
