#!/usr/bin/perl
# A small upstream (Dialect=simple) that does what a file says: while DIR/hold is there, refreshes are
# not answered; DIR/stall, tips are not; DIR/fail, all is 503; DIR/refuse, nobody listens. A new access
# token lives for as many seconds as DIR/lifetime says. DIR/log gets a line a request. One process for each connection, so that a held answer holds nobody else.
use strict;
use warnings;
use Fcntl qw(:flock);
use IO::Socket::INET;
my ($dir, $port) = @ARGV;
my $server;
$SIG{CHLD} = 'IGNORE';

sub note { open my $log, '>>', "$dir/log" or return; syswrite $log, "$_[0]\n"; }
sub lifetime { open my $file, '<', "$dir/lifetime" or return 3600; my $n = <$file>; return $n + 0; }
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

sub next_client {
  while (1) {
    undef $server if -e "$dir/refuse";
    $server //= IO::Socket::INET->new(
      LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 64, ReuseAddr => 1) or die "listen: $!"
      unless -e "$dir/refuse";
    vec(my $ready = '', fileno $server, 1) = 1 if $server;
    return $server->accept if select $ready, undef, undef, 0.05;
  }
}

while (my $client = next_client()) {
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
    last if -e "$dir/refuse";
    my ($status, $answer) = (404, '{}');
    if (-e "$dir/fail") { ($status, $answer) = (503, '{}') }
    elsif ($path eq '/auth/refresh') {
      note('refresh begun');
      select undef, undef, undef, 0.05 while -e "$dir/hold";
      my ($token) = $body =~ /"refreshToken"\s*:\s*"([^"]+)"/;
      if (my $n = rotate($token // '')) {
        ($status, $answer) = (200,
          qq({"token":"dummy-access-$n","refreshToken":"dummy-refresh-$n","expiresIn":) . lifetime() . '}');
      } else { ($status, $answer) = (401, '{}') }
    } elsif ($path =~ m{^/tips/(big)?(\w+)}) {
      note('tip begun') unless $1;
      select undef, undef, undef, 0.05 while -e "$dir/stall";
      my ($id, $text) = ($1 ? "big$2" : $2, 'Warm it first.' . ($1 ? ' And wait.' x 500 : ''));
      $bearer eq 'dummy-access-' . serial()
        ? (($status, $answer) = (200, qq({"id":"$id","title":"Rinse the pot","body":"$text"})))
        : ($status = 401);
    }
    note("$method $path $status") unless $path =~ /big/;
    my $size = length $answer;
    print $client "HTTP/1.1 $status X\r\nContent-Type: application/json\r\nContent-Length: $size\r\n\r\n$answer";
    $client->flush;
  }
  exit 0;
}
