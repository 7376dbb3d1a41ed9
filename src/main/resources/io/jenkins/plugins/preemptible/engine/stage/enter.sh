# Runs a command inside a running stage.
# Arguments: nsenter, setsid, process id of the init, cgroup.procs file or '', the inner script's text, command...
nsenter=$1 setsid=$2 pid=$3 join=$4 inner=$5
shift 5
# Before the namespaces, so that a freeze that happens now catches this process as well.
if [ -n "$join" ]; then
  echo 0 > "$join" || { echo "preemptible: the stage does not run on this host at the moment" >&2; exit 125; }
fi
# After a restore from an image the stage has clocks of its own. Older programs lack the option, and older kernels the namespace.
time=
[ ! -e /proc/self/ns/time ] || [ /proc/self/ns/time -ef "/proc/$pid/ns/time" ] || time=--time
# Entering a mount namespace changes the working folder to its root.
exec "$nsenter" --target "$pid" --mount --pid --ipc $time -- "$setsid" /bin/sh -c "$inner" preemptible-enter "$(pwd -P)" "$@"
