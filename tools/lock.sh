#!/usr/bin/env bash
# Refresh the lock files from the .in files (needs `uv`). One universal lock serves Python 3.10 to 3.13.
set -euo pipefail
cd "$(dirname "$0")"
for name in requirements requirements-dev; do
  uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header --no-emit-index-url \
    --output-file "$name.lock" "$name.in"
done
