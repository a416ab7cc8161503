#!/usr/bin/env bash
# A session from sign-in to logout: starts an upstream and a daemon of its own, imports an access
# token that has expired and its refresh token, gets the tip of the day (the daemon refreshes by
# itself), and logs out. Needs BUILD_DIRECTORY, where the programs are; `make demo` sets it. All
# files stay below it, but for the socket where its path would be too long, and all are removed.
set -euo pipefail

build=${BUILD_DIRECTORY:?set it to what \`swift build --show-bin-path\` prints, or use make demo}
programs=(brewlogd brewlogctl brewlog-demo-upstream)
upstream_pid=
daemon_pid=
scratch=
socket_directory=

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

fail() {
  printf 'demo: %s\n' "$*" >&2
  if [ -n "$scratch" ] && [ -s "$scratch/brewlogd.log" ]; then
    printf 'demo: the daemon said:\n' >&2
    sed 's/^/  /' "$scratch/brewlogd.log" >&2
  fi
  exit 1
}

# Ends a process of ours: asked first, after ten seconds made to. Its exit status is returned.
end() {
  local pid=$1 status=0
  kill -TERM "$pid" 2>/dev/null || true
  for _ in {1..100}; do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || status=$?
  return "$status"
}

clean_up() {
  local status=$?
  trap - EXIT
  if [ -n "$daemon_pid" ]; then end "$daemon_pid" || true; fi
  if [ -n "$upstream_pid" ]; then end "$upstream_pid" || true; fi
  if [ -n "$socket_directory" ] && [ "$socket_directory" != "$scratch" ]; then
    rm -rf "$socket_directory"
  fi
  if [ -n "$scratch" ]; then rm -rf "$scratch"; fi
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Waits until a condition holds, while the process lives.
wait_for() {
  local what=$1 pid=$2
  shift 2
  for _ in {1..300}; do
    if "$@"; then return 0; fi
    kill -0 "$pid" 2>/dev/null || fail "$what ended before it was ready"
    sleep 0.1
  done
  fail "$what was not ready after 30 seconds"
}

# The access log from the line after the given one on must be just this.
expect_requests() {
  local start=$1 expected=$2 seen
  seen=$(sed -n "$((start + 1)),\$p" "$scratch/access.log")
  printf '%s\n' "$seen" | sed 's/^/  /'
  [ "$seen" = "$expected" ] || fail "the upstream should have seen: ${expected//$'\n'/, }"
}

for program in "${programs[@]}"; do
  [ -x "$build/$program" ] || fail "$build/$program is missing; run make build"
done
build=$(cd "$build" && pwd -P)

umask 077
scratch=$(mktemp -d "$build/demo-XXXXXX")
# A socket's path has 107 bytes at most (unix(7)).
socket_directory=$scratch
if [ "$(printf %s "$scratch/brewlog.sock.lock" | wc -c)" -gt 107 ]; then
  socket_directory=$(mktemp -d "${TMPDIR:-/tmp}/brewlog-demo-XXXXXX")
fi
socket=$socket_directory/brewlog.sock
ctl() { "$build/brewlogctl" --socket "$socket" "$@"; }

say "Starting an upstream"
: >"$scratch/access.log"
"$build/brewlog-demo-upstream" --log "$scratch/access.log" </dev/null >"$scratch/upstream.out" &
upstream_pid=$!
wait_for brewlog-demo-upstream "$upstream_pid" grep -q '^listening on ' "$scratch/upstream.out"
url=$(sed -n 's/^listening on //p' "$scratch/upstream.out")
echo "  $url"

say "Starting brewlogd"
mkdir "$scratch/state"
cat >"$scratch/brewlogd.conf" <<END
[Upstream]
BaseURL=$url

[Store]
Directory=$scratch/state

[Socket]
Path=$socket
Mode=0600

[Access]
Read=
Control=
END
sed -n '/./s/^/  /p' "$scratch/brewlogd.conf"
"$build/brewlogd" --config "$scratch/brewlogd.conf" --check-config </dev/null \
  || fail "the configuration does not pass --check-config"
"$build/brewlogd" --config "$scratch/brewlogd.conf" </dev/null 2>"$scratch/brewlogd.log" &
daemon_pid=$!
wait_for brewlogd "$daemon_pid" test -S "$socket"

say "Signing in, with an access token that has expired"
ctl login --token-stdin <<'END' || fail "brewlogctl login failed"
{"accessToken":"dummy-access-0","refreshToken":"dummy-refresh-0","account":"ada"}
END

say "The tip of the day"
ctl tip --card </dev/null || fail "brewlogctl tip failed"

say "What the upstream saw: the token refused, one refresh, the tip"
expect_requests 0 $'GET /tips/today 401\nPOST /auth/refresh 200\nGET /tips/today 200'

say "Logging out"
ctl logout </dev/null || fail "brewlogctl logout failed"

say "What is left of the session"
status=0
ctl session </dev/null || status=$?
# 4 is "signed out".
[ "$status" -eq 0 ] || [ "$status" -eq 4 ] || fail "brewlogctl session failed with $status"
status=0
refused=$(ctl tip </dev/null 2>&1) || status=$?
[ "$status" -eq 4 ] || fail "after the logout, tip should exit with 4, not $status"
printf '%s\n' "$refused" | sed 's/^/  /'
if grep -raq dummy- "$scratch/state" "$scratch/brewlogd.log"; then
  fail "a token is left in $scratch/state or in the log"
fi

say "Stopping"
pid=$daemon_pid
daemon_pid=
end "$pid" || fail "brewlogd did not stop cleanly"
[ ! -e "$socket" ] || fail "the socket is still there: $socket"
pid=$upstream_pid
upstream_pid=
end "$pid" || fail "brewlog-demo-upstream did not stop cleanly"
echo "  demo: all as it should be"
