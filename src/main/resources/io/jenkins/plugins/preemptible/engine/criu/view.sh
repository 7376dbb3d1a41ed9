# Shows criu the folders that the user whose ids it will have has no way to, in a mount namespace that vanishes with it.
# Arguments: a folder with the empty folders 'root' and 'seen', images folder, folder for logs, 'restore' or 'dump', cgroup.procs file or '',
#   folder of programs that go before the system's, criu and its arguments
view=$1 images=$2 logs=$3 verb=$4 join=$5 tools=$6
shift 6
PATH=/usr/sbin:/usr/bin:/sbin:/bin
if [ "$verb" = restore ]; then
  # This copy becomes the stage's root. Without what is mounted below: criu binds each of the stage's mounts itself,
  # and those of the host that the stage does not have would show at its next dump, with all that is in them.
  mount --bind / "$view/root" || exit 1
fi
view=$view/seen
mount -t tmpfs -o mode=0755,size=1m,nosuid,nodev,noexec preemptible-view "$view" || exit 1
mkdir "$view/images" "$view/logs" "$view/tools" "$view/kernel" "$view/fs" || exit 1
if [ "$verb" = restore ]; then
  # criu sets the limits of a new IPC namespace again, and the kernel lets uid 0 alone do that, whatever the
  # capabilities. Nobody without root can have changed them in the stage, so what is written here may get lost.
  for name in cap_last_cap ns_last_pid pid_max; do
    cat "/proc/sys/kernel/$name" > "$view/kernel/$name"
  done
  # Without a folder mqueue criu leaves the limits of message queues at what they are.
  for name in nr_open file-max pipe-max-size; do
    cat "/proc/sys/fs/$name" > "$view/fs/$name"
  done
  umask 0
  for name in sem msgmax msgmnb msgmni auto_msgmni shmall shmmax shmmni shm_rmid_forced \
      msg_next_id sem_next_id shm_next_id; do
    : > "$view/kernel/$name"
  done
  umask 022
  mount --bind "$view/kernel" /proc/sys/kernel && mount --bind "$view/fs" /proc/sys/fs || exit 1
fi
mount --bind "$images" "$view/images" && mount --bind "$logs" "$view/logs" || exit 1
mount --bind "$tools" "$view/tools" || exit 1
# tar, which criu calls for the content of a tmpfs, takes it off the modes of files when it does not run as root.
umask 0
if [ -n "$join" ]; then echo 0 > "$join" || exit 1; fi
PATH=$view/tools:$PATH exec "$@"
