# The package: installed, upgraded, purged; instances, and users' own units. Sourced by `cases.sh`.

case_install() {
  must "the package installs" inside dpkg -i /var/tmp/brewlog.deb || return
  must "there is a user" inside id brewlog || return
  must "and a group" add_users 'u reader -' 'm reader brewlog' 'u stranger -' || return
  must "the runtime directory" equal "brewlog 755" "$(inside stat -c '%U %a' /run/brewlog)" || return
  # 252 does not know notify-reload, and says that it ignores it.
  must "the units verify" unlike . "$(inside systemd-analyze verify --man=no brewlogd.service brewlogd.socket 2>&1 \
    | grep -v 'notify-reload' | grep brewlog)" || return
  must "an instance's, too" unlike . "$(inside systemd-analyze verify --man=no brewlogd@work.service \
    brewlogd@work.socket 2>&1 | grep -v 'notify-reload' | grep brewlog)" || return
  must "and those for users" unlike . "$(inside systemd-analyze --user verify --man=no \
    /usr/lib/systemd/user/brewlogd.service 2>&1 | grep -v 'notify-reload' | grep brewlog)" || return
  must "the exposure" inside systemd-analyze security --no-pager --offline=yes --threshold=12 \
    /usr/lib/systemd/system/brewlogd.service || return
  remark "$(inside systemd-analyze security --no-pager --offline=yes /usr/lib/systemd/system/brewlogd.service \
    2>/dev/null | sed -n 's/^[^O]*\(Overall.*\)/\1/p')"
  must "an instance's" inside systemd-analyze security --no-pager --offline=yes --threshold=12 \
    /usr/lib/systemd/system/brewlogd@.service || return
  must "the configuration's files are seen" inside systemd-analyze cat-config brewlog/brewlogd.conf
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
  add_users 'u brewlog-work -' 'u brewlog-home -'
  printf '[Upstream]\nBaseURL=http://127.0.0.1:8123\n' \
    | inside tee /etc/brewlog/brewlogd@work.conf /etc/brewlog/brewlogd@home.conf >/dev/null
  must "its socket" inside systemctl start brewlogd@work.socket || return
  must "it answers" like 'signed out' "$(ctl --instance work status)" || return
  must "as its own user" equal 'brewlog-work 700' "$(inside stat -c '%U %a' /var/lib/brewlog@work)" || return
  must "READY" equal active "$(prop ActiveState brewlogd@work.service)" || return
  must "another one" inside systemctl start brewlogd@home.socket || return
  must "signed in" ctl --instance home login --token-stdin \
    <<<'{"accessToken":"dummy-access-0","refreshToken":"dummy-refresh-0","account":"bea"}' || return
  must "it serves" like 'Rinse' "$(ctl --instance home tip)" || return
  must "the first knows nothing of it" like 'signed out' "$(ctl --instance work status)" || return
  must "a reload" inside systemctl reload brewlogd@home.service || return
  must "no other reads its state" ends_with 1 \
    inside runuser -u brewlog-work -- test -r /var/lib/brewlog@home/session.db || return
  must "but itself" inside runuser -u brewlog-home -- test -r /var/lib/brewlog@home/session.db || return
  inside systemctl stop brewlogd@{work,home}.socket brewlogd@{work,home}.service
  must "its directory is left for the next start" inside test -d /run/brewlog@home || return
  inside rm -rf /var/lib/brewlog@{work,home} /etc/brewlog/brewlogd@{work,home}.conf
}

case_user() {
  inside sh -c 'ls /usr/lib/*/security/pam_systemd.so' >/dev/null 2>&1 || return 77 # no libpam-systemd
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
  # What a user's own manager has made ends with it, not with the package.
  must "nothing is left" unlike . "$(inside find /var/lib /run /etc /usr -name '*brewlog*' -not -path '*/systemd-test*' \
    -not -path '/var/lib/systemd/*' -not -path '/run/user/*' 2>/dev/null | grep -v -e credstore -e brewlog@work)"
}
