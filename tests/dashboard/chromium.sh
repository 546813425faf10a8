#!/bin/sh
# Prints the path of a Chromium for the browser tests; installs one where that is possible.
set -eu

find_chromium() {
    if [ -n "${CHROMIUM:-}" ]; then
        [ -x "$CHROMIUM" ] || { echo "CHROMIUM names $CHROMIUM, which cannot be run" >&2; exit 1; }
        echo "$CHROMIUM"
        return 0
    fi
    for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
        command -v "$name" && return 0
    done
    return 1
}

find_chromium && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    {
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core
    } >&2 || true
    find_chromium && exit 0
fi
echo "The browser tests need Chromium: install it, or set CHROMIUM to the path of one" >&2
exit 1
