#!/usr/bin/env bash
# Plays a newcomer to a machine with Docker: clone, up, run, scale, kill, upgrade, results, down. Prints each command and
# what comes of it, which is what docs/docker.md shows; ends with an error where one fails. Takes all down in any case.
#
#   deploy/docker/newcomer.sh [REPOSITORY [DOTENV]]      DOTENV: a .env for the clone, such as for no registry
set -euo pipefail
repository=${1:-$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse --show-toplevel)}
dotenv=${2:+$(realpath "$2")}
folder=$(mktemp -d)
export COMPOSE_PROGRESS=${COMPOSE_PROGRESS:-quiet}
take_down() {
    cd "$folder/odradek" && docker compose down --volumes --remove-orphans --timeout 10 >/dev/null 2>&1 || true
    cd / && rm -rf "$folder"
}
trap take_down EXIT

step() {
    printf '\n$ %s\n' "$*"
    eval "$*"
}

cd "$folder"
step git clone --quiet "$repository" odradek
step cd odradek
if [ -n "$dotenv" ]; then cp "$dotenv" .env; fi
step docker compose up -d
step "docker compose ps --format 'table {{.Service}}\t{{.Status}}'"
step docker compose run --rm cli run mcqa --model smollm2 --limit 4

# ODRADEK_VENV: an installation that is there, where the time for another is to be saved.
if [ -n "${ODRADEK_VENV:-}" ]; then ln -s "$ODRADEK_VENV" .venv; else step "make install >/dev/null"; fi
step source .venv/bin/activate
step "eval \"\$(deploy/docker/host.sh)\""
step "run=\$(odradek run example_session_state_mgmt --model smollm2 --limit 4 --samples 3 --detach)"
step docker compose up -d --scale agent-worker=3 --scale env-worker=2 --no-recreate
step docker compose kill agent-worker
step docker compose up -d --scale agent-worker=3 --scale env-worker=2
step ODRADEK_REVISION=upgraded docker compose up -d --build --scale agent-worker=3 --scale env-worker=2
step odradek watch '$run'
step odradek results '$run'
step odradek audit '$run'
step docker compose down
