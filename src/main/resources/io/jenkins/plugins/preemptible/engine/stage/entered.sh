# Arguments: working folder, command...
cd -- "$1" || {
  echo "preemptible: the stage does not see $1: it has a /tmp of its own; work below the stage's folder" >&2
  exit 125
}
shift
if [ -n "${TMPDIR-}" ]; then PATH="$PATH:/usr/bin:/bin" mkdir -p -- "$TMPDIR" 2>/dev/null; fi
# See launch.sh.
soft=$(ulimit -S -n)
if [ "$soft" = unlimited ] || [ "$soft" -gt 1024 ]; then ulimit -S -n 1024; fi
exec "$@"
