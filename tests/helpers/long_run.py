"""Whether tests run in their long form: ``pytest --long``."""

import os

LONG = os.environ.get("SEMBLANCE_LONG") == "1"
