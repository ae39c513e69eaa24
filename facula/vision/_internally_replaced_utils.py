"""The function that loads weights, where model repositories import it from in torchvision."""

from facula.hub import load_state_dict_from_url as load_state_dict_from_url
