# Runs CRIU's restore in a mount namespace of its own, which vanishes with it.
# Without what is mounted below /: the stage would have it under its own mounts, and its next dump with all its content.
# Arguments: an empty folder, cgroup.procs file or '', CRIU and its arguments
root=$1 join=$2
shift 2
PATH="$PATH:/usr/sbin:/usr/bin:/sbin:/bin" mount --bind / "$root" &
# Meanwhile: moving into a group takes milliseconds in which the kernel waits for every processor.
if [ -n "$join" ]; then echo 0 > "$join" || exit 1; fi
wait "$!" || exit 1
exec "$@"
