#!/bin/sh
# A short stage. Arguments: folder for what it writes, seconds.
set -u
sleep "$2"
echo done >"$1/urgent"
