"""``python -m kubetrio``."""

import sys

from kubetrio.cli import main

sys.exit(main())
