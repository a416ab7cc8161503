# A real systemd in a container that vanishes with this process: systemd-nspawn on an overlay whose
# upper layer is in memory, inside mount and process namespaces of our own. Sourced by `run`.
#
#   isolate SCRIPT ARGS   goes on inside the namespaces, and ends with what comes of it there
#   prepare 252|bare|257  makes the root: 252 over this machine's own /, bare and 257 over a small
#                         Debian 12 or 13 that is made once; sets $root
#   boot                  starts it; sets $leader, its first process
#   inside COMMAND        runs a command in it
#   halt                  stops it in order

cache=${BREWLOG_SYSTEMD_CACHE:-/var/cache/brewlog-systemd}
root='' leader='' nspawn=''

give_up() { echo "systemd-test: $*" >&2; exit 99; }

# Polls until the command succeeds: wait_for SECONDS COMMAND.
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.05
  done
}

# The control groups that we are in and may make a child of: the unified tree, and systemd's own where
# there are the old ones, too.
own_groups() {
  local line tree
  while IFS= read -r line; do
    case $line in
      0::*) tree=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts) ;;
      *:name=systemd:*) tree=$(awk '$3 == "cgroup" && /name=systemd/ { print $2; exit }' /proc/mounts) ;;
      *) continue ;;
    esac
    if [ -n "$tree" ]; then echo "$tree${line#*:*:}"; fi
  done < /proc/self/cgroup
}

isolate() {
  [ -z "${BREWLOG_ISOLATED:-}" ] || return 0
  local reason
  reason=$(say_unable) || give_up "$reason"
  have_packages
  local scratch groups=() group status=0
  scratch=$(mktemp -d /tmp/brewlog-systemd.XXXXXX)
  while IFS= read -r group; do
    group=${group%/}/brewlog-systemd.$$
    if mkdir "$group" 2>/dev/null; then groups+=("$group"); fi
  done < <(own_groups)
  (
    for group in ${groups[@]+"${groups[@]}"}; do echo "$BASHPID" > "$group/cgroup.procs"; done
    export BREWLOG_ISOLATED=$scratch
    exec setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc \
      --propagation private bash "$@"
  ) &
  trap "kill -KILL $! 2>/dev/null" INT TERM HUP
  wait $! || status=$?
  for group in ${groups[@]+"${groups[@]}"}; do
    wait_for 5 find "$group" -depth -type d -exec rmdir {} + || true
  done
  rm -rf --one-file-system "$scratch"
  exit "$status"
}

# Why no systemd can be booted here; fails if so.
say_unable() {
  if [ "$(id -u)" -ne 0 ]; then echo "it needs root, for namespaces and mounts"; return 1; fi
  if ! [ -x /usr/bin/systemd-nspawn ] && ! command -v apt-get >/dev/null; then
    echo "systemd-nspawn is missing, and there is no apt-get to install it"
    return 1
  fi
  local place
  place=$(mktemp -d /tmp/brewlog-systemd.XXXXXX)
  # An overlay of / with its upper layer in memory, in namespaces of its own: as the tests have it.
  if ! timeout 20 unshare --mount --pid --fork --kill-child --mount-proc --propagation private bash -c '
    mount -t tmpfs brewlog "$1" && mkdir "$1"/{upper,work,root} \
      && mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" brewlog "$1/root"' \
    - "$place" >/dev/null 2>&1
  then
    rmdir "$place"
    echo "the kernel or a sandbox refuses namespaces or an overlay of /"
    return 1
  fi
  rmdir "$place"
}

# What the tests use of the machine, by Debian's packages.
have_packages() {
  local missing=() name
  # The system of 252 is this machine's own: what the package depends on has to be there.
  for name in $(dependencies); do
    dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed || missing+=("$name")
  done
  [ -x /usr/bin/systemd-nspawn ] || missing+=(systemd-container)
  [ -x /usr/bin/dbus-daemon ] || missing+=(dbus)
  command -v pgrep >/dev/null || missing+=(procps)
  command -v perl >/dev/null || missing+=(perl)
  [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
}

install_packages() {
  echo "systemd-test: installing $*"
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"; } \
    >/tmp/brewlog-systemd-apt.log 2>&1 </dev/null \
    || { tail /tmp/brewlog-systemd-apt.log >&2; give_up "apt-get install $* failed"; }
}

# What the package depends on, by name and nothing else.
dependencies() { dpkg-deb -f "$package" Depends | sed -E 's/\([^)]*\)//g; s/ *\|[^,]*//g; s/,/ /g'; }

# A small root with systemd and what the package depends on.
made_root() {
  local suite=$1 names mirror place
  names=systemd,systemd-sysv,dbus,$(dependencies | xargs | tr ' ' ',')
  # Debian 13 has renamed some for 64-bit time; the new ones provide the old names.
  # And what users' own managers need, which the package does not.
  [ "$suite" = bookworm ] || names=$(sed -E 's/libcurl4(,|$)/libcurl4t64\1/' <<<"$names"),libpam-systemd
  place=$cache/$suite-$(sha256sum <<<"$names" | cut -c1-12)
  if [ ! -e "$place/.whole" ]; then
    command -v mmdebstrap >/dev/null || install_packages mmdebstrap >&2
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -1)
    [ -n "$mirror" ] || give_up "apt names no mirror to make a root from"
    echo "systemd-test: making a $suite root in $place" >&2
    mkdir -p "$cache"
    rm -rf "$place.new"
    mmdebstrap --quiet --variant=essential --include="$names" --dpkgopt='path-exclude=/usr/share/man/*' \
      "$suite" "$place.new" "$mirror" >&2 </dev/null || give_up "mmdebstrap failed"
    touch "$place.new/.whole"
    rm -rf "$place"
    mv "$place.new" "$place"
  fi
  echo "$place"
}

prepare() {
  local lower base=$BREWLOG_ISOLATED
  case $1 in
    252) lower=/ ;;
    bare) lower=$(made_root bookworm) || exit 99 ;;
    257) lower=$(made_root trixie) || exit 99 ;;
    *) give_up "there is no root $1" ;;
  esac
  mount -t tmpfs -o size=1g,mode=0755 brewlog "$base"
  mkdir -m 755 "$base"/{upper,work,root}
  mount -t overlay -o "lowerdir=$lower,upperdir=$base/upper,workdir=$base/work" brewlog "$base/root" \
    || give_up "an overlay of $lower cannot be mounted"
  root=$base/root
  mkdir -p /run/systemd/nspawn
  mount -t tmpfs brewlog /run/systemd/nspawn
  # Nothing that the machine has enabled starts, and of systemd's own the least.
  rm -rf "$root"/etc/systemd/system/*.{wants,requires} "$root"/etc/rc?.d "$root"/etc/fstab
  local unit
  for unit in systemd-{timesyncd,pstore,networkd,resolved}.service getty.target console-getty.service \
    apt-daily{,-upgrade}.timer e2scrub_reap.service; do
    ln -sfn /dev/null "$root/etc/systemd/system/$unit"
  done
  # Nor is the index of all manuals made anew for each package.
  rm -f "$root/var/lib/man-db/auto-update"
  mkdir -p "$root/etc/systemd/journald.conf.d" "$root/var/log/journal"
  printf '[Journal]\nStorage=persistent\nRateLimitBurst=0\n' > "$root/etc/systemd/journald.conf.d/test.conf"
}

is_up() {
  leader=$(pgrep -P "$nspawn" | head -1)
  [ -n "$leader" ] && inside systemctl is-system-running | grep -qE 'running|degraded'
}

boot() {
  # bpf: devices and addresses are restricted by it on the unified tree. The other capabilities are
  # those of a service manager that sets limits.
  SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 systemd-nspawn --quiet --boot --directory="$root" --machine=brewlog \
    --register=no --keep-unit --private-network --link-journal=no --resolv-conf=off --timezone=off \
    --console=pipe --capability=CAP_BPF,CAP_PERFMON,CAP_SYS_RESOURCE,CAP_IPC_LOCK --system-call-filter=bpf \
    </dev/null >"$BREWLOG_ISOLATED/console" 2>&1 &
  nspawn=$!
  wait_for 60 is_up || {
    cat "$BREWLOG_ISOLATED/console" >&2
    give_up "systemd-nspawn cannot boot a container here; run this where it can"
  }
}

inside() {
  nsenter --all --target "$leader" -- /usr/bin/env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/root LC_ALL=C.UTF-8 SYSTEMD_COLORS=0 SYSTEMD_PAGER= "$@"
}

# Runs a program of this machine in the container's network.
beside() { nsenter --net --target "$leader" -- "$@"; }

has_ended() { ! kill -0 "$nspawn" 2>/dev/null || grep -q '^State:.Z' "/proc/$nspawn/status"; }

halt() {
  [ -n "$nspawn" ] || return 0
  kill -TERM "$nspawn" 2>/dev/null
  wait_for 20 has_ended || kill -KILL "$nspawn"
  wait "$nspawn" 2>/dev/null
  nspawn=
  umount "$BREWLOG_ISOLATED/root" "$BREWLOG_ISOLATED" 2>/dev/null || umount -l "$BREWLOG_ISOLATED"
}
