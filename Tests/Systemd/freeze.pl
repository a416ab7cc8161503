#!/usr/bin/perl
# Stops one thread of a process, as a hang would, until this program ends: ptrace(2) with
# PTRACE_SEIZE and PTRACE_INTERRUPT, which leave the other threads alone.
use strict;
use warnings;
my ($thread) = @ARGV;
my $call = (`uname -m` =~ /aarch64/) ? 117 : 101;
syscall($call, 0x4206, $thread + 0, 0, 0) == 0 or die "seize: $!";
syscall($call, 0x4207, $thread + 0, 0, 0) == 0 or die "interrupt: $!";
$| = 1;
print "frozen\n";
sleep 1 while -e "/proc/$thread";
