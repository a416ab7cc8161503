# The table: what brewlogd does under a real systemd. Each case is a function `case_NAME` in one of
# `cases-*.sh`; its row, with the ids of the public reports that it answers, stands in `table`. Sourced
# by `run`. A case fails by the first `must` that does not hold, and says which.

# name | quick or full | ids | what holds
table='
install       | quick |                | the package installs; units verify; exposure is 1.2 at the most
unconfigured  | quick | B171           | a faulty configuration under activation answers the client, is not restarted, and works once mended
configuration | quick |                | drop-ins, precedence and origins; systemd-analyze shows the same files; an error has file, line and nearest name
activation    | quick | B171 B177      | the first connection starts it; READY; signed out is no failure; a second daemon is refused
ready         | full  | B164           | READY does not wait for a refresh that hangs nor for 50 MB of tips
exit_codes    | full  |                | what a restart cannot mend is not restarted: usage, newer schema, already running
access        | quick |                | a tip for a member of the group, none for others
reload        | quick | B169           | a good reload says what changed, a bad one fails and changes nothing
journal       | quick | B188 B191      | fields and levels in the journal; no token in it, in arguments or environment
kill          | quick | B178 B192      | kill -9: restarted, session kept, clients queued; no core
rest          | quick | B178           | stopped, the next connection starts it again; the passed socket stays
loop_hang     | full  | B165 B192      | a hanging loop: the watchdog restarts it, session kept, no core
coordinator   | full  | B165           | a refresh that does not end, loop and store well: the same
store_hang    | full  | B165           | a hanging store thread: the same
locked        | full  | B165           | a store that another process has locked: not killed
patience      | full  | B165           | an upstream that hangs, and 500 clients: not killed, watchdog fed
stop_refresh  | quick |                | a stop during a refresh finishes and stores it
stop_clients  | quick | B179           | a stop with clients attached ends in under 5 s with 0
offline       | quick | B182           | a start without upstream: READY, the cached tip, no restart; back by itself
no_resolver   | full  | B181 B187      | a start without name look-up: no restart, hardly any processor time, refreshed once there is one
log_volume    | full  | B186           | the same failure again and again is a few lines
metrics       | full  |                | promtool accepts the metrics, and what the timer writes for node_exporter
full_disk     | full  | B122           | a full state directory: serves from memory, heals
no_removal    | full  |                | a state directory that nothing can be removed from: no logout is claimed to last, and it lasts later
read_only     | full  |                | a state directory that is read-only at the start: refused, and mended it works
foreign_files | quick | B173           | files of another owner in the state directory: refused by name
credentials   | quick |                | the key from the credential store, plain and encrypted; a missing one is said
rekey         | full  |                | a new master key, made while the service is stopped, opens the store
own_socket    | quick | B143           | bound by itself, a socket that vanishes is bound again
instance      | full  |                | instances have users of their own, and none reads the state of another
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
  inside rm -rf /run/systemd/system/brewlogd.service.d /etc/credstore /etc/credstore.encrypted \
    /usr/local/bin/brewlogd-stuck
  inside sh -c 'rm -rf /var/lib/brewlog/* /var/lib/brewlog/.??*'
  inside systemctl daemon-reload
  inside systemctl reset-failed brewlogd.socket "$unit" 2>/dev/null
  rm -f "$upstream"/{hold,stall,fail,refuse,lifetime,serial,log}
  configure "$@"
  inside systemctl start brewlogd.socket
}
sign_in() { # with an access token that lives so many seconds, or an hour
  local n=0 lifetime=${1:-3600}
  [ ! -e "$upstream/serial" ] || n=$(cat "$upstream/serial")
  ctl login --token-stdin \
    <<<"{\"accessToken\":\"dummy-access-$n\",\"refreshToken\":\"dummy-refresh-$n\",\"account\":\"ada\",\"expiresInSeconds\":$lifetime}"
}
# By systemd itself: small roots have no other means.
add_users() { printf '%s\n' "$@" | put /run/sysusers.d/test.conf && inside systemd-sysusers /run/sysusers.d/test.conf; }
log_has() { grep -qs "$1" "$upstream/log"; }
log_lacks() { ! log_has "$1"; }
# Something to be read below the row.
remark() { echo "remark: $*"; }

. "$here/cases-conduct.sh"
. "$here/cases-network.sh"
. "$here/cases-package.sh"
. "$here/cases-store.sh"
