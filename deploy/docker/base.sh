#!/usr/bin/env bash
# Makes a base image out of Debian packages, for machines that reach no container registry:
#
#   deploy/docker/base.sh [NAME]            then    ODRADEK_BASE_IMAGE=NAME docker compose build
#
# Needs docker and mmdebstrap (Debian: apt install mmdebstrap), and root where user namespaces are not allowed.
# SUITE and MIRROR choose another Debian.
set -euo pipefail
name=${1:-odradek/debian-python:local}
for tool in docker mmdebstrap; do
    command -v "$tool" >/dev/null || { echo "$tool is needed (Debian: apt install ${tool/#docker/docker.io})" >&2; exit 1; }
done
mmdebstrap --quiet --variant=minbase --include=python3,ca-certificates \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' "${SUITE:-bookworm}" - ${MIRROR:+"$MIRROR"} |
    docker import --change 'CMD ["python3"]' - "$name" >/dev/null
echo "$name"
