# Two instances of AFL++ that share what they find; the seed is one letter away from the crash, so that chance does not
# decide. Argument: executions of each.
export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_FAST_CAL=1
mkdir in && echo Bello > in/seed || exit 10
afl-fuzz -i in -o out -M first -E "$1" -- ./target > first.log 2>&1 &
first=$!
afl-fuzz -i in -o out -S second -E "$1" -- ./target > second.log 2>&1 &
second=$!
wait "$first"
one=$?
wait "$second"
echo "ended $one $?"
for instance in first second; do
  done=$(sed -n 's/^execs_done *: *//p' "out/$instance/fuzzer_stats")
  [ "$done" -ge "$1" ] && echo "$instance did all executions"
done
ls out/*/crashes/id* > /dev/null 2>&1 && echo "the crash was found"
