#!/usr/bin/env bash
# Write a software bill of materials (CycloneDX, JSON) of the environment of ./rotor: tools/sbom.sh FILE.json
# With the packages of the tests (./rotor test), which bring the program that writes it. The same environment, the same bytes.
set -euo pipefail
out="${1:?usage: tools/sbom.sh FILE.json}"
exec "$(dirname "$0")/../rotor" python -m cyclonedx_py environment --pyproject "$(dirname "$0")/../pyproject.toml" \
  --mc-type application --output-reproducible --output-format JSON --output-file "$out"
