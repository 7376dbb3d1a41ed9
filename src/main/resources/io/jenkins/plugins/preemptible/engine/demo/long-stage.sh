#!/bin/sh
# A long stage of several processes whose state is in their memory alone.
# Arguments: folder for what it writes, number of steps, seconds a step.
set -u
folder=$1
steps=$2
pause=$3

# Counts in a variable; the file is only a witness and never read back here.
count() {
    step=0
    while [ "$step" -lt "$steps" ]; do
        step=$((step + 1))
        echo "$step" >>"$folder/counter-$1"
        sleep "$pause"
    done
}

# Holds random bytes in a variable, and looks at the end whether they are still the same.
hold() {
    held=$(head -c 4000000 /dev/urandom | od -An -v -tx1)
    before=$(printf '%s' "$held" | cksum)
    echo "$before" >"$folder/held"
    while [ ! -e "$folder/counted" ]; do
        sleep "$pause"
    done
    after=$(printf '%s' "$held" | cksum)
    if [ "$before" = "$after" ]; then
        echo same >"$folder/memory"
    else
        echo different >"$folder/memory"
    fi
}

hold &
holder=$!
count 1 &
first=$!
count 2 &
second=$!
count 3 &
third=$!
wait "$first" && wait "$second" && wait "$third"
: >"$folder/counted"
wait "$holder"
