# Init of a stage that lives in a container: idles for processes that enter, and reaps orphans.
# A shell that waits for one child reaps every other one too. Without sleep the container is not one for stages.
while :; do
  sleep 2147483647 &
  wait $!
  [ $? != 127 ] || exit 127
done
