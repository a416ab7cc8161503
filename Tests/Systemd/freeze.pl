#!/usr/bin/perl
# Stops one thread of a process, as a hang would, until that is killed: ptrace(2) with PTRACE_SEIZE and
# PTRACE_INTERRUPT, which leave the other threads alone. Once the thread is dead the tracer must go: as
# long as it is there, nobody else is told of the death.
use strict;
use warnings;
my ($thread) = @ARGV;
my $call = (`uname -m` =~ /aarch64/) ? 117 : 101;
syscall($call, 0x4206, $thread + 0, 0, 0) == 0 or die "seize: $!";
syscall($call, 0x4207, $thread + 0, 0, 0) == 0 or die "interrupt: $!";
for (1 .. 600) {
  open my $status, '<', "/proc/$thread/status" or last;
  last if join('', <$status>) =~ /^State:\s+[ZX]/m;
  select undef, undef, undef, 0.05;
}
