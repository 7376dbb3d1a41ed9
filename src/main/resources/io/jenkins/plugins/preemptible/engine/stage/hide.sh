# Takes mounts out of a new mount namespace, and becomes a command.
# Arguments: file with the mount points that stay, one a line as mountinfo has them; command...
tool() { PATH="$PATH:/usr/sbin:/usr/bin:/sbin:/bin" "$@"; }
stay="
$(tool cat "$1")
"
shift
again=yes
while [ "$again" = yes ]; do
  again=no
  while read -r _ _ _ _ at _; do
    case "$stay" in *"
$at
"*) continue ;; esac
    # Without the letter the shell would take off a newline at the end of the path.
    at=$(printf '%bx' "$at")
    # Nothing of the file system itself is asked: it may be one that never answers. Several mounts may lie on one place
    # or cover each other, so each that goes is a reason to look again. StageLaunch looks at what is left.
    tool umount --no-canonicalize --internal-only --lazy -- "${at%x}" 2>/dev/null && again=yes
  done < /proc/self/mountinfo
done
exec "$@"
