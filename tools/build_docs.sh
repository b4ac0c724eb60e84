#!/usr/bin/env bash
# Build the documentation site into .ros/site (another folder: its path as argument). Warnings are errors.
# Run by `./rotor python -m mkdocs` where an environment is prepared; its tools are in requirements-dev.lock.
set -euo pipefail
cd "$(dirname "$0")/.."
export NO_MKDOCS_2_WARNING=1
if command -v mkdocs >/dev/null; then build=(mkdocs); else build=(./rotor python -m mkdocs); fi
exec "${build[@]}" build --strict --site-dir "${1:-.ros/site}"
