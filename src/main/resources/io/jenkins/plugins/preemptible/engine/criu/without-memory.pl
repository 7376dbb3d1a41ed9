# Becomes criu, which leaves out the memory that a restore could ask for page by page. Arguments: criu and its own.
# criu would hand that memory out over a socket before it ends. The one that it gets has its other end closed already:
# nobody can ask, also nobody else on this host.
use strict;
use warnings;
use Fcntl qw(F_SETFD);
use Socket qw(AF_UNIX SOCK_STREAM PF_UNSPEC);

socketpair(my $own, my $other, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die "socketpair: $!\n";
close($other);
fcntl($own, F_SETFD, 0) or die "fcntl: $!\n";
exec { $ARGV[0] } @ARGV, '--lazy-pages', '--ps-socket', fileno($own);
die "$ARGV[0]: $!\n";
