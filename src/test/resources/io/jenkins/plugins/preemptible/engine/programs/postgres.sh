# A PostgreSQL server and pgbench against it. Arguments: its programs' folder, host, port, and a user of its own, or a
# library to be preloaded that tells the server of one.
bin=$1 host=$2 port=$3 user=$4
case $user in
  # A path with blanks would be several libraries.
  /*) cp "$user" /tmp/otheruser.so || exit 8
    as() { LD_PRELOAD=/tmp/otheruser.so "$@"; } ;;
  *) as() { setpriv --reuid="$user" --regid="$user" --clear-groups "$@"; } ;;
esac
export PGPORT="$port" PGUSER=bench PGDATABASE=postgres PGHOST="$host"
mkdir data || exit 9
case $user in /*) ;; *) chown "$user" data || exit 10 ;; esac
as "$bin/initdb" -D data -A trust -U bench --no-locale -E UTF8 --no-sync > initdb.log 2>&1 || exit 11
as "$bin/postgres" -D "$PWD/data" -k /tmp -h 127.0.0.1 -p "$port" > server.log 2>&1 &
server=$!
tries=0
until "$bin/psql" -c 'select 1' > connect.log 2>&1; do
  tries=$((tries + 1))
  [ "$tries" -lt 300 ] || exit 12
  sleep 0.2
done
"$bin/pgbench" -i -q > prepare.log 2>&1 || exit 13
"$bin/pgbench" -c 4 -j 2 -t 1000 -R 300 -P 1 > bench.log 2>&1
echo "pgbench $?"
"$bin/psql" -At -c 'select count(*) from pgbench_history' \
  -c 'select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history)' 2>&1
as "$bin/pg_ctl" -D data -m fast stop > stop.log 2>&1
wait "$server"
echo "server $?"
