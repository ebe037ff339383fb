"""The scripts of a release are not installed: they are found in the checkout, behind what is."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
