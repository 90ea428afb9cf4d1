"""`python -m ebb`: the program `ebb`."""

import sys

from ebb._program import main

sys.exit(main())
