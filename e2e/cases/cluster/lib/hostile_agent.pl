#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# In place of an agent: answers whatever is asked, but for probes, in the way that its first argument names. The image
# of a worker has this language and no other, and no TLS (secure_agents_test.cpp has agents that are hostile in it). ($ENV{EMPI_POD_ADDRESS} is where agents listen.)
use strict;
use warnings;
use IO::Socket::INET;

my $way = $ARGV[-1];
my $head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
my %answer = (
    # A piece each 20 ms: no pause is long enough for a timeout between two of them.
    'byte-by-byte' => sub {
        my ($peer) = @_;
        return unless print $peer "${head}Content-Length: 1000000\r\n\r\n{";
        while (print $peer ' ') { select undef, undef, undef, 0.02 }
    },
    'endless' => sub {
        my ($peer) = @_;
        return unless print $peer "${head}Transfer-Encoding: chunked\r\n\r\n";
        my $piece = "10000\r\n" . ' ' x 65536 . "\r\n";
        while (print $peer $piece) { }
    },
    'a-gibibyte' => sub {
        my ($peer) = @_;
        return unless print $peer "${head}Content-Length: 1073741824\r\n\r\n[";
        my $piece = '[],' x 20000;
        while (print $peer $piece) { }
    },
    'many-values' => sub {
        my ($peer) = @_;
        my $body = '[' . '[],' x 1390000 . '[]]';
        print $peer "${head}Content-Length: " . length($body) . "\r\n\r\n$body";
    },
    'wrong-json' => sub {
        my ($peer) = @_;
        my $body = '{"view": 7, "changes": {"a": []}, "windows": "many"}';
        print $peer "${head}Content-Length: " . length($body) . "\r\n\r\n$body";
    },
);
my $hostile = $answer{$way} or die "there is no way '$way': " . join(' ', sort keys %answer) . "\n";

$SIG{PIPE} = 'IGNORE';
$SIG{CHLD} = 'IGNORE';
my $server = IO::Socket::INET->new(LocalAddr => $ENV{EMPI_POD_ADDRESS}, LocalPort => 7400, Listen => 64, ReuseAddr => 1)
    or die "cannot listen: $@\n";
while (1) {
    my $peer = $server->accept or next;
    next if fork; # the child has the connection
    $peer->autoflush(1);
    my ($request, $length) = (scalar <$peer>, 0);
    exit unless defined $request;
    while (defined(my $line = <$peer>)) {
        $length = $1 if $line =~ /^Content-Length: (\d+)/i;
        last if $line =~ /^\r?$/;
    }
    read $peer, my $body, $length if $length;
    # A probe is answered well, or nobody would ask further. So is the command to start, of which the way is told next.
    if ($request =~ m{ /v1/(healthz|start)}) { print $peer "${head}Connection: close\r\nContent-Length: 2\r\n\r\n{}" }
    else { $hostile->($peer) }
    exit;
}
