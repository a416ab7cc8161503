#!/usr/bin/perl
# Holds SQLite's write lock on a database in WAL mode as another process would: byte 120 of its -shm
# file (wal-index, WAL_WRITE_LOCK), for some seconds.
use strict;
use warnings;
use Fcntl qw(:DEFAULT :seek);
my ($database, $seconds) = @ARGV;
open my $file, '+<', "$database-shm" or die "$database-shm: $!";
my $lock = pack 's s x4 q q i x4', F_WRLCK, SEEK_SET, 120, 1, 0;
fcntl $file, F_SETLKW, $lock or die "lock: $!";
$| = 1;
print "held\n";
sleep $seconds;
