#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# In place of an agent: answers whatever is asked, but for probes, in the way that its first argument names. The image
# of a worker has this language and no other; TLS is spoken by the case's own openssl, one process for each connection.
# ($ENV{EMPI_POD_ADDRESS} is where agents listen.)
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use IPC::Open2;

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
    my ($in, $out) = $ENV{EMPI_TLS_DIR} ? secured($peer) : ($peer, $peer);
    $out->autoflush(1);
    my ($request, $length) = (scalar <$in>, 0);
    exit unless defined $request;
    while (defined(my $line = <$in>)) {
        $length = $1 if $line =~ /^Content-Length: (\d+)/i;
        last if $line =~ /^\r?$/;
    }
    read $in, my $body, $length if $length;
    # A probe is answered well, or nobody would ask further. So is the command to start, of which the way is told next.
    if ($request =~ m{ /v1/(healthz|start)}) { print $out "${head}Connection: close\r\nContent-Length: 2\r\n\r\n{}" }
    else { $hostile->($out) }
    exit;
}

# What the peer says and is told, as text: openssl has the pod's key, and a child of ours carries its bytes.
sub secured {
    my ($peer) = @_;
    my ($socket, $identity) = ("/tmp/tls-$$", "$ENV{EMPI_TLS_DIR}/identity.pem");
    my $tls = open2(my $in, my $out, '/opt/elastic-mpi/bin/openssl', 's_server', '-quiet', '-tls1_3', '-naccept', 1, '-unix', $socket,
        '-unlink', '-cert', $identity, '-key', $identity);
    my $inner;
    until ($inner = IO::Socket::UNIX->new(Peer => $socket)) {
        exit if waitpid($tls, 1) > 0;
        select undef, undef, undef, 0.01;
    }
    return ($in, $out) if fork;
    close $in;
    close $out;
    my $both = IO::Select->new($peer, $inner);
    while (1) {
        for my $from ($both->can_read) {
            exit unless sysread $from, my $piece, 65536;
            my $to = $from == $peer ? $inner : $peer;
            for (my $sent = 0; $sent < length $piece;) { $sent += syswrite($to, $piece, 65536, $sent) || exit }
        }
    }
}
