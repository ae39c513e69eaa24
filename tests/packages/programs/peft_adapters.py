"""PEFT: adapters of twelve kinds on a small language model, trained, saved, loaded and merged."""

import tempfile

import peft
import torch
from transformers import LlamaConfig, LlamaForCausalLM

CONFIG = LlamaConfig(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=32,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=0,
)
Q = {"task_type": "CAUSAL_LM", "target_modules": ["q_proj"]}
ADAPTERS = {
    "lora": peft.LoraConfig(**Q, r=4, lora_alpha=8, lora_dropout=0.1),
    "dora": peft.LoraConfig(**Q, r=4, use_dora=True),
    "pissa": peft.LoraConfig(**Q, r=4, init_lora_weights="pissa"),
    "olora": peft.LoraConfig(**Q, r=4, init_lora_weights="olora"),
    "adalora": peft.AdaLoraConfig(**Q, init_r=4, target_r=2, total_step=10),
    "loha": peft.LoHaConfig(**Q, r=4),
    "lokr": peft.LoKrConfig(**Q, r=4),
    "oft": peft.OFTConfig(**Q, oft_block_size=8, use_cayley_neumann=False),
    "vera": peft.VeraConfig(**Q, r=4),
    "hra": peft.HRAConfig(**Q, r=4),
    "prompt": peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4),
    "prefix": peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4),
}


def language_model():
    torch.manual_seed(0)
    return LlamaForCausalLM(CONFIG)


ids = torch.randint(3, 64, (2, 10), generator=torch.Generator().manual_seed(0))
inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
for name, config in ADAPTERS.items():
    model = peft.get_peft_model(language_model(), config)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    model.train()
    losses = []
    for _ in range(3):
        loss = model(**inputs, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(f"{loss.item():.4f}")
    model.eval()
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        model.save_pretrained(folder)
        again = peft.PeftModel.from_pretrained(language_model(), folder).eval()
        is_same = torch.allclose(again(**inputs).logits, model(**inputs).logits, atol=1e-5)
    merged = ""
    if hasattr(model.base_model, "merge_and_unload"):
        merged = f"{model.merge_and_unload()(input_ids=ids).logits.norm().item():.3f}"
    print(name, losses, is_same, merged, flush=True)

model = peft.get_peft_model(language_model(), ADAPTERS["lora"])
model.print_trainable_parameters()
with model.disable_adapter():
    print(f"{model(input_ids=ids).logits.norm().item():.4f}")
