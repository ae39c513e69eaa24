"""TRL: a small random model trained by SFT, DPO with three losses, and as a reward model."""

import tempfile

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
    set_seed,
)
from trl import DPOConfig, DPOTrainer, RewardConfig, RewardTrainer, SFTConfig, SFTTrainer

WORDS = "<pad> <unk> <s> </s> the cat sat on a mat dog ran far away sun is hot cold day ."
VOCAB = {word: i for i, word in enumerate(WORDS.split())}
tokenizer = Tokenizer(models.WordLevel(VOCAB, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokens = PreTrainedTokenizerFast(
    tokenizer_object=tokenizer,
    pad_token="<pad>",
    unk_token="<unk>",
    bos_token="<s>",
    eos_token="</s>",
)
config = LlamaConfig(
    vocab_size=len(VOCAB),
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    pad_token_id=0,
    bos_token_id=2,
    eos_token_id=3,
    num_labels=1,
)


def make(kind=LlamaForCausalLM):
    set_seed(0)
    return kind(config)


def show(trainer):
    trainer.train()
    for entry in trainer.state.log_history:
        kept = {k: v for k, v in entry.items() if not k.startswith("train_") and k != "total_flos"}
        print({k: round(v, 4) for k, v in sorted(kept.items())})


with tempfile.TemporaryDirectory() as folder:
    common = {
        "output_dir": folder,
        "max_steps": 3,
        "logging_steps": 1,
        "learning_rate": 1e-3,
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "disable_tqdm": True,
        "save_strategy": "no",
    }
    texts = ["the cat sat on a mat .", "a dog ran far away .", "the sun is hot .", "a cold day ."]
    trainer = SFTTrainer(
        model=make(),
        args=SFTConfig(per_device_train_batch_size=4, **common),
        train_dataset=Dataset.from_dict({"text": texts * 4}),
        processing_class=tokens,
    )
    show(trainer)
    trainer.save_model(f"{folder}/sft")
    model = LlamaForCausalLM.from_pretrained(f"{folder}/sft")
    prompt = tokens("the cat", return_tensors="pt", return_token_type_ids=False)
    print(tokens.decode(model.generate(**prompt, max_new_tokens=5, do_sample=False)[0]))

    pairs = Dataset.from_dict(
        {
            "prompt": ["the cat", "a dog", "the sun", "a cold"] * 2,
            "chosen": [" sat on a mat", " ran far", " is hot", " day"] * 2,
            "rejected": [" ran", " sat", " cold", " hot"] * 2,
        }
    )
    for loss_type in ("sigmoid", "ipo", "hinge"):
        show(
            DPOTrainer(
                model=make(),
                ref_model=make(),
                args=DPOConfig(per_device_train_batch_size=2, loss_type=loss_type, **common),
                train_dataset=pairs,
                processing_class=tokens,
            )
        )
    show(
        RewardTrainer(
            model=make(LlamaForSequenceClassification),
            args=RewardConfig(per_device_train_batch_size=2, **common),
            train_dataset=pairs.remove_columns("prompt"),
            processing_class=tokens,
        )
    )
