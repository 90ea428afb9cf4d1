"""The command `ebb`, for `python -m ebb`."""

from ebb_command import main

__all__ = ["main"]
