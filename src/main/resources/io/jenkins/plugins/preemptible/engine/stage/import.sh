# Takes over an environment that must not be seen by whoever still had more rights, and becomes a command.
# Arguments: umask, command...; the environment comes as PREEMPTIBLE_ENTRY_1=NAME=VALUE, PREEMPTIBLE_ENTRY_2=...
umask "$1" || exit 125
shift
PREEMPTIBLE_ENTRY_AT=1
while eval "[ -n \"\${PREEMPTIBLE_ENTRY_$PREEMPTIBLE_ENTRY_AT+set}\" ]"; do
  # Only the number is put into the text; names and values stay data.
  eval "export \"\$PREEMPTIBLE_ENTRY_$PREEMPTIBLE_ENTRY_AT\"; unset PREEMPTIBLE_ENTRY_$PREEMPTIBLE_ENTRY_AT"
  PREEMPTIBLE_ENTRY_AT=$((PREEMPTIBLE_ENTRY_AT + 1))
done
unset PREEMPTIBLE_ENTRY_AT
exec "$@"
