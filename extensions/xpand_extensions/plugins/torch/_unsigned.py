"""The larger unsigned integers, for which PyTorch has few functions."""

from typing import Final

import torch

SIGNED: Final = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
"""The signed data types of the same size, for which it has all functions."""
