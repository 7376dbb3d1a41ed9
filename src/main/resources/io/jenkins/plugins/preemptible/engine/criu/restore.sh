# Runs CRIU's restore, then becomes what waits for the restored init, whose parent it is.
# CRIU must not wait for it: it would keep every mount and memory file open that it restored.
# Arguments: the text of restored.sh, file that is removed once CRIU has succeeded and ended, file with the init's
#   process id, CRIU and its arguments
restored=$1 running=$2 pidfile=$3
shift 3
"$@" >&2
code=$?
[ "$code" = 0 ] || exit "$code"
read -r init < "$pidfile"
# To the caller, who need not wait for programs to start. It may be gone.
trap '' PIPE
echo restored 2>/dev/null
exec > /dev/null 2>&1
PATH="$PATH:/usr/bin:/bin"
# For whoever comes later. Removed, not written: that needs no room on a full disk.
rm "$running" || exit 1
exec env -i /bin/sh -c "$restored" preemptible-restored "$init"
