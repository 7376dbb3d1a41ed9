# Runs CRIU's restore in a mount namespace of its own, which vanishes with it.
# Without what is mounted below /: the stage would have it under its own mounts, and its next dump with all its content.
# Arguments: an empty folder, cgroup.procs file or '', what is bound over /run or '', CRIU and its arguments
root=$1 join=$2 findings=$3
shift 3
tool() { PATH="$PATH:/usr/sbin:/usr/bin:/sbin:/bin" "$@"; }
tool mount --bind / "$root" &
bound=$!
if [ -n "$findings" ]; then tool mount --bind "$findings" /run & fi
# Meanwhile: moving into a group takes milliseconds in which the kernel waits for every processor.
if [ -n "$join" ]; then echo 0 > "$join" || exit 1; fi
wait "$bound" || exit 1
wait
exec "$@"
