#!/bin/sh
# Installs into an image, with tools that are only lent to it:
#
#   install [--no-deps] NAME                 what locks/images/NAME.txt (or locks/NAME.txt) names
#   install --own [--no-deps] PACKAGE...     packages of this repository; nothing is downloaded, so it fails where a
#                                            lock does not have all that they need
set -eu
install="/tools/uv pip install --quiet --python /opt/odradek/bin/python --compile-bytecode"
export PYC_INVALIDATION_MODE=UNCHECKED_HASH
if [ "$1" = --own ]; then
    shift
    exec $install --no-index --find-links /wheels --find-links /wheels/environments "$@"
fi
for name; do :; done
lock=/locks/images/$name.txt
[ -e "$lock" ] || lock=/locks/$name.txt
[ "$1" = --no-deps ] || set --
exec /tools/trusting $install ${1:+--no-deps} --require-hashes --requirement "$lock"
