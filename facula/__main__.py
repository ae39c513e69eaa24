"""``python -m facula`` is the command ``facula``."""

from facula.cli import main

if __name__ == "__main__":
    main()
