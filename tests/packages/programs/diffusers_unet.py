"""diffusers: a U-Net trained on noise, saved as a pipeline; schedulers; latent and text models."""

import tempfile

import diffusers
import torch
from diffusers import DDIMScheduler, DDPMPipeline, DDPMScheduler, UNet2DModel
from diffusers.optimization import get_cosine_schedule_with_warmup
from diffusers.training_utils import EMAModel

torch.manual_seed(0)
unet = UNet2DModel(
    sample_size=16,
    in_channels=1,
    out_channels=1,
    layers_per_block=1,
    block_out_channels=(16, 32),
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    norm_num_groups=8,
    attention_head_dim=8,
)
scheduler = DDPMScheduler(num_train_timesteps=50)
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-3)
schedule = get_cosine_schedule_with_warmup(optimizer, 2, 10)
ema = EMAModel(unet.parameters())
clean = torch.randn(4, 1, 16, 16)
for step in range(4):
    noise, times = torch.randn_like(clean), torch.randint(0, 50, (4,))
    noisy = scheduler.add_noise(clean, noise, times)
    loss = torch.nn.functional.mse_loss(unet(noisy, times, return_dict=False)[0], noise)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    ema.step(unet.parameters())
    print(step, f"{loss.item():.5f}")

with tempfile.TemporaryDirectory() as folder:
    DDPMPipeline(unet, scheduler).save_pretrained(folder)
    pipeline = DDPMPipeline.from_pretrained(folder)
pipeline.set_progress_bar_config(disable=True)
generator = torch.Generator().manual_seed(0)
images = pipeline(1, generator, num_inference_steps=4, output_type="np").images
print(images.shape, f"{images.mean():.4f}")

unet.eval()
for made in (
    DDIMScheduler,
    diffusers.PNDMScheduler,
    diffusers.EulerDiscreteScheduler,
    diffusers.EulerAncestralDiscreteScheduler,
    diffusers.DPMSolverMultistepScheduler,
    diffusers.HeunDiscreteScheduler,
    diffusers.UniPCMultistepScheduler,
    diffusers.LCMScheduler,
):
    sampler = made(num_train_timesteps=50)
    sampler.set_timesteps(5)
    torch.manual_seed(1)
    x = torch.randn(1, 1, 16, 16)
    with torch.no_grad():
        for t in sampler.timesteps:
            predicted = unet(sampler.scale_model_input(x, t), t).sample
            x = sampler.step(predicted, t, x).prev_sample
    print(made.__name__, f"{x.norm().item():.4f}")

torch.manual_seed(0)
conditional = diffusers.UNet2DConditionModel(
    sample_size=8,
    layers_per_block=1,
    block_out_channels=(16, 32),
    down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
    up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    cross_attention_dim=16,
    norm_num_groups=8,
    attention_head_dim=8,
)
conditional.enable_gradient_checkpointing()
conditional.train()
y = conditional(torch.randn(2, 4, 8, 8), 3, torch.randn(2, 5, 16)).sample
y.square().mean().backward()
print(f"{y.norm().item():.4f} {conditional.conv_in.weight.grad.norm().item():.5f}")
vae = diffusers.AutoencoderKL(
    block_out_channels=(16, 32),
    down_block_types=("DownEncoderBlock2D",) * 2,
    up_block_types=("UpDecoderBlock2D",) * 2,
    norm_num_groups=8,
)
latent = vae.encode(torch.randn(1, 3, 16, 16)).latent_dist
print(f"{latent.kl().sum().item():.4f} {vae.decode(latent.sample()).sample.norm().item():.4f}")
