"""Makes the helpers beside these tests importable."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# The helpers are modules beside the tests, and the scripts are tested as they are; neither folder is a package.
sys.path[:0] = [str(HERE), str(HERE.parent / "scripts")]
