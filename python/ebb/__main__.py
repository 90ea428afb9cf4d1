"""`python -m ebb`: the program `ebb`."""

import sys

from ebb_command import main

sys.exit(main())
