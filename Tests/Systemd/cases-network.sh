# An upstream that is away, and what is told of it. Sourced by `cases.sh`.

case_offline() {
  fresh '[Cache]' 'FreshFor=1s'
  must "signed in" sign_in || return
  must "a tip" ctl tip || return
  touch "$upstream/refuse"
  inside systemctl restart "$unit"
  sleep 1.2
  must "it runs" is_active || return
  must "the cached tip" like 'Rinse the pot' "$(ctl tip)" || return
  must "it says since when" like 'upstream away since' "$(prop StatusText)" || return
  must "no restart" equal 0 "$(prop NRestarts)" || return
  rm "$upstream/refuse"
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

case_no_resolver() {
  inside sh -c 'touch /etc/hosts && cp /etc/hosts /etc/hosts.kept'
  no_resolver
  local result=$?
  inside mv /etc/hosts.kept /etc/hosts
  return "$result"
}
no_resolver() {
  fresh '[Upstream]' 'BaseURL=http://upstream.test:8123' 'AllowCleartext=yes'
  inside sh -c 'echo 127.0.0.1 upstream.test >> /etc/hosts'
  # Due for a refresh after half of it.
  must "signed in" sign_in 4 || return
  inside systemctl stop "$unit"
  inside cp /etc/hosts.kept /etc/hosts
  sleep 3
  local pid used
  must "it starts" inside systemctl start "$unit" || return
  pid=$(prop MainPID)
  sleep 10
  must "it runs on" equal "$pid 0" "$(prop MainPID) $(prop NRestarts)" || return
  must "says why" like 'upstream away' "$(prop StatusText)" || return
  # In hundredths of a second, since the start.
  used=$(inside awk '{ print $14 + $15 }' "/proc/$pid/stat")
  remark "0.$(printf %02d "$used") s of processor time in 10 s without name look-up"
  must "without work" test "$used" -lt 30 || return
  inside sh -c 'echo 127.0.0.1 upstream.test >> /etc/hosts'
  must "once there is a look-up it refreshes by itself" wait_for 40 log_has '/auth/refresh 200' || return
  must "and serves" ctl tip
}

case_metrics() {
  command -v promtool >/dev/null || return 77 # Debian's prometheus has it
  fresh
  must "signed in" sign_in || return
  must "a tip" ctl tip || return
  must "a refresh" ctl refresh || return
  ctl metrics --prometheus > "$BREWLOG_ISOLATED/metrics"
  must "promtool accepts them" promtool check metrics <"$BREWLOG_ISOLATED/metrics" || return
  must "OpenMetrics ends as it must" equal '# EOF' "$(ctl metrics | tail -1)" || return
  inside sh -c 'mkdir -p /var/lib/prometheus/node-exporter
    cp /usr/share/doc/brewlog/examples/brewlog-metrics.* /run/systemd/system/'
  inside systemctl daemon-reload
  must "the timer" inside systemctl start brewlog-metrics.timer || return
  local written=$root/var/lib/prometheus/node-exporter/brewlog.prom
  must "writes a file" wait_for 10 test -s "$written" || return
  inside systemctl stop brewlog-metrics.timer
  must "that all may read" equal 644 "$(stat -c %a "$written")" || return
  must "promtool accepts it" promtool check metrics <"$written" || return
  must "it has what was counted" like '^brewlog_refreshes_total\{result="success"\} 1$' "$(cat "$written")" || return
  rm "$written"
  inside rm /run/systemd/system/brewlog-metrics.service /run/systemd/system/brewlog-metrics.timer
}
