# Two fuzzers that end after so many executions each; the clock would go on while they are suspended.
export AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_AFFINITY=1 AFL_NO_UI=1 AFL_QUIET=1 TERM=dumb
limit=2500
set -e
AFL_CC_COMPILER=GCC afl-cc -o target target.c
mkdir -p in
echo preempt > in/word
EXECUTIONS=one.count afl-fuzz -M one -i in -o out -t 5000 -E $limit -- "$PWD/target" > one.log 2>&1 < /dev/null &
one=$!
EXECUTIONS=two.count afl-fuzz -S two -i in -o out -t 5000 -E $limit -- "$PWD/target" > two.log 2>&1 < /dev/null &
two=$!
set +e
# AFL++ writes its own counter, execs_done, once a minute and at its end only; the target counts meanwhile.
counted() { stat -c %s "$1.count" 2> /dev/null || echo 0; }
while kill -0 $one 2> /dev/null && kill -0 $two 2> /dev/null; do
  alive=$(afl-whatsup -s out 2> /dev/null | sed -n 's/.*Fuzzers alive : //p')
  echo "progress one=$(counted one) two=$(counted two) alive=${alive:-0}"
  sleep 1
done
wait $one; first=$?
wait $two; second=$?
for instance in one two; do
  echo "at the end $instance=$(sed -n 's/^execs_done *: //p' out/$instance/fuzzer_stats) of $(counted $instance)"
done
echo "exit codes $first $second"
test "$first$second" = 00
