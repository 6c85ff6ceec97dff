#!/usr/bin/env bash
# Prints the settings by which `odradek` on this machine finds the stack that `docker compose up` has started here:
#
#   eval "$(deploy/docker/host.sh)"
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
settings=$(docker compose config --environment)

setting() { # NAME DEFAULT
    local found
    found=$(sed -n "s/^$1=//p" <<<"$settings" | tail -n 1)
    printf '%s' "${found:-$2}"
}

brokers=
for service in $(docker compose ps --services | grep '^kafka' || true); do
    brokers+=${brokers:+,}$(docker compose port "$service" 9092)
done
[ -n "$brokers" ] || { echo "Kafka does not run here: docker compose up -d" >&2; exit 1; }
data=$(setting ODRADEK_DATA .odradek)
case $data in /*) ;; *) data=$PWD/${data#./} ;; esac
cat <<END
export ODRADEK_BOOTSTRAP_SERVERS=$brokers
export ODRADEK_BLOB_STORE=$(printf %q "$(setting ODRADEK_STACK_BLOB_STORE "file://$data/blobs")")
export ODRADEK_TOPIC_PREFIX=$(printf %q "$(setting ODRADEK_TOPIC_PREFIX odradek.)")
export ODRADEK_PARTITIONS=$(printf %q "$(setting ODRADEK_PARTITIONS 4)")
END
