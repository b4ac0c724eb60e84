#!/usr/bin/env bash
# Refresh the lock files from the one list, pyproject.toml (needs `uv`).
# tools/requirements.lock: of ./rotor without a distribution, universal for Python 3.10 to 3.13: simulate, control, plan,
# record, plot. tools/extras/*.lock: what is added at its first use. tools/requirements-dev.lock: tests and documentation.
# ros2_ws/src/rotor_vendor/requirements.lock: of a workspace on a distribution, what that does not bring itself.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() { # file, lowest Python, then where its packages come from
  uv pip compile --quiet --universal --python-version "$2" --generate-hashes --no-header --no-strip-extras --no-emit-index-url \
    --no-emit-package rotor --output-file "$1" "${@:3}"
}
compile tools/requirements.lock 3.10 pyproject.toml --extra recordings --extra planning --extra library --extra earth --group ros --group colcon
known=(--constraint tools/requirements.lock)
for extra in view compare studies learn evo testbed predictive px4 notebooks; do
  compile "tools/extras/$extra.lock" 3.10 pyproject.toml --extra "$extra" "${known[@]}"
  known+=(--constraint "tools/extras/$extra.lock")
done
compile tools/requirements-dev.lock 3.10 --group pyproject.toml:test --group pyproject.toml:docs "${known[@]}"

compile tools/requirements-installer.lock 3.10 --group pyproject.toml:installer

mapfile -t left_out < <(sed '/^# installed/,$d' tools/distribution.txt | grep -o '^[a-z0-9-]\+' | sort -u | sed 's/^/--no-emit-package=/')
extras=()
for extra in view compare studies learn planning library earth testbed predictive px4; do extras+=(--extra "$extra"); done
compile ros2_ws/src/rotor_vendor/requirements.lock 3.12 pyproject.toml "${extras[@]}" \
  --constraint tools/distribution.txt "${left_out[@]}"
