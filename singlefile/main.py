"""Where the single file begins."""

import sys

from kubetrio.cli import main

sys.exit(main())
