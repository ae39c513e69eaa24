"""Language models of transformers from small random configurations: loss, gradients, generate."""

import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)


def show(name, model, **inputs):
    model.eval()
    out = model(**inputs)
    out.loss.backward()
    norms = [p.grad.norm().item() for p in model.parameters() if p.grad is not None]
    print(name, f"loss {out.loss.item():.4f}", f"gradients {len(norms)} {sum(norms):.3f}")


torch.manual_seed(0)
tokens = torch.randint(1, 99, (2, 12))
mask = torch.ones_like(tokens)
mask[1, 8:] = 0

small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100}
bert = BertConfig(intermediate_size=64, max_position_embeddings=32, **small)
torch.manual_seed(1)
show("bert", BertForMaskedLM(bert), input_ids=tokens, attention_mask=mask, labels=tokens)
torch.manual_seed(1)
classes = torch.tensor([0, 1])
show("bert classes", BertForSequenceClassification(bert), input_ids=tokens, labels=classes)

torch.manual_seed(2)
gpt2 = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=100, n_positions=64))
show("gpt2", gpt2, input_ids=tokens, attention_mask=mask, labels=tokens)
options = {"max_new_tokens": 6, "pad_token_id": 0}
print("greedy", gpt2.generate(tokens[:, :4], do_sample=False, **options).tolist())
print("beams", gpt2.generate(tokens[:, :4], num_beams=3, do_sample=False, **options).tolist())
torch.manual_seed(3)
print("samples", gpt2.generate(tokens[:, :4], do_sample=True, top_k=20, **options).tolist())

torch.manual_seed(4)
llama = LlamaForCausalLM(LlamaConfig(intermediate_size=64, num_key_value_heads=2, **small))
show("llama", llama, input_ids=tokens, attention_mask=mask, labels=tokens)
print("greedy", llama.generate(tokens[:, :4], do_sample=False, **options).tolist())

torch.manual_seed(5)
t5 = T5ForConditionalGeneration(
    T5Config(
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        vocab_size=100,
        decoder_start_token_id=0,
    )
)
show("t5", t5, input_ids=tokens, labels=tokens[:, :5].contiguous())
print("greedy", t5.generate(tokens, do_sample=False, max_new_tokens=6).tolist())
