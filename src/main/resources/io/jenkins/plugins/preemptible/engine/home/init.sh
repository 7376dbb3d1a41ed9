# Init of a stage's PID namespace: runs the command, or idles for processes that enter, and reaps orphans.
# Arguments: stage folder, command...
folder=$1
shift
tool() { PATH="$PATH:/usr/bin:/bin" "$@"; }
# Before the command can mount anything.
tool cat /proc/self/mountinfo > "$folder/mounts"
: > "$folder/ready"
if [ $# -eq 0 ]; then
  # A shell that waits for one child reaps every other one too.
  while :; do tool sleep 2147483647 & wait $!; done
fi
# A subshell, so that a word such as 'exit' is a program and no built-in of this shell.
(exec "$@")
code=$?
until echo "$code" > "$folder/exit.tmp" && tool mv -f "$folder/exit.tmp" "$folder/exit"; do tool sleep 1; done
# When init ends, the kernel kills the namespace: it stays as long as anybody else is there.
while kill -0 -1 2>/dev/null; do tool sleep 1 & wait $!; done
exit "$code"
