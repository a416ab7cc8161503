# How the daemon behaves under its manager: starts, reloads, hangs, stops. Sourced by `cases.sh`.

case_unconfigured() {
  inside systemctl start brewlogd.socket
  must "the client is answered" ends_with 3 ctl status || return
  must "it has failed" wait_for 5 has ActiveState failed || return
  must "with 78" has ExecMainStatus 78 || return
  must "and was not restarted" equal 0 "$(prop NRestarts)" || return
  must "the journal says what to do" like 'BaseURL=: it is needed' "$(journal -p err)" || return
  must "the socket is there" equal active "$(prop ActiveState brewlogd.socket)" || return
  for _ in 1 2 3 4 5 6 7 8; do ctl status >/dev/null 2>&1; done
  must "and stays" equal active "$(prop ActiveState brewlogd.socket)" || return
  configure
  must "mended, it works" ctl status
}

case_configuration() {
  fresh
  inside mkdir -p /run/brewlog/brewlogd.conf.d
  printf '[Cache]\nFreshFor=1min\n[Retry]\nMaxRetries=1\n' | put /run/brewlog/brewlogd.conf.d/50-run.conf
  printf '[Retry]\nMaxRetries=5\n' | put /run/brewlog/brewlogd.conf.d/60-masked.conf
  printf '[Cache]\nFreshFor=2min\n' | put /etc/brewlog/brewlogd.conf.d/60-masked.conf
  local config files
  config=$(ctl config)
  must "the later drop-in wins" like 'FreshFor=2min +# /etc/brewlog/brewlogd.conf.d/60-masked.conf:2' "$config" || return
  must "one of the same name in /etc hides the other" \
    like 'MaxRetries=1 +# /run/brewlog/brewlogd.conf.d/50-run.conf:4' "$config" || return
  must "what is not said is a default" like 'StaleIfError=.*# default' "$config" || return
  files=$(inside systemd-analyze cat-config brewlog/brewlogd.conf | sed -n 's/^# \(\/.*\.conf\)$/\1/p' | tr '\n' ' ')
  must "systemd sees the same files in the same order" equal \
    "/etc/brewlog/brewlogd.conf /run/brewlog/brewlogd.conf.d/50-run.conf /etc/brewlog/brewlogd.conf.d/60-masked.conf $configuration " \
    "$files" || return
  must "the check passes" inside brewlogd --check-config || return
  printf '[Cache]\nFreshFr=2min\n' | put /etc/brewlog/brewlogd.conf.d/60-masked.conf
  must "the check says where and what was meant" like \
    '60-masked.conf:2: .*FreshFr.*FreshFor' "$(inside brewlogd --check-config 2>&1)" || return
  must "with 78" ends_with 78 inside brewlogd --check-config || return
  inside rm -r /run/brewlog/brewlogd.conf.d /etc/brewlog/brewlogd.conf.d/60-masked.conf
}

case_activation() {
  fresh
  must "nothing runs yet" equal inactive "$(prop ActiveState)" || return
  must "the first call is answered" like 'signed out' "$(ctl status)" || return
  must "it runs" is_active || return
  must "systemd knows why it waits" like '^signed out' "$(prop StatusText)" || return
  must "no restart" equal 0 "$(prop NRestarts)" || return
  must "a second daemon is refused" ends_with 75 inside runuser -u brewlog -- brewlogd || return
  must "a second one elsewhere leaves the socket alone" ends_with 75 \
    inside runuser -u brewlog -- env STATE_DIRECTORY=/tmp/other brewlogd || return
  must "the socket serves on" ctl status || return
  must "READY took less than 2 s" test "$(ready_milliseconds)" -lt 2000
}

ready_milliseconds() {
  echo $((($(prop ActiveEnterTimestampMonotonic) - $(prop ExecMainStartTimestampMonotonic)) / 1000))
}

case_ready() {
  fresh '[Cache]' 'KeepTips=10000'
  drop_in '[Service]' 'TimeoutStartSec=10s'
  local took
  must "signed in" sign_in || return
  must "ten thousand tips" perl "$here/fill.pl" "/proc/$leader/root/run/brewlog/brewlog.sock" 10000 || return
  # Its access token has expired when it starts again.
  echo 3 > "$upstream/lifetime"
  must "a short access token" ctl refresh || return
  inside systemctl stop "$unit"
  rm "$upstream/log"
  must "of 50 MB" test "$(stat -c %s "$root/var/lib/brewlog/tips.db")" -gt 50000000 || return
  touch "$upstream/hold"
  sleep 3
  must "it starts" inside systemctl start "$unit" || return
  took=$(ready_milliseconds)
  remark "READY after $took ms, the sandbox's making among them, with $(stat -c %s "$root/var/lib/brewlog/tips.db") bytes of tips"
  must "READY took less than 2 s" test "$took" -lt 2000 || return
  must "a stored tip is served" like 'Rinse' "$(ctl tip big7 --cache-only)" || return
  must "the refresh goes on behind it" wait_for 5 log_has 'refresh begun' || return
  must "which the status says" wait_for 5 is_refreshing || return
  must "and the tips are all there" like '^10000$' "$(ctl metrics | sed -n 's/^brewlog_cached_tips \([0-9]*\).*/\1/p')" || return
  rm "$upstream/hold"
}
is_refreshing() { prop StatusText | grep -q refreshing; }

# A fault that ends the daemon with this code: the client is told, and nothing is restarted.
ends_for_good() {
  must "the client is answered" ends_with 3 ctl status || return
  must "$1" wait_for 5 has ExecMainStatus "$1" || return
  sleep 2
  must "nothing is restarted" equal "failed 0" "$(prop ActiveState) $(prop NRestarts)" || return
}

case_exit_codes() {
  fresh
  must "signed in" sign_in || return
  inside systemctl stop "$unit"
  drop_in '[Service]' 'ExecStart=' 'ExecStart=/usr/bin/brewlogd --nonsense'
  ends_for_good 64 || return
  must "usage is said" like 'no such option' "$(journal)" || return
  inside rm -r /run/systemd/system/brewlogd.service.d
  inside systemctl daemon-reload
  local database=$root/var/lib/brewlog/session.db second
  cp -a "$database" "$BREWLOG_ISOLATED/kept"
  python3 -c 'import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("UPDATE store SET minimum_reader = 99")
database.execute("PRAGMA user_version = 99")' "$database"
  ends_for_good 65 || return
  cp -a "$BREWLOG_ISOLATED/kept" "$database"
  printf '[Upstream]\nBaseURL=http://127.0.0.1:8123\n[Socket]\nPath=/run/brewlog/other.sock\n' | put /tmp/other.conf
  inside chmod 644 /tmp/other.conf
  inside runuser -u brewlog -- timeout 60 brewlogd --config /tmp/other.conf >/dev/null 2>&1 &
  second=$!
  must "a second daemon has the store" wait_for 5 inside test -S /run/brewlog/other.sock || return
  ends_for_good 75
  local result=$?
  kill "$(host_pid)"
  wait "$second"
  [ "$result" -eq 0 ] || return
  must "mended, the session is there" like 'signed in as ada' "$(ctl status)"
}

case_access() {
  fresh
  must "signed in" sign_in || return
  must "a member gets the tip" like 'Rinse the pot' "$(as reader brewlogctl tip)" || return
  must "a member may not log out" ends_with 5 as reader brewlogctl logout || return
  must "a stranger is refused" ends_with 5 as stranger brewlogctl tip || return
  must "the status names the account" like '^signed in as ada' "$(prop StatusText)"
}

case_reload() {
  fresh
  must "signed in" sign_in || return
  local pid start=$SECONDS
  pid=$(prop MainPID)
  configure '[Cache]' 'FreshFor=1min'
  local begun
  begun=$(date +%s%N)
  must "a good reload" inside systemctl reload "$unit" || return
  must "in under 1 s" test $((($(date +%s%N) - begun) / 1000000)) -lt 1000 || return
  must "is in force" like 'FreshFor=1min' "$(ctl config)" || return
  must "says what changed" like 'FreshFor= is now 1min, was 15min' "$(journal)" || return
  configure '[Cache]' 'FreshFr=2min'
  must "a bad reload fails" ends_with 1 inside systemctl reload "$unit" || return
  must "says why" like '90-test.conf:6: FreshFr=.*FreshFor=' "$(journal -p err)" || return
  must "and changes nothing" like 'FreshFor=1min' "$(ctl config)" || return
  must "it runs" wait_for 5 is_active || return
  configure '[Store]' 'Directory=/var/lib/other'
  must "a reload" inside systemctl reload "$unit" || return
  must "says what waits" like 'Directory=.* changes only at a restart' "$(journal)" || return
  must "by a signal, too" inside systemctl kill -s HUP "$unit" || return
  must "the same process" equal "$pid" "$(prop MainPID)" || return
  must "in seconds" test $((SECONDS - start)) -lt 8
}

case_journal() {
  fresh '[Log]' 'Level=debug'
  must "signed in" sign_in || return
  must "a refresh" ctl refresh || return
  local entries
  entries=$(journal -o json --output-fields=BREWLOG_EVENT,BREWLOG_GENERATION,MESSAGE_ID,PRIORITY,MESSAGE)
  must "an event with its generation" like '"BREWLOG_GENERATION":"1"' "$(grep '"imported"' <<<"$entries")" || return
  must "its id" like '"MESSAGE_ID":"[0-9a-f]{32}"' "$(grep refreshSucceeded <<<"$entries")" || return
  must "its level" like '"PRIORITY":"5"' "$(grep '"imported"' <<<"$entries")" || return
  touch "$upstream/fail"
  ctl refresh >/dev/null 2>&1
  rm "$upstream/fail"
  must "the upstream's status" like 'BREWLOG_UPSTREAM_STATUS":"503"' \
    "$(journal -o json BREWLOG_EVENT=refreshFailed)" || return
  must "no token in the journal" unlike 'dummy-(access|refresh)' "$(inside journalctl --no-pager -o json)" || return
  must "none in arguments and environment" unlike 'dummy-' \
    "$(inside sh -c "cat /proc/$(prop MainPID)/cmdline /proc/$(prop MainPID)/environ" | tr '\0' '\n')" || return
  must "what was passed is not handed on" unlike 'LISTEN_FDS' "$(inside ls -l "/proc/$(prop MainPID)/fd")"
}

case_kill() {
  fresh
  must "signed in" sign_in || return
  must "a tip" ctl tip || return
  local pid before
  pid=$(prop MainPID)
  before=$(generation)
  must "no core" equal 0 "$(inside awk '/core file size/ { print $5 }' "/proc/$pid/limits")" || return
  # What belongs to a process that may not be dumped is root's.
  must "nor looks of its own user" equal root "$(inside stat -c %U "/proc/$pid/environ")" || return
  inside sh -c "kill -KILL $pid"
  # At once: the connection waits in the socket's queue.
  must "a client is served by the next one" like 'signed in as ada' "$(ctl status)" || return
  must "it was restarted" wait_for 10 has_restarted "$pid" || return
  must "the session is the same" equal "$before" "$(generation)" || return
  must "a refresh works" ctl refresh
}

case_rest() {
  fresh
  must "signed in" sign_in || return
  must "a stop" inside systemctl stop "$unit" || return
  must "ended well" equal success "$(prop Result)" || return
  must "the socket file is there" inside test -S /run/brewlog/brewlog.sock || return
  must "the next call starts it" like 'signed in as ada' "$(ctl status)" || return
  must "a restart" inside systemctl restart "$unit" || return
  must "serves" ctl status
}

thread_named() { # of the daemon, as this machine numbers it
  local entry
  for entry in /proc/"$(host_pid)"/task/*; do
    if [ "$(cat "$entry/comm")" = "$1" ]; then basename "$entry"; return; fi
  done
}

host_pid() { pgrep -x brewlogd --ns "$leader" --nslist pid | head -1; }

hang() {
  fresh
  drop_in '[Service]' 'WatchdogSec=2s'
  must "signed in" sign_in || return
  local pid before thread freezer
  pid=$(prop MainPID)
  before=$(generation)
  thread=$(thread_named "$1")
  must "there is the thread" test -n "$thread" || return
  sleep 3
  must "healthy past the interval" equal "$pid" "$(prop MainPID)" || return
  perl "$here/freeze.pl" "$thread" >/dev/null 2>&1 &
  freezer=$!
  must "it is restarted" wait_for 15 has_restarted "$pid"
  local result=$?
  kill "$freezer" 2>/dev/null
  [ "$result" -eq 0 ] || return
  must "by the watchdog" like "Failed with result 'watchdog'|Watchdog timeout" "$(journal)" || return
  must "without a core" unlike 'dumped core' "$(journal)" || return
  must "the session is the same" equal "$before" "$(generation)" || return
  must "a refresh works" ctl refresh
}

case_loop_hang() { hang brewlogd; }

case_coordinator() {
  [ -n "${STUCK:-}" ] || return 77 # `make systemd-test` builds it
  fresh '[Refresh]' 'Deadline=1s'
  install -m 755 "$STUCK" "$root/usr/local/bin/brewlogd-stuck"
  drop_in '[Service]' 'WatchdogSec=2s' 'ExecStart=' 'ExecStart=/usr/local/bin/brewlogd-stuck'
  must "signed in" sign_in || return
  local pid before
  pid=$(prop MainPID)
  before=$(generation)
  inside touch /run/brewlog-stuck
  must "a refresh does not end" ends_with 1 ctl refresh || return
  inside rm /run/brewlog-stuck
  sleep 3
  must "for as long as it could be one, it is let be" equal "$pid" "$(prop MainPID)" || return
  must "the loop answers" ctl status || return
  must "and the store" ctl session || return
  must "then it is restarted" wait_for 90 has_restarted "$pid" || return
  must "by the watchdog" like "Failed with result 'watchdog'|Watchdog timeout" "$(journal)" || return
  must "with the reason" like 'a refresh does not come to its end' "$(journal)" || return
  must "the session is the same" equal "$before" "$(generation)" || return
  must "a refresh works" wait_for 20 ctl refresh
}
case_store_hang() { hang brewlog-store; }

case_locked() {
  fresh
  drop_in '[Service]' 'WatchdogSec=2s'
  must "signed in" sign_in || return
  local pid
  pid=$(prop MainPID)
  perl "$here/hold-lock.pl" "$root/var/lib/brewlog/session.db" 9 >"$BREWLOG_ISOLATED/holder" 2>&1 &
  sleep 0.5
  must "the lock is held" wait_for 5 grep held "$BREWLOG_ISOLATED/holder" || return
  must "a refresh is not begun" ends_with 1 ctl refresh || return
  must "the upstream was not asked" log_lacks 'refresh begun' || return
  sleep 6
  must "it was not killed" equal "$pid" "$(prop MainPID)" || return
  wait $!
  must "afterwards it refreshes" wait_for 20 ctl refresh
}

monotonic_milliseconds() {
  perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 'printf "%d", 1000 * clock_gettime(CLOCK_MONOTONIC)'
}

case_patience() {
  fresh
  drop_in '[Service]' 'WatchdogSec=2s'
  must "signed in" sign_in || return
  local pid
  pid=$(prop MainPID)
  touch "$upstream/hold"
  perl -MIO::Socket::UNIX -e '@all = map { IO::Socket::UNIX->new($ARGV[0]) or die } 1 .. 500; sleep 12' \
    "/proc/$leader/root/run/brewlog/brewlog.sock" &
  must "a refresh that hangs fails" ends_with 1 ctl refresh || return
  must "it was not killed" equal "$pid" "$(prop MainPID)" || return
  must "the clients are there" like '^50[0-9]$' \
    "$(ctl metrics | sed -n 's/^brewlog_connections \([0-9]*\).*/\1/p')" || return
  must "the watchdog was fed a moment ago" test \
    $(($(monotonic_milliseconds) - $(prop WatchdogTimestampMonotonic) / 1000)) -lt 1800 || return
  rm "$upstream/hold"
  wait
}

case_stop_refresh() {
  fresh
  must "signed in" sign_in || return
  touch "$upstream/hold"
  ctl refresh >/dev/null 2>&1 &
  must "the refresh is on its way" wait_for 5 log_has 'refresh begun' || return
  inside systemctl stop "$unit" >/dev/null 2>&1 &
  local stop=$!
  must "it says what it waits for" wait_for 5 is_finishing || return
  rm "$upstream/hold"
  wait "$stop"
  must "ended well" equal 'success 0' "$(prop Result) $(prop ExecMainStatus)" || return
  must "the new token is there" like 'Rinse' "$(ctl tip)" || return
  must "no other refresh was needed" equal 1 "$(grep -c 'refresh begun' "$upstream/log")" || return
  must "and the next works" ctl refresh
}

is_finishing() { prop StatusText | grep -q 'finished first'; }

case_stop_clients() {
  fresh
  must "signed in" sign_in || return
  local idle start
  for idle in 1 2 3; do
    inside timeout 20 perl -MIO::Socket::UNIX -e \
      '$s = IO::Socket::UNIX->new("/run/brewlog/brewlog.sock"); <$s>' >/dev/null 2>&1 &
  done
  ctl watch >/dev/null 2>&1 &
  touch "$upstream/stall"
  ctl tip --max-age 0s >/dev/null 2>&1 &
  local waiting=$!
  must "a tip is asked of an upstream that does not answer" wait_for 5 log_has 'tip begun' || return
  start=$(date +%s%N)
  must "a stop" inside systemctl stop "$unit" || return
  must "in under 5 s" test $((($(date +%s%N) - start) / 1000000)) -lt 5000 || return
  local code=0
  wait "$waiting" || code=$?
  must "its caller was answered" unlike '^(0|124)$' "$code" || return
  must "ended well" equal 'success 0' "$(prop Result) $(prop ExecMainStatus)"
}
