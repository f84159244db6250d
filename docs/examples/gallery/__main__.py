"""Run a program of the gallery: `python -m gallery NAME [LIBRARY]`; writes NAME.svg."""

import os
import sys
from pathlib import Path

os.environ.setdefault("JAX_ENABLE_X64", "1")  # read when JAX is first imported
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # the same for SciPy; scikit-learn asks for it

from . import PROGRAMS, load, picture, run

if len(sys.argv) < 2 or sys.argv[1] not in PROGRAMS:
    sys.exit(f"{__doc__}\nPrograms: {', '.join(PROGRAMS)}.")
name, library = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else load(sys.argv[1]).LIBRARIES[0]
results = run(name, library)
print(f"{library}: {load(name).summary(results)}")
Path(f"{name}.svg").write_text(picture(name, results), encoding="utf-8")
