#!/bin/sh
# Pin every package, with the hashes of its files, for all supported versions of Python and systems: make lock.
# requirements.lock has what the program and its extras for users need, requirements-dev.lock the extras for developers.
set -eu
cd "$(dirname "$0")/.."
uv=${1:-uv}
constraints=$(mktemp)
trap 'rm -f "$constraints"' EXIT
# Wheels with a local version label, as torch without CUDA has, are on no index.
sed 's/+[a-z0-9.]*//' packaging/constraints.txt > "$constraints"

lock() {
    target=$1
    shift
    "$uv" pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 \
        --constraints "$constraints" --output-file "$target" "$@" pyproject.toml
}

users="--extra app --extra dask --extra docs --extra ocr --extra pacs --extra parquet --extra serve --extra server"
# shellcheck disable=SC2086 # one word each
lock packaging/requirements.lock $users packaging/build-requirements.in
lock packaging/requirements-dev.lock --all-extras packaging/build-requirements.in
