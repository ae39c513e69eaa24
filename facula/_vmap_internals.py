"""``vmap``, where packages imported it from before ``torch.func`` was there."""

from facula.func import vmap as vmap
