# PID 1 of a namespace of its own: starts a test, dumps and restores it by plain criu, asks it for its verdict.
# Arguments: the test's name, folder for the images, criu, options of the dump, options of the restore, the test's hook
# Exit status: 0 it passed, 3 it does not start, 4 the dump failed, 5 the restore failed, 6 it did not pass
name=$1 images=$2 criu=$3 dump=$4 restore=$5 hook=$6
hook() { (cd ../.. && ZDTM_IMG_DIR=$images "$hook" "$1") || { echo "FAIL: its hook fails $1"; exit 6; }; }
hook --post-start &
# Not in the background itself: that would let it ignore SIGINT.
setsid make --no-print-directory "$name.pid" || exit 3
wait $! || exit 3
pid=$(cat "$name.pid") || exit 3
export ZDTM_TEST_PID="$pid"
hook --pre-dump
# shellcheck disable=SC2086  # lists of words
"$criu" dump -t "$pid" -D "$images" -o dump.log -v1 $dump || { cat "$images/dump.log"; exit 4; }
hook --pre-restore
# shellcheck disable=SC2086
"$criu" restore -d -D "$images" -o restore.log -v1 $restore || { cat "$images/restore.log"; exit 5; }
hook --post-restore
kill -TERM "$pid"
tries=0
until [ -e "$name.out" ] || [ "$tries" -gt 300 ]; do tries=$((tries + 1)); sleep 0.1; done
tail -n 1 "$name.out" | grep -q 'PASS$' && exit 0
cat "$name.out" "$name.out.inprogress"
exit 6
