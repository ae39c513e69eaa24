"""Trainer: train, evaluate, save, resume, load again."""

import tempfile
from pathlib import Path

import torch
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainingArguments,
)


class Parity(torch.utils.data.Dataset):
    def __init__(self, n):
        generator = torch.Generator().manual_seed(n)
        self.tokens = torch.randint(0, 2, (n, 6), generator=generator)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        row = self.tokens[i]
        return {"input_ids": row, "labels": row[0]}


def accuracy(prediction):
    guesses = prediction.predictions.argmax(-1)
    return {"accuracy": float((guesses == prediction.label_ids).mean())}


config = BertConfig(
    vocab_size=2,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=8,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
with tempfile.TemporaryDirectory() as folder:
    options = {
        "output_dir": folder,
        "per_device_train_batch_size": 8,
        "learning_rate": 5e-3,
        "save_strategy": "epoch",
        "logging_strategy": "epoch",
        "report_to": [],
        "disable_tqdm": True,
        "seed": 7,
        "use_cpu": True,
        "weight_decay": 0.01,
        "warmup_steps": 2,
        "max_grad_norm": 1.0,
    }
    torch.manual_seed(0)
    model = BertForSequenceClassification(config)
    trainer = Trainer(
        model,
        TrainingArguments(num_train_epochs=2, **options),
        train_dataset=Parity(64),
        eval_dataset=Parity(32),
        compute_metrics=accuracy,
    )
    result = trainer.train()
    print("steps", result.global_step, "loss", f"{result.training_loss:.4f}")
    scores = trainer.evaluate()
    print("evaluated", f"{scores['eval_loss']:.4f}", scores["eval_accuracy"])
    checkpoints = sorted(p.name for p in Path(folder).glob("checkpoint-*"))
    print(checkpoints)

    more = Trainer(
        BertForSequenceClassification(config),
        TrainingArguments(num_train_epochs=3, **options),
        train_dataset=Parity(64),
        eval_dataset=Parity(32),
        compute_metrics=accuracy,
    )
    result = more.train(resume_from_checkpoint=True)
    print("resumed to", result.global_step, f"{more.evaluate()['eval_loss']:.4f}")

    more.save_model(Path(folder) / "final")
    again = AutoModelForSequenceClassification.from_pretrained(Path(folder) / "final").eval()
    with torch.no_grad():
        before = more.model.eval()(torch.tensor([[0, 1, 1, 0, 1, 0]])).logits
        after = again(torch.tensor([[0, 1, 1, 0, 1, 0]])).logits
    print(
        "loaded", torch.allclose(before, after, atol=1e-6), [f"{v:.3f}" for v in after[0].tolist()]
    )
