"""What would quantize a model."""

from facula._refusing import refusing

__all__ = ["convert", "prepare", "prepare_qat", "quantize", "quantize_dynamic"]

_SENTENCE = (
    "there are no quantized tensors. Use bfloat16 (model.bfloat16(), torch.autocast), or export to "
    "ONNX and quantize there."
)

convert = refusing("torch.ao.quantization.convert", _SENTENCE)
prepare = refusing("torch.ao.quantization.prepare", _SENTENCE)
prepare_qat = refusing("torch.ao.quantization.prepare_qat", _SENTENCE)
quantize = refusing("torch.ao.quantization.quantize", _SENTENCE)
quantize_dynamic = refusing("torch.ao.quantization.quantize_dynamic", _SENTENCE)
