# Restores an image for a trial, in mount and network namespaces of its own, which vanish with it. Exit code 125: it cannot be made.
# All of it is on /tmp at last, where criu makes folders that an aborted restore leaves; built on a folder that is everywhere
# and not needed meanwhile, since what it is built from may lie below /tmp.
# Arguments: cgroup.procs file, image folder, folder that is laid over it or '', log folder, tools folder, criu, size of what is written,
#   lines for ip that have to work, lines that may fail, a folder of trees, what is bound over /run for criu or '', 'pts' or '',
#   '' where the root's owner and mode are those of a new folder, number of overlays, for each: mount point, the same of it,
#   number of bound mounts, their mount points,
#   number of mount points to make, their paths, number of stand-ins, for each: path, size,
#   number of trees that are laid over folders, for each: its name, path of the folder;
#   /tmp/criu, which is that criu, and its arguments
join=$1 full=$2 over=$3 logs=$4 tools=$5 criu=$6 size=$7 needed=$8 wanted=$9 trees=${10} findings=${11} pts=${12}
top=${13}
shift 13
fail() { echo "preemptible: $1" >&2; exit 125; }
tool() { PATH="$PATH:/usr/sbin:/usr/bin:/sbin:/bin" "$@"; }
overlay() {
  # The root of an overlay is that of its upper folder: CRIU compares the modes of folders, too. Each program costs milliseconds.
  if [ -n "$3" ]; then
    tool chown --reference="$1" "$2/upper" && tool chmod --reference="$1" "$2/upper" || fail "no overlay can be mounted over $1"
  fi
  tool mount -t overlay \
    -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work,index=off,metacopy=off,redirect_dir=off" preemptible "$2/root" \
    || fail "no overlay can be mounted over $1"
}
echo 0 > "$join" || fail "cannot join the control group $join"
{ echo 1000 > /proc/self/oom_score_adj; } 2>/dev/null
tool mount -t tmpfs -o "mode=700,size=$size" preemptible /sys || fail "cannot mount a tmpfs"
folders="/sys/full /sys/over /sys/image /sys/logs /sys/tools /sys/empty /sys/bound /sys/trees ${pts:+/sys/pts}"
overlay=root number=0
while [ "$number" -le "$1" ]; do
  folders="$folders /sys/overlay/$overlay/upper /sys/overlay/$overlay/work /sys/overlay/$overlay/root"
  overlay=$number number=$((number + 1))
done
# shellcheck disable=SC2086 # they are words
tool mkdir -p -m 755 $folders || fail "cannot write to a tmpfs"
if [ -z "$over" ]; then
  tool mount --bind -o ro "$full" /sys/image || fail "cannot bind the image"
else
  # Bound first: an option of an overlay cannot say every name.
  tool mount --bind "$full" /sys/full && tool mount --bind "$over" /sys/over || fail "cannot bind the image"
  tool mount -t overlay -o "lowerdir=/sys/over:/sys/full,index=off,metacopy=off,redirect_dir=off" preemptible /sys/image \
    || fail "no overlay can be mounted over the image"
fi
tool mount --bind "$logs" /sys/logs && tool mount --bind "$tools" /sys/tools || fail "cannot bind the image"
tool mount --bind -o ro "$trees" /sys/trees || fail "cannot bind $trees"
: > /sys/criu && tool mount --bind "$criu" /sys/criu || fail "cannot bind $criu"
overlay / /sys/overlay/root "$top"
number=0 count=$1
shift
while [ "$number" -lt "$count" ]; do
  overlay "$1" "/sys/overlay/$number" "$2"
  number=$((number + 1))
  shift 2
done
number=0 count=$1
shift
while [ "$number" -lt "$count" ]; do
  if [ -d "$1" ]; then tool mkdir "/sys/bound/$number"; else : > "/sys/bound/$number"; fi
  tool mount --bind "$1" "/sys/bound/$number" || fail "cannot bind $1"
  number=$((number + 1))
  shift
done
if [ -n "$pts" ]; then
  tool mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts /sys/pts \
    || fail "cannot mount a devpts"
fi
printf '#!/bin/sh\n[ "$CRTOOLS_SCRIPT_ACTION" != post-restore ]\n' > /sys/end && tool chmod 700 /sys/end \
  || fail "cannot write to a tmpfs"
tool mount --move /sys /tmp || fail "cannot mount on /tmp"
# A link on the way could lead out of the overlay.
inside() { cd -P -- "$1" && [ "$(pwd -P)" = "$1" ]; }
count=$1
shift
while [ "$count" -gt 0 ]; do
  folder=$1
  while [ ! -d "$folder" ]; do folder=${folder%/*}; done
  inside "$folder" && tool mkdir -p "./${1#"$folder"}" || fail "cannot make the mount point $1"
  count=$((count - 1))
  shift
done
count=$1
shift
while [ "$count" -gt 0 ]; do
  inside "${1%/*}" && [ -f "./${1##*/}" ] && [ ! -L "./${1##*/}" ] \
    || fail "cannot make a stand-in for $1"
  # Opened to be emptied: the overlay copies the owner and the mode up, and no content.
  { : > "./${1##*/}" && tool truncate -s "$2" "./${1##*/}"; } || fail "cannot make a stand-in for $1"
  count=$((count - 1))
  shift 2
done
count=$1
shift
while [ "$count" -gt 0 ]; do
  folder=$2
  while [ ! -d "$folder" ]; do folder=${folder%/*}; done
  inside "$folder" && tool mkdir -p "./${2#"$folder"}" \
    && tool cp -a --sparse=always --remove-destination -T "/tmp/trees/$1" "./${2#"$folder"}" \
    || fail "cannot make stand-ins below $2"
  count=$((count - 1))
  shift 2
done
cd /
printf %s "$needed" | tool ip -batch - || fail "no network can be made by ip"
if [ -n "$wanted" ]; then printf %s "$wanted" | tool ip -force -batch - >/dev/null 2>&1; fi
if [ -n "$findings" ]; then tool mount --bind "$findings" /run; fi
PATH="/tmp/tools:$PATH:/usr/sbin:/usr/bin:/sbin:/bin"
export PATH
exec "$@"
