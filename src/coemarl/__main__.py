"""`python -m coemarl`: the command `coe`."""

import sys

from coemarl.cli import main

sys.exit(main())
