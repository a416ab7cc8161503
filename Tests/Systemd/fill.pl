#!/usr/bin/perl
# Asks the daemon for so many tips, a few at a time, so that they come into its cache and its store.
use strict;
use warnings;
use IO::Socket::UNIX;
my ($path, $count) = @ARGV;
my $socket = IO::Socket::UNIX->new($path) or die "$path: $!";
my ($asked, $answered, $text) = (0, 0, '');
while ($answered < $count) {
  for (; $asked < $count && $asked - $answered < 16; $asked++) {
    print $socket qq({"method":"org.brewlog.Tips.Get","parameters":{"id":"big$asked"}}\0);
  }
  $socket->flush;
  sysread $socket, $text, 1 << 16, length $text or die "the daemon has closed the connection";
  while ($text =~ s/^([^\0]*)\0//) {
    $1 =~ /"error"/ and die $1;
    $answered++;
  }
}
