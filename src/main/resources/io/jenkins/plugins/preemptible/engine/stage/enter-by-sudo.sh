# Lets the privileged part run a command inside a stage. What it has to know goes to its standard input.
# Arguments: sudo, the privileged part, the stage's id, command...
sudo=$1 part=$2 id=$3
shift 3
# Runs inside, as the user. Arguments: umask, working folder, command...
inside='umask "$1" && cd -- "$2" || exit 125
shift 2
soft=$(ulimit -S -n)
if [ "$soft" = unlimited ] || [ "$soft" -gt 1024 ]; then ulimit -S -n 1024; fi
exec "$@"'
{
  printf '%s\0' "$(($# + 6))" /bin/sh -c "$inside" preemptible-enter "$(umask)" "$(pwd -P)" "$@"
  /bin/cat "/proc/$$/environ"
} | "$sudo" -n -- "$part" enter "$id"
