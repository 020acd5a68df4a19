#!/bin/sh
# Find a Python that Semblance runs on and hand over to bootstrap.py: setup.sh run | test | deep | bundle
# PYTHON=/path/to/python chooses one.
set -u
cd "$(dirname "$0")/.." || exit 1

fits() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1
}

if [ -n "${PYTHON:-}" ]; then
    candidates=$PYTHON
    fits "$PYTHON" && exec "$PYTHON" packaging/bootstrap.py "$@"
else
    candidates="python3 python3.13 python3.12 python3.11 python"
    for candidate in $candidates; do
        fits "$candidate" && exec "$candidate" packaging/bootstrap.py "$@"
    done
fi

echo "Semblance needs Python 3.11, 3.12 or 3.13; found none under: $candidates." >&2
echo "Install one (Debian, Ubuntu: sudo apt-get install python3 python3-venv)," >&2
echo "or name one: make run PYTHON=/path/to/python3.12" >&2
exit 1
