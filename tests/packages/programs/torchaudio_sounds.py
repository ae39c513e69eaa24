"""torchaudio: spectra, filters, augmentations, and models of speech, one of them trained."""

import torch
import torchaudio.functional as F
import torchaudio.transforms as T
from torchaudio.models import Conformer, ConvTasNet, Wav2Letter, wav2vec2_model

torch.manual_seed(0)
RATE = 8000
sound = torch.sin(torch.arange(1600) * 0.3).unsqueeze(0) + 0.1 * torch.randn(1, 1600)


def show(name: str, x: torch.Tensor) -> None:
    print(name, tuple(x.shape), f"{x.float().mean():.4f} {x.abs().max():.4f}")


# Spectra and features.
spectrum = T.Spectrogram(n_fft=256)(sound)
mel = {"n_fft": 256, "n_mels": 16}
for name, features in {
    "spectrogram": spectrum,
    "mel": T.MelSpectrogram(RATE, **mel)(sound),
    "mfcc": T.MFCC(RATE, n_mfcc=8, melkwargs=mel)(sound),
    "decibels": T.AmplitudeToDB()(spectrum),
    "deltas": F.compute_deltas(spectrum),
    "again": T.GriffinLim(n_fft=256, n_iter=4, rand_init=False)(spectrum),
    "resampled": T.Resample(RATE, 6000)(sound),
    "pitch": F.detect_pitch_frequency(sound.repeat(1, 4), RATE),
    "shifted": T.PitchShift(RATE, 2, n_fft=256)(sound),
}.items():
    show(name, features)

# Filters, each of which looks at its own past.
for name, filtered in {
    "lowpass": F.lowpass_biquad(sound, RATE, 1000.0),
    "equalizer": F.equalizer_biquad(sound, RATE, 500.0, 3.0),
    "lfilter": F.lfilter(sound, torch.tensor([1.0, 0.2, 0.1]), torch.tensor([0.4, 0.2, 0.9])),
    "overdrive": F.overdrive(sound),
    "phaser": F.phaser(sound, RATE),
    "loudness": F.loudness(sound.repeat(1, 10), RATE),
}.items():
    show(name, filtered)

# Augmentations.
show("masked", T.FrequencyMasking(20)(T.TimeMasking(4)(spectrum)))
show("faded", T.Fade(200, 200)(T.Vol(0.5)(sound)))
show("noisy", F.add_noise(sound, torch.randn(1, 1600), torch.tensor([10.0])))

# Models.
frames, lengths = torch.randn(2, 12, 16), torch.tensor([12, 9])
conformer = Conformer(16, num_heads=2, ffn_dim=32, num_layers=1, depthwise_conv_kernel_size=7)
conformer.eval()  # without the noise of dropout
head = torch.nn.Linear(16, 5)
optimizer = torch.optim.Adam([*conformer.parameters(), *head.parameters()], lr=1e-2)
targets, target_lengths = torch.randint(1, 5, (2, 4)), torch.tensor([4, 3])
for _ in range(3):
    optimizer.zero_grad()
    scores = head(conformer(frames, lengths)[0]).log_softmax(-1)
    loss = torch.nn.functional.ctc_loss(scores.transpose(0, 1), targets, lengths, target_lengths)
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.4f}")
separated = ConvTasNet(
    num_sources=2, enc_num_feats=16, msk_num_feats=8, msk_num_hidden_feats=16, msk_num_layers=2
)(torch.randn(1, 1, 400))
show("separated", separated)
letters = Wav2Letter(num_classes=5, input_type="mfcc", num_features=13).eval()
show("letters", letters(torch.randn(1, 13, 200)))
speech = wav2vec2_model(
    extractor_mode="group_norm",
    extractor_conv_layer_config=[(16, 10, 5), (16, 3, 2)],
    extractor_conv_bias=False,
    encoder_embed_dim=16,
    encoder_projection_dropout=0.0,
    encoder_pos_conv_kernel=8,
    encoder_pos_conv_groups=2,
    encoder_num_layers=2,
    encoder_num_heads=2,
    encoder_attention_dropout=0.0,
    encoder_ff_interm_features=32,
    encoder_ff_interm_dropout=0.0,
    encoder_dropout=0.0,
    encoder_layer_norm_first=False,
    encoder_layer_drop=0.0,
    aux_num_out=5,
).eval()
show("speech", speech(sound)[0])
