"""Looking into functions that are transformed: values printed or handed out as they are computed, leaks found."""

from ._callbacks import callback, print
from ._leaks import checking_leaks
from ._leaks import leaks_checked as leaks_checked

__all__ = ["callback", "checking_leaks", "print"]
