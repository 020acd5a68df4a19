#!/bin/sh
# Put Semblance into the menu of the user who runs this, from the unpacked folder; `install.sh --remove` undoes it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=${XDG_DATA_HOME:-$HOME/.local/share}
bin=$HOME/.local/bin

if [ "${1:-}" = "--remove" ]; then
    (cd "$here/share" && find . -type f) | while read -r file; do rm -f "$data/$file"; done
    rm -f "$bin/semblance"
    echo "Semblance is out of the menu. Libraries and settings stay."
else
    mkdir -p "$data" "$bin"
    cp -R "$here/share/." "$data/"
    ln -sf "$here/semblance" "$bin/semblance"
    # Menus do not look at the user's own path; what means something to sed or to them is escaped in it.
    path=$(printf %s "$here/semblance" | sed -e 's/[\\"`$]/\\\\&/g' -e 's/%/%%/g' -e 's/[\\&|]/\\&/g')
    sed -i "s|^Exec=semblance|Exec=\"$path\"|" "$data/applications/semblance.desktop"
    echo "Semblance is in the menu; the command is $bin/semblance."
fi
command -v update-desktop-database >/dev/null 2>&1 && update-desktop-database -q "$data/applications" || true
command -v update-mime-database >/dev/null 2>&1 && update-mime-database "$data/mime" >/dev/null 2>&1 || true
