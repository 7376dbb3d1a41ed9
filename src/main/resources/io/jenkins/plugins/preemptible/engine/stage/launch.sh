# First process of a new stage: makes the namespaces fit, then becomes the stage's init.
# Arguments: working folder, output file, cgroup.procs file or '', the init's text,
#   number of folders of its own, for each: folder, size, number of paths that stay the host's, paths;
#   stage folder, command...
workdir=$1 output=$2 join=$3 init=$4 own=$5
shift 5
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
while [ "$own" -gt 0 ]; do
  own=$((own - 1))
  folder=$1 size=$2 through=$3
  shift 3
  # Built on a folder that is everywhere and not needed meanwhile: the place itself still holds what is bound through.
  tool mount -t tmpfs -o "mode=1777,size=$size" preemptible /sys || fail "cannot mount a $folder of the stage's own"
  while [ "$through" -gt 0 ]; do
    through=$((through - 1))
    tool mkdir -p -- "/sys${1#"$folder"}" && tool mount --rbind -- "$1" "/sys${1#"$folder"}" \
      || fail "cannot bind $1 into the stage"
    shift
  done
  # CRIU would have to tell them from those on top of them, by the same path.
  while read -r _ _ _ _ at _; do
    case "$at" in "$folder"|"$folder"/*) tool umount -l "$(printf '%b' "$at")" 2>/dev/null ;; esac
  done < /proc/self/mountinfo
  tool mount --move /sys "$folder" || fail "cannot mount a $folder of the stage's own"
done
# The stage has to see its own process ids, or a pkill in it hits others.
tool umount -l /proc 2>/dev/null
tool mount -t proc proc /proc || fail "cannot mount /proc"
cd -- "$workdir" || fail "cannot enter $workdir"
if [ -n "${TMPDIR-}" ]; then tool mkdir -p -- "$TMPDIR" 2>/dev/null; fi
# Valgrind puts its descriptors at the top of the soft limit, where CRIU's own have to fit as well.
soft=$(ulimit -S -n)
if [ "$soft" = unlimited ] || [ "$soft" -gt 1024 ]; then ulimit -S -n 1024; fi
# Opened inside the mount namespace: CRIU finds the mount of a descriptor from outside in no list.
exec < /dev/null >> "$output" 2>&1 || exit 1
# A new shell: this one keeps a copy of a redirected descriptor as number 10.
exec /bin/sh -c "$init" preemptible-init "$@"
