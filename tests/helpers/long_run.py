"""Whether the long forms of tests are asked for: ``pytest --long``."""

import os

LONG = os.environ.get("SEMBLANCE_LONG") == "1"
