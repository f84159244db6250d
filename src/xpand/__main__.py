"""The command `xpand` as `python -m xpand`."""

import sys

from xpand_extensions.cli import main

sys.exit(main())
