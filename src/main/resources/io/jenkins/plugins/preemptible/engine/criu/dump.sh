# Runs CRIU's dump. Arguments: idle or normal, criu and its arguments
priority=$1
shift
# A write beyond RLIMIT_FSIZE has to fail, not to kill.
trap '' XFSZ
{ echo -1000 > /proc/self/oom_score_adj; } 2>/dev/null
if [ "$priority" = idle ]; then
  PATH="$PATH:/usr/bin:/bin"
  # Where sessions share the CPU, nice counts only within one. A tenth of another's share: with less, a busy host would
  # keep the frozen stage's memory for minutes.
  { echo 10 > /proc/self/autogroup; } 2>/dev/null
  if command -v ionice >/dev/null; then set -- ionice -c 3 "$@"; fi
  if command -v nice >/dev/null; then set -- nice -n 19 "$@"; fi
fi
exec "$@"
