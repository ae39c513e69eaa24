"""Models of transformers exported to ONNX, and run by onnxruntime for other batches and lengths."""

import torch
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    ViTConfig,
    ViTForImageClassification,
)

small = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}


class Language(torch.nn.Module):
    """Gives the first result alone, without a cache."""

    def __init__(self, model, **options):
        super().__init__()
        self.model, self.options = model, options

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask, **self.options)[0]


class Vision(torch.nn.Module):
    """Gives the first result alone."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images):
        return self.model(pixel_values=images)[0]


def tokens(batch, length):
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, length - 2 :] = 0
    return torch.randint(3, 50, (batch, length)), mask


def report(name, model, example, other, axes):
    program = torch.onnx.export(
        model.eval(), example, dynamic_shapes=axes, output_names=["y"], verbose=False
    )
    shapes = [
        [d.dim_param or d.dim_value for d in each.type.tensor_type.shape.dim]
        for each in program.model_proto.graph.input
    ]
    print(name, "inputs", shapes)
    for given in (example, other):
        (got,) = program(*given)
        with torch.no_grad():
            expected = model(*given)
        agrees = torch.allclose(got, expected, rtol=1e-3, atol=1e-4)
        print(name, tuple(got.shape), agrees, f"{got.std():.4f}")


def text(name, seed, make):
    torch.manual_seed(seed)
    model = make()
    sizes = {0: "batch", 1: "length"}
    report(name, model, tokens(2, 6), tokens(3, 9), (sizes, sizes))


text("bert", 1, lambda: Language(BertModel(BertConfig(vocab_size=50, **small))))
gpt = GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=50, n_positions=64)
text("gpt2", 2, lambda: Language(GPT2LMHeadModel(gpt), use_cache=False))
llama = LlamaConfig(vocab_size=50, num_key_value_heads=2, **small)
text("llama", 3, lambda: Language(LlamaForCausalLM(llama), use_cache=False))

torch.manual_seed(4)
vit = Vision(ViTForImageClassification(ViTConfig(image_size=32, patch_size=8, **small)))
images = (torch.rand(2, 3, 32, 32),), (torch.rand(5, 3, 32, 32),)
report("vit", vit, *images, ({0: "batch"},))
