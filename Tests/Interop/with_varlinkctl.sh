#!/usr/bin/env bash
# Talks to brewlogd with systemd's varlinkctl. Takes its path, the socket's, and the folder of the
# interface files.
set -euo pipefail

tool=$1
address=unix:$2
files=$3

fail() {
  printf 'with varlinkctl: %s\n' "$*" >&2
  exit 1
}
# Runs it; $output is what it printed.
run() { output=$("$tool" "$@" 2>&1) || fail "$* failed: $output"; }
expect() { grep -q -- "$1" <<<"$output" || fail "no $1 in: $output"; }

"$tool" --version | sed -n '1s/^/with varlinkctl: /p'
for file in "$files"/*.varlink; do run validate-idl "$file"; done
run info "$address"
expect brewlogd
for name in Service Session Tips; do expect "org.brewlog.$name"; done
run list-interfaces "$address"
expect org.varlink.service
for name in org.brewlog.Service org.brewlog.Session org.brewlog.Tips org.varlink.service; do
  run introspect "$address" "$name"
  expect "interface $name"
done
run list-methods "$address" org.brewlog.Session
expect org.brewlog.Session.Logout
run --json=short call "$address" org.brewlog.Tips.Get '{"id":"bloom"}'
expect '"id":"bloom"'
run --json=short call "$address" org.brewlog.Session.Status '{}'
expect '"state":"signedIn"'
if output=$("$tool" call "$address" org.brewlog.Tips.Rate '{"id":"bloom","rating":9}' 2>&1); then
  fail "a rating of 9 was taken"
fi
expect InvalidParameter
if output=$("$tool" call "$address" org.brewlog.Session.Watch '{}' 2>&1); then
  fail "Watch was answered without more"
fi
expect ExpectedMore
run --oneway call "$address" org.brewlog.Session.Status '{}'

# A stream, of which the first events are read; the tool is ended then.
events=$(mktemp)
"$tool" --json=short --more call "$address" org.brewlog.Session.Watch '{}' >"$events" 2>&1 &
watcher=$!
for _ in {1..100}; do
  if grep -q signedIn "$events"; then break; fi
  sleep 0.1
done
run --json=short call "$address" org.brewlog.Session.Logout '{}'
expect '"generation":'
for _ in {1..100}; do
  if grep -q signedOut "$events"; then break; fi
  sleep 0.1
done
kill "$watcher" 2>/dev/null || true
wait "$watcher" 2>/dev/null || true
output=$(cat "$events")
rm -f "$events"
expect '"kind":"signedIn"'
expect '"kind":"signedOut"'
