#!/usr/bin/env bash
# Refresh the lock files from the one list, pyproject.toml (needs `uv`). One universal lock serves Python 3.10 to 3.13.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() { # file, then where its packages come from
  uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header --no-emit-index-url \
    --no-emit-package rotor --output-file "tools/$1" "${@:2}"
}
compile requirements.lock pyproject.toml --extra all --group ros --group colcon
compile requirements-dev.lock --group pyproject.toml:test --group pyproject.toml:docs --constraint tools/requirements.lock
