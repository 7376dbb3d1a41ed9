# Thaws a stage when the process that froze it has died. Arguments: a file of the freezer, and the word that thaws.
# Its input has the process id of a criu that works on the stage; "done" is the end.
dumper=
while read -r word; do
  if [ "$word" = done ]; then exit 0; fi
  dumper=$word
done
PATH="$PATH:/usr/bin:/bin"
# A criu that ends puts the freezer back to what it found.
polls=0
while [ -n "$dumper" ] && [ "$polls" -lt 600 ] && kill -0 "$dumper" 2>/dev/null; do
  case "$(cat "/proc/$dumper/stat" 2>/dev/null)" in *") Z "*) break ;; esac
  polls=$((polls + 1))
  sleep 0.1
done
echo "$2" > "$1"
