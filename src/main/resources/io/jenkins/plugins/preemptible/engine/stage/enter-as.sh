# Runs a command of another user inside his running stage; started by root.
# Arguments: nsenter, setsid, process id of the init, field 22 of its stat, cgroup.procs file, command...
nsenter=$1 setsid=$2 pid=$3 born=$4 join=$5
shift 5
fail() { echo "preemptible: the stage does not run on this host at the moment" >&2; exit 125; }
# The name in a stat line is the process's to choose: only what follows its last parenthesis counts.
born_of() { set -f; set -- ${1##*)}; shift 19; echo "$1"; }
# Before the namespaces, so that a freeze that happens now catches this process as well.
echo 0 > "$join" || fail
# Opened first and looked at then: while a process lives nobody else has its id.
exec 3< "/proc/$pid/ns/mnt" 4< "/proc/$pid/ns/pid" 5< "/proc/$pid/ns/ipc" || fail
stat=$(cat "/proc/$pid/stat") || fail
[ "$(born_of "$stat")" = "$born" ] || fail
exec "$nsenter" --mount=/proc/self/fd/3 --pid=/proc/self/fd/4 --ipc=/proc/self/fd/5 -- \
  /bin/sh -c 'exec "$@" 3<&- 4<&- 5<&-' preemptible-enter "$setsid" "$@"
