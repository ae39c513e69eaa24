"""The older home of :func:`facula.hub.load_state_dict_from_url`."""

from facula.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
