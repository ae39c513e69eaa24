"""Images, text with images, and sound: ViT, CLIP and Whisper from small random configurations."""

import torch
from transformers import (
    CLIPConfig,
    CLIPModel,
    CLIPTextConfig,
    CLIPVisionConfig,
    ViTConfig,
    ViTForImageClassification,
    WhisperConfig,
    WhisperForConditionalGeneration,
)

torch.manual_seed(0)
images = torch.rand(2, 3, 32, 32)
tokens = torch.randint(1, 90, (2, 7))
small = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}

torch.manual_seed(1)
vit = ViTForImageClassification(ViTConfig(image_size=32, patch_size=8, num_labels=5, **small))
out = vit.train()(images, labels=torch.tensor([1, 3]))
out.loss.backward()
print("vit", f"{out.loss.item():.4f}", f"{vit.vit.embeddings.cls_token.grad.norm().item():.4f}")

torch.manual_seed(2)
text = CLIPTextConfig(vocab_size=100, max_position_embeddings=16, eos_token_id=99, **small)
vision = CLIPVisionConfig(image_size=32, patch_size=8, **small)
clip = CLIPModel(
    CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=16)
)
out = clip(input_ids=tokens, pixel_values=images, return_loss=True)
out.loss.backward()
print(
    "clip",
    f"{out.loss.item():.4f}",
    [[round(v, 3) for v in r] for r in out.logits_per_image.tolist()],
)

torch.manual_seed(3)
whisper = WhisperForConditionalGeneration(
    WhisperConfig(
        vocab_size=100,
        num_mel_bins=16,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_source_positions=30,
        max_target_positions=20,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
).eval()
sound = torch.randn(2, 16, 60)
out = whisper(input_features=sound, labels=tokens)
out.loss.backward()
print(
    "whisper",
    f"{out.loss.item():.4f}",
    f"{whisper.model.encoder.conv1.weight.grad.norm().item():.4f}",
)
