"""Fifty-five architectures of transformers, small and random: loss, gradients, generated text."""

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM

transformers.logging.set_verbosity_error()

# Of these, each configuration takes those that it has.
SMALL = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "emb_dim", "embedding_size"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_experts", "num_local_experts"), 4),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "d_ff", "n_inner", "d_inner"), 48),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "hidden_dim"), 48),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), 64),
    **dict.fromkeys(("head_dim", "d_kv", "state_size"), 8),
    **{"num_key_value_heads": 2, "num_experts_per_tok": 2, "moe_intermediate_size": 16},
    **{"sliding_window": 16, "attention_window": 8, "vocab_size": 99},
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1},
}
CAUSAL = (
    "apertus arcee bitnet bloom cohere cohere2 ctrl diffllama ernie4_5 falcon falcon_mamba gemma "
    "gemma2 glm4 gpt2 gpt_bigcode gpt_neox gpt_oss granite helium llama mamba mistral mixtral mpt "
    "olmo2 olmoe openai-gpt opt phi phi3 qwen2 qwen3 qwen3_moe smollm3 stablelm starcoder2 xglm"
)
MASKED = "albert bert convbert deberta-v2 distilbert electra fnet longformer mpnet roberta roformer"
SEQ2SEQ = "bart marian mbart pegasus plbart prophetnet"


def small(kind):
    defaults = transformers.AutoConfig.for_model(kind).to_dict()
    options = {
        name: value
        for name, value in SMALL.items()
        if defaults.get(name) is not None and not isinstance(defaults[name], (list, dict))
    }
    if isinstance(defaults.get("layer_types"), list):
        options["layer_types"] = defaults["layer_types"][:2]
    return transformers.AutoConfig.for_model(kind, **options)


for family, kinds in (
    (AutoModelForCausalLM, CAUSAL),
    (AutoModelForMaskedLM, MASKED),
    (AutoModelForSeq2SeqLM, SEQ2SEQ),
):
    for kind in kinds.split():
        torch.manual_seed(0)
        model = family.from_config(small(kind)).eval()
        tokens = torch.randint(3, 90, (2, 16))
        mask = torch.ones_like(tokens)
        mask[1, 12:] = 0
        loss = model(input_ids=tokens, attention_mask=mask, labels=tokens.clone()).loss
        loss.backward()
        norms = [p.grad.norm() for p in model.parameters() if p.grad is not None]
        words = [kind, f"{loss.item():.4f}", f"{torch.stack(norms).norm().item():.3f}"]
        if family is not AutoModelForMaskedLM:
            text = model.generate(tokens[:1], max_new_tokens=4, do_sample=False)
            words.append(text[0, -4:].tolist())
        print(*words, flush=True)
