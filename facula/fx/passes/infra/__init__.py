"""What passes are made of, and what runs several of them."""

__all__: list[str] = []
