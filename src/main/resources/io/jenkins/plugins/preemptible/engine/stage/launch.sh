# First process of a new stage: makes the namespaces fit, then becomes the stage's init.
# Arguments: working folder, output file, cgroup.procs file or '', the init's text, stage folder, command...
workdir=$1 output=$2 join=$3 init=$4
shift 4
fail() { echo "$1" >&2; exit 1; }
tool() { PATH="$PATH:/usr/sbin:/usr/bin:/sbin:/bin" "$@"; }
if [ -n "$join" ]; then
  echo 0 > "$join" || fail "cannot join the control group $join"
fi
# Mounts of containers come and go: a restore must not depend on them.
while read -r _ _ _ _ at rest; do
  case "$rest" in *' - nsfs '*) tool umount -l "$(printf '%b' "$at")" 2>/dev/null; continue ;; esac
  case "$at" in
    /var/lib/docker/*|/var/lib/containers/*|/var/lib/containerd/*|/run/containerd/*|/run/docker/*)
      case "$workdir/" in "$at"/*) ;; *) tool umount -l "$(printf '%b' "$at")" 2>/dev/null ;; esac ;;
  esac
done < /proc/self/mountinfo
# The stage has to see its own process ids, or a pkill in it hits others.
tool umount -l /proc 2>/dev/null
tool mount -t proc proc /proc || fail "cannot mount /proc"
cd -- "$workdir" || fail "cannot enter $workdir"
# Valgrind puts its descriptors at the top of the soft limit, where CRIU's own have to fit as well.
soft=$(ulimit -S -n)
if [ "$soft" = unlimited ] || [ "$soft" -gt 1024 ]; then ulimit -S -n 1024; fi
# Opened inside the mount namespace: CRIU finds the mount of a descriptor from outside in no list.
exec < /dev/null >> "$output" 2>&1 || exit 1
# A new shell: this one keeps a copy of a redirected descriptor as number 10.
exec /bin/sh -c "$init" preemptible-init "$@"
