# The table: what brewlogd does under a real systemd. Each case is a function `case_NAME`, its row and
# the ids of the public reports that it answers stand in `table`. Sourced by `run`. A case fails by
# the first `must` that does not hold, and says which.

# name | quick or full | ids | what holds
table='
install       | quick |                | the package installs; units verify; exposure is 1.2 at the most
unconfigured  | quick | B171           | a faulty configuration under activation answers the client, is not restarted, and works once mended
activation    | quick | B164 B171 B177 | the first connection starts it; READY; signed out is no failure; a second daemon is refused
access        | quick |                | a tip for a member of the group, none for others
reload        | quick | B169           | a good reload says what changed, a bad one fails and changes nothing
journal       | quick | B188 B191      | fields and levels in the journal; no token in it, in arguments or environment
kill          | quick | B178 B192      | kill -9: restarted, session kept, clients queued; no core
rest          | quick | B178           | stopped, the next connection starts it again; the passed socket stays
loop_hang     | full  | B165           | a hanging loop: the watchdog restarts it, session kept
store_hang    | full  | B165           | a hanging store thread: the same
locked        | full  | B165           | a store that another process has locked: not killed
patience      | full  | B165           | an upstream that hangs: not killed, watchdog fed
stop_refresh  | quick |                | a stop during a refresh finishes and stores it
stop_clients  | quick | B179           | a stop with clients attached ends in under 5 s with 0
offline       | quick | B181 B182      | a start without upstream: READY, the cached tip, no restart; back by itself
log_volume    | full  | B186           | the same failure again and again is a few lines
full_disk     | full  | B122           | a full state directory: serves from memory, heals
no_removal    | full  |                | a state directory that nothing can be removed from: no logout is claimed to last, and it lasts later
foreign_files | quick | B173           | files of another owner in the state directory: refused by name
credentials   | quick |                | the key from the credential store, plain and encrypted; a missing one is said
own_socket    | quick | B143           | bound by itself, a socket that vanishes is bound again
instance      | full  |                | an instance has its own user, state and socket
user          | full  |                | under a manager of one user: its places, and nobody else in them
upgrade       | quick |                | an upgrade over a live session keeps it
purge         | quick |                | a purge leaves nothing but the user
'

configuration=/etc/brewlog/brewlogd.conf.d/90-test.conf
unit=brewlogd.service

must() {
  local what=$1
  shift
  "$@" >"$BREWLOG_ISOLATED/last" 2>&1 && return 0
  echo "    $what: $*"
  sed 's/^/      | /' "$BREWLOG_ISOLATED/last" | tail -5
  return 1
}
equal() { [ "$1" = "$2" ] || { echo "wanted '$1', got '$2'"; return 1; }; }
like() { grep -qE -- "$1" <<<"$2" || { echo "wanted /$1/, got '$2'"; return 1; }; }
unlike() { ! grep -qE -- "$1" <<<"$2" || { echo "found /$1/"; return 1; }; }
prop() { inside systemctl show -P "$1" "${2:-$unit}"; }
has() { equal "$2" "$(prop "$1")"; }
ctl() { inside timeout 30 brewlogctl "$@"; }
as() { local user=$1; shift; inside runuser -u "$user" -- timeout 30 "$@"; }
ends_with() { local code=0 want=$1; shift; "$@" || code=$?; equal "$want" "$code"; }
journal() { inside journalctl --sync; inside journalctl --no-pager -u "$unit" "$@"; }
is_active() { [ "$(prop ActiveState)" = active ] && [ "$(prop SubState)" = running ]; }
has_restarted() { is_active && [ "$(prop MainPID)" != "$1" ]; }
generation() { ctl --json status | sed -nE 's/.*"generation":([0-9]+).*/\1/p'; }
put() { inside sh -c 'mkdir -p "${1%/*}" && cat > "$1"' - "$1"; }

configure() {
  { printf '[Upstream]\nBaseURL=http://127.0.0.1:8123\n[Refresh]\nDeadline=8s\n'; printf '%s\n' "$@"; } \
    | put "$configuration"
}
drop_in() {
  printf '%s\n' "$@" | put /run/systemd/system/brewlogd.service.d/90-test.conf
  inside systemctl daemon-reload
}

# Signed in anew, with a socket and without anything that an earlier case has left.
fresh() {
  inside systemctl stop brewlogd.socket "$unit" 2>/dev/null
  inside rm -rf /run/systemd/system/brewlogd.service.d /etc/credstore /etc/credstore.encrypted
  inside sh -c 'rm -rf /var/lib/brewlog/* /var/lib/brewlog/.??*'
  inside systemctl daemon-reload
  inside systemctl reset-failed brewlogd.socket "$unit" 2>/dev/null
  rm -f "$upstream"/{hold,fail,serial,log}
  configure "$@"
  inside systemctl start brewlogd.socket
}
sign_in() {
  local n=0
  [ ! -e "$upstream/serial" ] || n=$(cat "$upstream/serial")
  ctl login --token-stdin \
    <<<"{\"accessToken\":\"dummy-access-$n\",\"refreshToken\":\"dummy-refresh-$n\",\"account\":\"ada\"}"
}
# By systemd itself: small roots have no other means.
add_users() { printf '%s\n' "$@" | put /run/sysusers.d/test.conf && inside systemd-sysusers /run/sysusers.d/test.conf; }
log_has() { grep -qs "$1" "$upstream/log"; }
log_lacks() { ! log_has "$1"; }

case_install() {
  must "the package installs" inside dpkg -i /var/tmp/brewlog.deb || return
  must "there is a user" inside id brewlog || return
  must "and a group" add_users 'u reader -' 'm reader brewlog' 'u stranger -' || return
  must "the runtime directory" equal "brewlog 755" "$(inside stat -c '%U %a' /run/brewlog)" || return
  # 252 does not know notify-reload, and says that it ignores it.
  must "the units verify" unlike . "$(inside systemd-analyze verify --man=no brewlogd.service brewlogd.socket 2>&1 \
    | grep -v 'notify-reload' | grep brewlog)" || return
  must "those for users, too" unlike . "$(inside systemd-analyze --user verify --man=no \
    /usr/lib/systemd/user/brewlogd.service 2>&1 | grep -v 'notify-reload' | grep brewlog)" || return
  must "the exposure" inside systemd-analyze security --no-pager --offline=yes --threshold=12 \
    /usr/lib/systemd/system/brewlogd.service || return
  must "the configuration's files are seen" inside systemd-analyze cat-config brewlog/brewlogd.conf
}

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
  must "a good reload" inside systemctl reload "$unit" || return
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
  must "the session is the same" equal "$before" "$(generation)" || return
  must "a refresh works" ctl refresh
}
case_loop_hang() { hang brewlogd; }
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

case_patience() {
  fresh
  drop_in '[Service]' 'WatchdogSec=2s'
  must "signed in" sign_in || return
  local pid
  pid=$(prop MainPID)
  touch "$upstream/hold"
  must "a refresh that hangs fails" ends_with 1 ctl refresh || return
  must "it was not killed" equal "$pid" "$(prop MainPID)" || return
  rm "$upstream/hold"
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
  sleep 0.5
  start=$(date +%s%N)
  must "a stop" inside systemctl stop "$unit" || return
  must "in under 5 s" test $((($(date +%s%N) - start) / 1000000)) -lt 5000 || return
  must "ended well" equal 'success 0' "$(prop Result) $(prop ExecMainStatus)"
}

case_offline() {
  fresh '[Cache]' 'FreshFor=1s'
  must "signed in" sign_in || return
  must "a tip" ctl tip || return
  touch "$upstream/fail"
  inside systemctl restart "$unit"
  sleep 1.2
  must "it runs" is_active || return
  must "the cached tip" like 'Rinse the pot' "$(ctl tip)" || return
  must "it says since when" like 'upstream away since' "$(prop StatusText)" || return
  must "no restart" equal 0 "$(prop NRestarts)" || return
  rm "$upstream/fail"
  sleep 1
  must "and is back" ctl tip --max-age 0s || return
  must "which it says" unlike 'away' "$(prop StatusText)"
}

case_log_volume() {
  fresh '[Cache]' 'FreshFor=1s'
  must "signed in" sign_in || return
  touch "$upstream/fail"
  local _
  for _ in {1..25}; do ctl tip --max-age 0s >/dev/null 2>&1; ctl refresh >/dev/null 2>&1; done
  rm "$upstream/fail"
  must "few lines" test "$(journal -p warning "_PID=$(prop MainPID)" | wc -l)" -lt 12
}

# The state directory on a file system of its own.
own_disk() {
  fresh
  inside systemctl stop brewlogd.socket "$unit"
  inside mount -t tmpfs -o "size=2m,mode=0700,uid=$(inside id -u brewlog),gid=$(inside id -g brewlog)" \
    state /var/lib/brewlog
  inside systemctl start brewlogd.socket
}
no_disk() {
  inside systemctl stop brewlogd.socket "$unit"
  inside umount -l /var/lib/brewlog
}

case_full_disk() {
  own_disk
  full_disk
  local result=$?
  no_disk
  return "$result"
}
full_disk() {
  must "signed in" sign_in || return
  must "a tip" ctl tip || return
  local pid
  pid=$(prop MainPID)
  inside sh -c 'cat /dev/zero > /var/lib/brewlog/filler' 2>/dev/null
  must "no refresh is begun" ends_with 1 ctl refresh || return
  must "the token was not spent" log_lacks 'refresh begun' || return
  must "it serves" ctl tip || return
  must "the same process" equal "$pid" "$(prop MainPID)" || return
  inside rm /var/lib/brewlog/filler
  must "it heals" wait_for 15 ctl refresh
}

case_no_removal() {
  own_disk
  no_removal
  local result=$?
  chattr -R -i "/proc/$leader/root/var/lib/brewlog" 2>/dev/null
  no_disk
  return "$result"
}
no_removal() {
  must "signed in" sign_in || return
  must "a tip" ctl tip || return
  # What a file system that has become read-only does to a removal. One that has files open for
  # writing, as here, cannot be made read-only by hand.
  must "nothing can be removed" chattr -R +i "/proc/$leader/root/var/lib/brewlog" || return
  must "a logout is not claimed to last" ends_with 7 ctl logout || return
  must "it holds all the same" ends_with 4 ctl tip || return
  must "a tombstone lies in the runtime directory" inside sh -c \
    'ls -A /run/brewlog | grep -v brewlog.sock | grep .' || return
  chattr -R -i "/proc/$leader/root/var/lib/brewlog"
  must "it lasts later" wait_for 40 is_durable
}
is_durable() { ctl --json health | grep -q '"ready":true'; }

case_foreign_files() {
  fresh
  must "signed in" sign_in || return
  inside systemctl stop "$unit"
  inside chown stranger /var/lib/brewlog/session.db
  must "the client is answered" ends_with 3 ctl status || return
  must "73" wait_for 5 has ExecMainStatus 73 || return
  must "which file" like 'session.db' "$(journal -p err)" || return
  inside chown brewlog /var/lib/brewlog/session.db
  must "mended, the session is there" like 'signed in as ada' "$(ctl status)"
}

case_credentials() {
  fresh
  inside sh -c 'mkdir -m 700 /etc/credstore && head -c 32 /dev/urandom > /etc/credstore/brewlog.key'
  must "signed in" sign_in || return
  must "the credential is in force" like 'credential' "$(ctl session)" || return
  must "no key file was made" ends_with 1 inside test -e /var/lib/brewlog/master.key || return
  inside systemctl stop "$unit"
  inside sh -c 'mkdir -m 700 /etc/credstore.encrypted
    systemd-creds encrypt --with-key=host --name=brewlog.key /etc/credstore/brewlog.key \
      /etc/credstore.encrypted/brewlog.key && mv /etc/credstore/brewlog.key /root/key' 2>/dev/null
  must "without it, nothing is made anew" ends_with 3 ctl status || return
  must "66" wait_for 5 has ExecMainStatus 66 || return
  drop_in '[Service]' 'LoadCredentialEncrypted=brewlog.key:/etc/credstore.encrypted/brewlog.key'
  must "encrypted, it opens the same store" like 'signed in as ada' "$(ctl status)"
}

case_own_socket() {
  fresh
  inside systemctl stop brewlogd.socket
  must "a start without the socket unit" inside systemctl start "$unit" || return
  must "it has bound" inside test -S /run/brewlog/brewlog.sock || return
  must "for the group" equal 'brewlog 660' "$(inside stat -c '%G %a' /run/brewlog/brewlog.sock)" || return
  inside rm /run/brewlog/brewlog.sock
  must "bound again" wait_for 10 ctl status || return
  inside systemctl stop "$unit"
  must "removed at the end" ends_with 1 inside test -e /run/brewlog/brewlog.sock
}

case_instance() {
  fresh
  add_users 'u brewlog-work -'
  printf '[Upstream]\nBaseURL=http://127.0.0.1:8123\n' | put /etc/brewlog/brewlogd@work.conf
  must "its socket" inside systemctl start brewlogd@work.socket || return
  must "it answers" like 'signed out' "$(ctl --instance work status)" || return
  must "as its own user" equal 'brewlog-work 700' "$(inside stat -c '%U %a' /var/lib/brewlog@work)" || return
  must "READY" equal active "$(prop ActiveState brewlogd@work.service)" || return
  inside systemctl stop brewlogd@work.socket brewlogd@work.service
}

case_user() {
  inside test -e /etc/pam.d/systemd-user || return 77 # libpam-systemd is not there
  fresh
  local uid
  add_users 'u walker - - /home/walker'
  uid=$(inside id -u walker)
  inside install -d -o walker -g walker /home/walker
  own() { inside runuser -u walker -- env XDG_RUNTIME_DIR="/run/user/$uid" HOME=/home/walker timeout 30 "$@"; }
  printf '[Upstream]\nBaseURL=http://127.0.0.1:8123\n' \
    | own sh -c 'mkdir -p ~/.config/brewlog && cat > ~/.config/brewlog/brewlogd.conf'
  must "a manager" inside systemctl start "user@$uid.service" || return
  must "the socket" own systemctl --user start brewlogd.socket || return
  must "it answers" like 'signed out' "$(own brewlogctl --user status)" || return
  must "READY" equal active "$(own systemctl --user show -P ActiveState "$unit")" || return
  must "its state" equal 700 "$(inside stat -c %a /home/walker/.local/state/brewlog)" || return
  must "its socket" equal 'walker 600' "$(inside stat -c '%U %a' "/run/user/$uid/brewlog/brewlog.sock")" || return
  must "a reload" own systemctl --user reload "$unit" || return
  inside systemctl stop "user@$uid.service"
}

case_upgrade() {
  fresh
  must "signed in" sign_in || return
  local pid before
  pid=$(prop MainPID)
  before=$(generation)
  must "the next version installs" inside dpkg -i /var/tmp/brewlog-next.deb || return
  must "it was restarted" wait_for 10 has_restarted "$pid" || return
  must "the session is the same" equal "$before" "$(generation)" || return
  must "a refresh works" ctl refresh
}

case_purge() {
  fresh
  must "signed in" sign_in || return
  must "a removal" inside dpkg -r brewlog || return
  must "nothing runs" equal '' "$(host_pid)" || return
  must "the session is there" inside test -e /var/lib/brewlog/session.db || return
  must "a purge" inside dpkg -P brewlog || return
  must "nothing is left" unlike . "$(inside find /var/lib /run /etc /usr -name '*brewlog*' -not -path '*/systemd-test*' \
    -not -path '/var/lib/systemd/*' 2>/dev/null | grep -v -e credstore -e brewlog@work)"
}
