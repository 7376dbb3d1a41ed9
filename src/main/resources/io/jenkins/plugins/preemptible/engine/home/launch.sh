# First process of a new stage: makes the namespaces fit, then becomes what settles in them.
# Arguments: working folder, cgroup.procs file or '',
#   number of folders of its own, for each: folder, size, number of paths that stay the host's, paths;
#   what runs then, with its arguments
workdir=$1 join=$2 own=$3
shift 3
fail() { echo "$1" >&2; exit 1; }
tool() { PATH="$PATH:/usr/sbin:/usr/bin:/sbin:/bin" "$@"; }
if [ -n "$join" ]; then
  echo 0 > "$join" || fail "cannot join the control group $join"
fi
# Paths are as mountinfo has them, and may end in a newline.
unmount() {
  at=$(printf '%b.' "$1")
  tool umount -l -- "${at%.}" 2>/dev/null
}
unmount_unneeded() {
  at=$(printf '%b.' "$1")
  case "$workdir/" in "${at%.}"/*) ;; *) unmount "$1" ;; esac
}
# Mounts of containers come and go: a restore must not depend on them. Paths with control characters are misread by CRIU,
# all but those with a tab.
while read -r _ _ _ _ at rest; do
  case "$rest" in *' - nsfs '*) unmount "$at"; continue ;; esac
  case "$at" in
    *'\012'*|*[[:cntrl:]]*|/var/lib/docker/*|/var/lib/containers/*|/var/lib/containerd/*|/run/containerd/*|/run/docker/*)
      unmount_unneeded "$at" ;;
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
    case "$at" in "$folder"|"$folder"/*) unmount "$at" ;; esac
  done < /proc/self/mountinfo
  tool mount --move /sys "$folder" || fail "cannot mount a $folder of the stage's own"
done
# Of the host's terminals somebody else may have the same number when the stage is resumed.
if [ -d /dev/pts ] && tool mount -t devpts -o newinstance,ptmxmode=0666,mode=0600 preemptible /sys 2>/dev/null; then
  while tool umount -l /dev/pts 2>/dev/null; do :; done
  tool mount --move /sys /dev/pts || fail "cannot mount a /dev/pts of the stage's own"
fi
# The stage has to see its own process ids, or a pkill in it hits others.
tool umount -l /proc 2>/dev/null
tool mount -t proc proc /proc || fail "cannot mount /proc"
exec "$@"
