# In the stage's namespaces, with the rights that its processes have: opens what they inherit, then becomes its init.
# Arguments: working folder, output file, the init's text, stage folder, command...
workdir=$1 output=$2 init=$3
shift 3
fail() { echo "$1" >&2; exit 1; }
tool() { PATH="$PATH:/usr/sbin:/usr/bin:/sbin:/bin" "$@"; }
cd -- "$workdir" || fail "cannot enter $workdir"
if [ -n "${TMPDIR-}" ]; then tool mkdir -p -- "$TMPDIR" 2>/dev/null; fi
# Valgrind puts its descriptors at the top of the soft limit, where CRIU's own have to fit as well.
soft=$(ulimit -S -n)
if [ "$soft" = unlimited ] || [ "$soft" -gt 1024 ]; then ulimit -S -n 1024; fi
# Opened inside the mount namespace: CRIU finds the mount of a descriptor from outside in no list.
exec < /dev/null >> "$output" 2>&1 || exit 1
# A new shell: this one keeps a copy of a redirected descriptor as number 10.
exec /bin/sh -c "$init" preemptible-init "$@"
