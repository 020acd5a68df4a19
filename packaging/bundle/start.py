"""Where the bundled program starts: what `python -m semblance.app` is in an installed one."""

from __future__ import annotations

import multiprocessing
import sys

# Before anything else is imported: a worker process starts here as well.
multiprocessing.freeze_support()

from semblance.app.__main__ import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
