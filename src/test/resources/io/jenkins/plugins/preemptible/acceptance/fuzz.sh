# Two fuzzers that end after so many executions each; the clock would go on while they are suspended.
export AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_AFFINITY=1 AFL_NO_UI=1 AFL_QUIET=1
export AFL_FUZZER_STATS_UPDATE_INTERVAL=1 TERM=dumb
limit=1500
set -e
AFL_CC_COMPILER=GCC afl-cc -o target target.c
mkdir -p in
echo preempt > in/word
afl-fuzz -M one -i in -o out -t 5000 -E $limit -- "$PWD/target" > one.log 2>&1 < /dev/null &
one=$!
afl-fuzz -S two -i in -o out -t 5000 -E $limit -- "$PWD/target" > two.log 2>&1 < /dev/null &
two=$!
set +e
done_by() { sed -n 's/^execs_done *: //p' "out/$1/fuzzer_stats" 2> /dev/null; }
while kill -0 $one 2> /dev/null && kill -0 $two 2> /dev/null; do
  alive=$(afl-whatsup -s out 2> /dev/null | sed -n 's/.*Fuzzers alive : //p')
  echo "progress one=$(done_by one) two=$(done_by two) alive=$alive"
  sleep 1
done
wait $one; first=$?
wait $two; second=$?
tail -n 4 one.log two.log 2> /dev/null
echo "exit codes $first $second"
test "$first$second" = 00
