# State directory, keys, and what can be wrong with them. Sourced by `cases.sh`.

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

case_read_only() {
  own_disk
  read_only
  local result=$?
  no_disk
  return "$result"
}
read_only() {
  must "signed in" sign_in || return
  inside systemctl stop "$unit"
  must "nothing can be written" inside mount -o remount,ro /var/lib/brewlog || return
  ends_for_good 73 || return
  must "it says what is read-only, and what to do" like '/var/lib/brewlog/.*read-only.*mount it' \
    "$(journal -p err)" || return
  inside mount -o remount,rw /var/lib/brewlog
  must "mended, the session is there" like 'signed in as ada' "$(ctl status)"
}

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

case_rekey() {
  fresh
  must "signed in" sign_in || return
  must "not while it runs" ends_with 75 inside runuser -u brewlog -- brewlogd --rekey || return
  inside systemctl stop brewlogd.socket "$unit"
  local before
  before=$(sha256sum "$root/var/lib/brewlog/master.key")
  must "a new key" like 'opens by a new key' "$(inside runuser -u brewlog -- brewlogd --rekey 2>&1)" || return
  must "is another one" unlike "${before%% *}" "$(sha256sum "$root/var/lib/brewlog/master.key")" || return
  inside systemctl start brewlogd.socket
  must "the session is there" like 'signed in as ada' "$(ctl status)" || return
  must "and refreshes" ctl refresh
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
  drop_in '[Service]' 'LoadCredentialEncrypted=brewlog.key'
  must "encrypted, it opens the same store" like 'signed in as ada' "$(ctl status)"
}
