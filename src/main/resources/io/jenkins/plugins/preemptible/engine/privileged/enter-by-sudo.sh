# Lets the privileged part run a command inside a stage. What it has to know goes to its standard input.
# Arguments: sudo, the privileged part, the stage's id, command...
sudo=$1 part=$2 id=$3
shift 3
{ printf '%s\0' "$(umask)" "$(pwd -P)" "$#" "$@"; /bin/cat "/proc/$$/environ"; } | "$sudo" -n -- "$part" enter "$id"
