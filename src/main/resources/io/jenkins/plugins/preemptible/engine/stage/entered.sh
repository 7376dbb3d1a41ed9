# Arguments: working folder, command...
cd -- "$1" || exit 125
shift
# See launch.sh.
soft=$(ulimit -S -n)
if [ "$soft" = unlimited ] || [ "$soft" -gt 1024 ]; then ulimit -S -n 1024; fi
exec "$@"
