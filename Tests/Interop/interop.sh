#!/usr/bin/env bash
# Calls the built daemon with Varlink clients that this project did not write: two of Python's, one of
# Go's, and systemd's varlinkctl. Needs BUILD_DIRECTORY, where the programs are; `make interop` sets
# it. Packages are fetched once and kept below .build and /var/cache. A client that cannot be had
# here is skipped, with the reason; CLIENTS names those that must run (default: all are tried).
set -euo pipefail

build=${BUILD_DIRECTORY:?set it to what \`swift build --show-bin-path\` prints, or use make interop}
here=$(cd "$(dirname "$0")" && pwd -P)
work=${INTEROP_WORK:-$here/../../.build/interop}
clients=${CLIENTS:-}
upstream_pid=
daemon_pid=
scratch=
failed=()

say() { printf 'interop: %s\n' "$*"; }
fail() {
  printf 'interop: %s\n' "$*" >&2
  if [ -n "$scratch" ]; then sed 's/^/  /' "$scratch/brewlogd.log" >&2 || true; fi
  exit 1
}

stop() {
  for pid in $daemon_pid $upstream_pid; do
    kill -TERM "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  daemon_pid=
  upstream_pid=
  if [ -n "$scratch" ]; then rm -rf "$scratch"; fi
  scratch=
}

clean_up() {
  local status=$?
  trap - EXIT
  stop
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

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

start() {
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/brewlog-interop-XXXXXX")
  chmod 711 "$scratch"
  : >"$scratch/brewlogd.log"
  : >"$scratch/upstream.out"
  "$build/brewlog-demo-upstream" </dev/null >"$scratch/upstream.out" &
  upstream_pid=$!
  wait_for brewlog-demo-upstream "$upstream_pid" grep -q '^listening on ' "$scratch/upstream.out"
  cat >"$scratch/brewlogd.conf" <<END
[Upstream]
BaseURL=$(sed -n 's/^listening on //p' "$scratch/upstream.out")
[Store]
Directory=$scratch/state
[Socket]
Path=$scratch/brewlog.sock
Mode=0600
END
  "$build/brewlogd" --config "$scratch/brewlogd.conf" </dev/null 2>"$scratch/brewlogd.log" &
  daemon_pid=$!
  wait_for brewlogd "$daemon_pid" test -S "$scratch/brewlog.sock"
}

# Runs one client. 77 from it means that it cannot be had here.
try() {
  local name=$1 status=0
  if [ -n "$clients" ] && ! grep -qw -- "$name" <<<"$clients"; then return 0; fi
  # Each begins with the session of the demo's account, whose access token has expired.
  start
  "$build/brewlogctl" --socket "$scratch/brewlog.sock" login --token-stdin >/dev/null <<'END' \
    || fail "brewlogctl login failed"
{"accessToken":"dummy-access-0","refreshToken":"dummy-refresh-0","account":"ada"}
END
  "${name//-/_}" "$scratch/brewlog.sock" || status=$?
  kill -0 "$daemon_pid" 2>/dev/null || fail "the daemon ended under $name"
  case $status in
    0) say "$name: passed" ;;
    77)
      say "$name: SKIPPED, since it cannot be had here"
      if [ -n "$clients" ]; then failed+=("$name"); fi
      ;;
    *)
      say "$name: FAILED"
      sed 's/^/  /' "$scratch/brewlogd.log"
      failed+=("$name")
      ;;
  esac
  stop
}

python_with() {
  local package=$1 home=$work/python
  if ! "$home/bin/python3" -c "import ${package%%=*}" 2>/dev/null; then
    python3 -m venv "$home" >&2 || return 77
    "$home/bin/python3" -m pip install --quiet --disable-pip-version-check "$package" >&2 || return 77
  fi
  echo "$home/bin/python3"
}

python_varlink() {
  local python
  python=$(python_with varlink==31.0.0) || return 77
  "$python" "$here/with_varlink.py" "$1"
}

python_asyncvarlink() {
  local python
  python=$(python_with asyncvarlink==0.3.3) || return 77
  "$python" "$here/with_asyncvarlink.py" "$1"
}

# Debian's sources of the Go implementation, as its packages build against them.
go_varlink() {
  local sources=/usr/share/gocode/src/github.com/varlink/go
  if ! command -v go >/dev/null || [ ! -d "$sources" ]; then
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then return 77; fi
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
      golang-go golang-github-varlink-go-dev >"$scratch/apt.log" 2>&1 </dev/null || return 77
  fi
  mkdir -p "$work"
  (cd "$here/go" && GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$work/go-cache GOFLAGS= \
    go build -o "$work/with-go" main.go) || return 1
  "$work/with-go" "$1"
}

# systemd 257's, in a root of the next Debian where this one's systemd has none.
systemd_varlinkctl() {
  if command -v varlinkctl >/dev/null; then
    "$here/with_varlinkctl.sh" "$(command -v varlinkctl)" "$1" "$here/../../Sources/BrewlogAPI"
    return
  fi
  if [ "$(id -u)" -ne 0 ]; then return 77; fi
  local root
  root=$(trixie_root) || return 77
  # Private mounts: nothing of this stays in the root.
  unshare --mount bash -euc '
    mount --bind "$2" "$1/mnt"
    mount --bind "$3" "$1/srv"
    mount --bind "$4" "$1/media"
    exec chroot "$1" /media/with_varlinkctl.sh /usr/bin/varlinkctl "/mnt/$5" /srv
  ' - "$root" "$(dirname "$1")" "$here/../../Sources/BrewlogAPI" "$here" "$(basename "$1")"
}

trixie_root() {
  local place mirror
  # What the tests of the units have made serves as well.
  for place in /var/cache/brewlog-systemd/trixie-*; do
    if [ -e "$place/.whole" ] && [ -x "$place/usr/bin/varlinkctl" ]; then
      echo "$place"
      return
    fi
  done
  place=/var/cache/brewlog-interop/trixie
  if [ ! -e "$place/.whole" ]; then
    if ! command -v mmdebstrap >/dev/null; then
      DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends mmdebstrap \
        >&2 </dev/null || return 77
    fi
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -1)
    say "making a root of Debian trixie in $place" >&2
    mkdir -p "${place%/*}"
    rm -rf "$place.new"
    mmdebstrap --quiet --variant=essential --include=systemd trixie "$place.new" "$mirror" \
      >&2 </dev/null || return 77
    touch "$place.new/.whole"
    rm -rf "$place"
    mv "$place.new" "$place"
  fi
  echo "$place"
}

build=$(cd "$build" && pwd -P)
try python-varlink
try python-asyncvarlink
try go-varlink
try systemd-varlinkctl
if [ ${#failed[@]} -gt 0 ]; then fail "failed: ${failed[*]}"; fi
