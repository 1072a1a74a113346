#!/usr/bin/env bash
# Gradescope runs this once, as root and with a network, while it builds the autograder. Nothing is downloaded later.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/engine"

suitable() {
    local python
    for python in python3.13 python3.12 python3.14 python3.11 python3.15; do
        if "$python" -c "import ensurepip" 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    return 1
}

if ! suitable >/dev/null; then
    apt-get update
    apt-get install -y python3 python3-venv
    suitable >/dev/null || apt-get install -y python3.11 python3.11-venv # Ubuntu 22.04 begins with 3.10
fi
"$(suitable)" install.py portable
