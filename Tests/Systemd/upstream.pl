#!/usr/bin/perl
# A small upstream (Dialect=simple) that does what a file says: while DIR/hold is there, refreshes are
# not answered; while DIR/fail is there, all is 503. DIR/log gets a line a request. One process for
# each connection, so that a held answer holds nobody else.
use strict;
use warnings;
use Fcntl qw(:flock);
use IO::Socket::INET;
my ($dir, $port) = @ARGV;
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 64, ReuseAddr => 1)
  or die "listen: $!";
$SIG{CHLD} = 'IGNORE';

sub note { open my $log, '>>', "$dir/log" or return; syswrite $log, "$_[0]\n"; }
sub serial { open my $file, '<', "$dir/serial" or return 0; my $n = <$file>; return $n + 0; }

# The n-th pair is the one that is good; every refresh makes the next.
sub rotate {
  my ($token) = @_;
  open my $lock, '>', "$dir/lock" or die; flock $lock, LOCK_EX;
  my $n = serial();
  return if $token ne "dummy-refresh-$n";
  open my $file, '>', "$dir/serial" or die; print $file $n + 1; close $file;
  return $n + 1;
}

while (my $client = $server->accept) {
  next if fork;
  while (defined(my $line = <$client>)) {
    my ($method, $path) = $line =~ /^(\S+) (\S+)/ or last;
    my ($length, $bearer) = (0, '');
    while (defined(my $field = <$client>) ) {
      last if $field =~ /^\r?\n$/;
      $length = $1 if $field =~ /^content-length:\s*(\d+)/i;
      $bearer = $1 if $field =~ /^authorization:\s*Bearer (\S+)/i;
    }
    my $body = '';
    read $client, $body, $length if $length;
    my ($status, $answer) = (404, '{}');
    if (-e "$dir/fail") { ($status, $answer) = (503, '{}') }
    elsif ($path eq '/auth/refresh') {
      note('refresh begun');
      select undef, undef, undef, 0.05 while -e "$dir/hold";
      my ($token) = $body =~ /"refreshToken"\s*:\s*"([^"]+)"/;
      if (my $n = rotate($token // '')) {
        ($status, $answer) = (200, qq({"token":"dummy-access-$n","refreshToken":"dummy-refresh-$n","expiresIn":3600}));
      } else { ($status, $answer) = (401, '{}') }
    } elsif ($path =~ m{^/tips/}) {
      $bearer eq 'dummy-access-' . serial()
        ? (($status, $answer) = (200, '{"id":"t1","title":"Rinse the pot","body":"Warm it first."}'))
        : ($status = 401);
    }
    note("$method $path $status");
    my $size = length $answer;
    print $client "HTTP/1.1 $status X\r\nContent-Type: application/json\r\nContent-Length: $size\r\n\r\n$answer";
    $client->flush;
  }
  exit 0;
}
