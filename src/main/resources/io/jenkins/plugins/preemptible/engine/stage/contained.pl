# Lets a stage live inside of a running container, with the rights that the container's own program gives.
# Nothing of the host's is left in a process when it becomes one of the container's: no descriptor, no right, no keyring.
# Arguments: architecture as Java names it, verb, its words
use strict;
use warnings;

my ($architecture, $verb) = (shift, shift);

my %NUMBERS = (
  amd64 => {
    ptrace => 101, setns => 308, unshare => 272, mount => 165, umount2 => 166, prctl => 157, capset => 126,
    seccomp => 317, prlimit64 => 302, setgroups => 116, setresgid => 119, setresuid => 117, keyctl => 250,
    setsid => 112, clone => 56, close => 3, open_tree => 428, move_mount => 429, openat2 => 437,
    memfd_create => 319, fcntl => 72, close_range => 436, getcwd => 79,
  },
  aarch64 => {
    ptrace => 117, setns => 268, unshare => 97, mount => 40, umount2 => 39, prctl => 167, capset => 91,
    seccomp => 277, prlimit64 => 261, setgroups => 159, setresgid => 149, setresuid => 147, keyctl => 219,
    setsid => 157, clone => 220, close => 57, open_tree => 428, move_mount => 429, openat2 => 437,
    memfd_create => 279, fcntl => 25, close_range => 436, getcwd => 17,
  },
);
my $numbers = $NUMBERS{$architecture} or die "preemptible: the calls of $architecture are not known\n";

use constant {
  NEWNS => 0x00020000, NEWIPC => 0x08000000, NEWPID => 0x20000000, CLONE_PARENT => 0x00008000, SIGCHLD => 17,
  MS_RDONLY => 1, MS_NOSUID => 2, MS_NODEV => 4, MS_NOEXEC => 8, MS_REMOUNT => 32, MS_NOATIME => 1024,
  MS_NODIRATIME => 2048, MS_BIND => 4096, MS_MOVE => 8192, MS_REC => 16384, MS_PRIVATE => 1 << 18,
  MS_RELATIME => 1 << 21, MNT_DETACH => 2,
  PR_SET_DUMPABLE => 4, PR_SET_KEEPCAPS => 8, PR_CAPBSET_READ => 23, PR_CAPBSET_DROP => 24,
  PR_SET_NO_NEW_PRIVS => 38, PR_CAP_AMBIENT => 47, PR_CAP_AMBIENT_RAISE => 2,
  CAPABILITIES_3 => 0x20080522, SECCOMP_SET_MODE_FILTER => 1, RLIMITS => 16,
  SEIZE => 0x4206, INTERRUPT => 0x4207, DETACH => 17, GET_FILTER => 0x420c, WALL => 0x40000000,
  OPEN_TREE_CLONE => 1, OPEN_TREE_CLOEXEC => 02000000, AT_EMPTY_PATH => 0x1000, MOVE_MOUNT_F_EMPTY_PATH => 4,
  O_RDWR => 2, O_PATH => 010000000, O_CLOEXEC => 02000000, RESOLVE_NO_SYMLINKS => 4, AT_FDCWD => -100, KEYCTL_JOIN_SESSION_KEYRING => 1, ENOENT => 2,
  MFD_CLOEXEC => 1, MFD_ALLOW_SEALING => 2, MFD_EXEC => 0x10, EINVAL => 22,
  F_ADD_SEALS => 1033, F_GET_SEALS => 1034, SEALED => 1 | 2 | 4 | 8, CHUNK => 1 << 20,
  LAST_NUMBER => 0xffffffff, LONGEST_PATH => 8192, NULL_DEVICE => 1 << 8 | 3, CAP_KILL => 5,
};

# Numbers are passed as they are, texts by their address.
sub try { my ($name, @words) = @_; return syscall($numbers->{$name}, @words) }

sub must {
  my ($name, @words) = @_;
  my $result = try($name, @words);
  if ($result == -1) { die "$name: $!\n" }
  return $result;
}

# The kernel writes into the text, which is therefore not copied.
sub fill { my $name = shift; syscall($numbers->{$name}, @_) != -1 or die "$name: $!\n" }

sub lines {
  my ($file) = @_;
  open(my $in, '<', $file) or die "$file: $!\n";
  my @lines = <$in>;
  chomp @lines;
  return @lines;
}

sub put {
  my ($file, $text) = @_;
  open(my $out, '>', $file) or die "$file: $!\n";
  syswrite($out, $text) or die "$file: $!\n";
  close($out) or die "$file: $!\n";
}

sub taken { my ($words) = @_; my $count = shift @$words; return splice(@$words, 0, $count) }

# ---- what is open

# Of this process, as long as its paths are the host's: the container's /proc shows what the container likes.
sub open_numbers {
  opendir(my $open, '/proc/self/fd') or die "/proc/self/fd: $!\n";
  my @numbers = grep { /^\d+$/ && $_ > 2 } readdir $open;
  closedir $open;
  return @numbers;
}

# The three stay with the command. Were one closed, a file that is opened below would get its number and stay as well.
sub require_three {
  for my $each (\*STDIN, \*STDOUT, \*STDERR) {
    my @seen = stat $each or die "one of the standard input, output and error is closed\n";
    if (-d _) { die "one of the standard input, output and error is a folder\n" }
  }
}

my @known;

# Before the first namespace is entered: a handle on a folder of the host is a way to the host's root, by a link of the container
# to /proc/self/fd/3/../.. for instance (CVE-2024-21626 of runc). So is a working folder.
sub leave_host {
  my ($process) = @_;
  close(delete $process->{folder});
  chdir('/') or die "/: $!\n";
  @known = open_numbers();
}

# Before anything of the container is resolved: all that is open beyond the three, but the number that is given.
sub close_all {
  my $kept = shift // 2;
  my @ranges = ([ 3, $kept - 1 ], [ $kept + 1, LAST_NUMBER ]);
  for my $range (grep { $_->[0] <= $_->[1] } @ranges) {
    my ($first, $last) = @$range;
    if (try('close_range', $first, $last, 0) == 0) { next }
    # Before Linux 5.9.
    try('close', 0 + $_) for grep { $_ >= $first && $_ <= $last } @known;
  }
}

# A folder is reached that is not below the root of this process: it is the host's.
sub require_inside {
  my $where = "\0" x LONGEST_PATH;
  fill('getcwd', $where, length $where);
  if ($where !~ m{^/}) { die "the working folder is outside of the container\n" }
}

# The container's own, which is no link: with the rights that this process still has, a link could lead to a file of the host.
sub without_words {
  my $how = pack('Q3', O_RDWR | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS);
  my $null = try('openat2', AT_FDCWD, '/dev/null', $how, length $how);
  if ($null == -1) { die "/dev/null of the container: $!\n" }
  open(my $device, '+<&=', $null) or die "/dev/null: $!\n";
  if (!-c $device || (stat _)[6] != NULL_DEVICE) { die "/dev/null of the container is none\n" }
  open(STDIN, '<&', $device) or die "/dev/null: $!\n";
  open(STDOUT, '>&', $device) or die "/dev/null: $!\n";
  open(STDERR, '>&', $device) or die "/dev/null: $!\n";
  close($device);
}

# ---- the copy of Perl

# Seals of a file; those of one that has none, on a disk for instance, are 0.
sub seals { my $seals = try('fcntl', fileno($_[0]), F_GET_SEALS, 0); return $seals == -1 ? 0 : $seals }

# Where a program of the container is a script for /proc/self/exe, the container's own loader gets the Perl that runs here,
# on the mount from which the host runs it, and could write into that file. So nothing is entered but by an anonymous copy
# that nobody can change any more. Its seals tell that it is the copy: a caller's word could not.
sub run_from_copy {
  open(my $perl, '<:raw', '/proc/self/exe') or die "/proc/self/exe: $!\n";
  if ((seals($perl) & SEALED) == SEALED) { return }
  my $name = 'perl';
  my $copy = try('memfd_create', $name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  # Before Linux 6.3 each such file can be executed, and the flag is not known.
  if ($copy == -1 && $! == EINVAL) { $copy = try('memfd_create', $name, MFD_CLOEXEC | MFD_ALLOW_SEALING) }
  if ($copy == -1) { die "no sealed copy of Perl: memfd_create: $!\n" }
  open(my $out, '>&=:raw', $copy) or die "no sealed copy of Perl: $!\n";
  my $read;
  while ($read = sysread($perl, my $part, CHUNK)) {
    if ((syswrite($out, $part) // -1) != $read) { die "no sealed copy of Perl: $!\n" }
  }
  if (!defined $read) { die "no sealed copy of Perl: $!\n" }
  must('fcntl', $copy, F_ADD_SEALS, SEALED);
  # All words, the text of this program among them, as they arrived.
  open(my $in, '<:raw', '/proc/self/cmdline') or die "/proc/self/cmdline: $!\n";
  local $/;
  my @words = split(/\0/, <$in>, -1);
  pop @words;
  no warnings 'exec';
  exec { "/proc/self/fd/$copy" } @words or die "the sealed copy of Perl cannot be run: $!\n";
}

# ---- namespaces

# The state and all that follows it, from the third field of the kernel's line on: the name before may hold anything.
sub fields { my ($at) = @_; return split ' ', join("\n", lines("$at/stat")) =~ s/.*\)//sr }

# A process that a caller knows by its number, its start and the boot: three words. Its folder stays open, so all that is read
# through that is of this process, and fails once it has ended, whichever process has its number by then.
sub process {
  my ($words) = @_;
  my ($pid, $ticks, $boot) = splice(@$words, 0, 3);
  open(my $folder, '<', "/proc/$pid") or die "the process $pid has ended\n";
  my $process = { pid => 0 + $pid, folder => $folder, at => '/proc/self/fd/' . fileno($folder) };
  my @fields = fields($process->{at});
  if ($fields[0] =~ /[ZX]/) { die "the process $pid has ended\n" }
  if ($fields[19] ne $ticks || (lines('/proc/sys/kernel/random/boot_id'))[0] ne $boot) {
    die "the process $pid is another one than the caller knows\n";
  }
  return $process;
}

# All of these that the kernel has. Were one left out, what enters would stay in the host's.
sub namespaces {
  my ($process, @names) = @_;
  my @open;
  for my $name (grep { -e "/proc/self/ns/$_" } @names) {
    my $file = "$process->{at}/ns/$name";
    open(my $in, '<', $file) or die "the $name namespace of the process $process->{pid} cannot be opened: $!\n";
    if ($name =~ /^(pid|mnt)$/ && readlink($file) eq readlink("/proc/self/ns/$name")) {
      die "the process $process->{pid} is in the caller's own $name namespace\n";
    }
    push @open, $in;
  }
  if (!@open) { die "this kernel has none of the namespaces @names\n" }
  return @open;
}

# They are of no use afterwards.
sub enter {
  for my $namespace (@_) {
    must('setns', fileno($namespace), 0);
    close($namespace);
  }
}

# The namespace of the process ids in which this process itself is, and in which its children are before it enters another one.
sub own_pids { open(my $own, '<', '/proc/self/ns/pid') or die "/proc/self/ns/pid: $!\n"; return $own }

# Before the namespaces, where the paths are the host's, and a freeze that happens now catches this process as well.
sub join_groups { put($_, '0') for @_ }

# No other process may look into this one while it has rights that it is about to lose.
sub hide { must('prctl', PR_SET_DUMPABLE, 0, 0, 0, 0) }

# The agent's keys.
sub leave_keyring { try('keyctl', KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0) }

# ---- rights

sub rights_of {
  my ($process) = @_;
  my $at = $process->{at};
  my %status = map { /^(\w+):\s*(.*)$/ ? ($1, $2) : () } lines("$at/status");
  my @rights;
  for my $ids ('Uid', 'Gid') {
    my @four = split ' ', $status{$ids};
    if (grep { $_ != $four[0] } @four) { die "a process of the container has several ids\n" }
    push @rights, lc($ids) . " $four[0]";
  }
  push @rights, "groups $status{Groups}", "bounding $status{CapBnd}", "inheritable $status{CapInh}";
  push @rights, "permitted $status{CapPrm}", "ambient $status{CapAmb}", "no_new_privs $status{NoNewPrivs}";
  push @rights, 'umask ' . ($status{Umask} // '0022');
  push @rights, 'oom_score_adj ' . (lines("$at/oom_score_adj"))[0];
  # In the order of their numbers. To ask the kernel for another user's needs one more capability than to read them.
  my @limits = map { /\s(\d+|unlimited)\s+(\d+|unlimited)\s/ ? [ $1, $2 ] : () } lines("$at/limits");
  if (@limits != RLIMITS) { die "the limits of a process of the container cannot be read\n" }
  push @rights, map { join(' ', 'rlimit', $_, map { $_ eq 'unlimited' ? ~0 : $_ } @{ $limits[$_] }) } 0 .. RLIMITS - 1;
  push @rights, map { 'filter ' . unpack('H*', $_) } filters_of($process, $status{Seccomp} // 0);
  my $folder = readlink("$at/cwd") // '/';
  push @rights, 'folder ' . unpack('H*', $folder);
  open(my $in, '<', "$at/environ") or die "environ: $!\n";
  local $/;
  push @rights, map { 'variable ' . unpack('H*', $_) } grep { !/^PREEMPTIBLE_PROBE=/ } split /\0/, <$in>;
  return @rights;
}

# The oldest first, as they have to be installed.
sub filters_of {
  my ($process, $mode) = @_;
  if ($mode == 0) { return () }
  if ($mode != 2) { die "a process of the container is under strict seccomp\n" }
  my $pid = $process->{pid};
  must('ptrace', SEIZE, $pid, 0, 0);
  # As long as it has not been collected, its number is no other one's.
  fields($process->{at});
  must('ptrace', INTERRUPT, $pid, 0, 0);
  waitpid($pid, WALL);
  my @filters;
  for (my $index = 0; ; $index++) {
    my $count = try('ptrace', GET_FILTER, $pid, $index, 0);
    if ($count == -1) {
      if ($! == ENOENT) { last }
      die "the container's seccomp filter cannot be read: $!\n";
    }
    my $filter = "\0" x (8 * $count);
    fill('ptrace', GET_FILTER, $pid, $index, $filter);
    unshift @filters, $filter;
  }
  try('ptrace', DETACH, $pid, 0, 0);
  return @filters;
}

sub read_rights {
  my ($file) = @_;
  my %rights = (groups => '', rlimits => [], filters => [], variables => []);
  for my $line (lines($file)) {
    my ($name, $value) = split / /, $line, 2;
    if ($name eq 'rlimit') { push @{ $rights{rlimits} }, [ split / /, $value ] }
    elsif ($name eq 'filter') { push @{ $rights{filters} }, pack('H*', $value) }
    elsif ($name eq 'variable') { push @{ $rights{variables} }, pack('H*', $value) }
    elsif ($name eq 'folder') { $rights{folder} = pack('H*', $value) }
    else { $rights{$name} = $value }
  }
  return \%rights;
}

sub has { my ($set, $capability) = @_; return (hex(substr($set, $capability < 32 ? 8 : 0, 8)) >> ($capability % 32)) & 1 }

sub halves { my ($set) = @_; return (hex(substr($set, 8)), hex(substr($set, 0, 8))) }

sub install_filters {
  for my $filter (@_) {
    my $program = pack('S x6 P', length($filter) / 8, $filter);
    must('seccomp', SECCOMP_SET_MODE_FILTER, 0, $program);
  }
}

# All capabilities but these. Root's next program has no others.
sub drop_bounding {
  my %kept = map { $_ => 1 } @_;
  for (my $capability = 0; try('prctl', PR_CAPBSET_READ, $capability, 0, 0, 0) >= 0; $capability++) {
    if (!$kept{$capability}) { must('prctl', PR_CAPBSET_DROP, $capability, 0, 0, 0) }
  }
}

# In runc's order, which a container's filter has to allow. Limits and ids first, what needs them last.
sub take_rights {
  my ($rights) = @_;
  put('/proc/self/oom_score_adj', $rights->{oom_score_adj});
  for my $limit (@{ $rights->{rlimits} }) {
    my $values = pack('QQ', $limit->[1], $limit->[2]);
    must('prlimit64', 0, 0 + $limit->[0], $values, 0);
  }
  drop_bounding(grep { has($rights->{bounding}, $_) } 0 .. 63);
  if (!$rights->{no_new_privs}) { install_filters(@{ $rights->{filters} }) }
  must('prctl', PR_SET_KEEPCAPS, 1, 0, 0, 0);
  my @groups = split ' ', $rights->{groups};
  my $list = pack('L*', @groups, 0);
  must('setgroups', scalar(@groups), $list);
  must('setresgid', (0 + $rights->{gid}) x 3);
  must('setresuid', (0 + $rights->{uid}) x 3);
  must('prctl', PR_SET_KEEPCAPS, 0, 0, 0, 0);
  hide();
  my ($low, $high) = halves($rights->{permitted});
  my ($inherits, $inherits_high) = halves($rights->{inheritable});
  my $header = pack('L l', CAPABILITIES_3, 0);
  my $sets = pack('L6', $low, $low, $inherits, $high, $high, $inherits_high);
  must('capset', $header, $sets);
  for my $capability (grep { has($rights->{ambient}, $_) } 0 .. 63) {
    must('prctl', PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, $capability, 0, 0);
  }
  if ($rights->{no_new_privs}) {
    must('prctl', PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    install_filters(@{ $rights->{filters} });
  }
}

sub become {
  my ($rights, $folder, $variables, @command) = @_;
  leave_keyring();
  try('setsid');
  chdir($folder) or die "$folder: $!\n";
  require_inside();
  umask(oct($rights->{umask}));
  %ENV = ();
  for my $variable (@{ $rights->{variables} }, @$variables) {
    my ($name, $value) = split /=/, $variable, 2;
    if (defined $value && length $name) { $ENV{$name} = $value }
  }
  take_rights($rights);
  no warnings 'exec';
  exec { $command[0] } @command or die "$command[0]: $!\n";
}

# ---- mounts

my %FLAGS = (
  ro => MS_RDONLY, nosuid => MS_NOSUID, nodev => MS_NODEV, noexec => MS_NOEXEC, noatime => MS_NOATIME,
  nodiratime => MS_NODIRATIME, relatime => MS_RELATIME,
);

sub flags { my $all = 0; $all |= $FLAGS{$_} // 0 for split /,/, shift; return $all }

sub mounts {
  my @mounts;
  for my $line (lines('/proc/self/mountinfo')) {
    my ($left, $right) = split / - /, $line, 2;
    my (undef, undef, undef, $root, $at, $options) = split / /, $left;
    my ($type, undef, $of_all) = split / /, $right;
    s/\\([0-7]{3})/chr(oct($1))/ge for $root, $at;
    push @mounts, { root => $root, at => $at, flags => flags($options), type => $type,
      data => join(',', grep { !/^r[ow]$/ } split(/,/, $of_all)) };
  }
  return @mounts;
}

# A /proc that shows the stage's own process ids, covered and read-only wherever the container's is.
# Built on a folder that is everywhere and not needed meanwhile.
sub own_proc {
  my @mounts = mounts();
  my ($proc) = grep { $_->{at} eq '/proc' && $_->{type} eq 'proc' } @mounts;
  if (!$proc) { die "the container has no /proc\n" }
  must('mount', 'proc', '/sys', 'proc', $proc->{flags}, $proc->{data});
  for my $cover (grep { $_->{at} =~ m{^/proc/} } @mounts) {
    my $own = $cover->{type} eq 'proc';
    my $from = $own ? "/sys$cover->{root}" : $cover->{at};
    my $to = '/sys' . substr($cover->{at}, length '/proc');
    must('mount', $from, $to, '', MS_BIND, 0);
    must('mount', '', $to, '', MS_BIND | MS_REMOUNT | $cover->{flags}, 0);
  }
  must('umount2', '/proc', MNT_DETACH);
  must('mount', '/sys', '/proc', '', MS_MOVE, 0);
}

# Of the container's terminals another process may have the same number when the stage is resumed.
sub own_terminals {
  my ($terminals) = grep { $_->{at} eq '/dev/pts' && $_->{type} eq 'devpts' } mounts();
  if (!$terminals) { return }
  must('mount', 'preemptible', '/sys', 'devpts', $terminals->{flags}, "newinstance,$terminals->{data}");
  must('umount2', '/dev/pts', MNT_DETACH);
  must('mount', '/sys', '/dev/pts', '', MS_MOVE, 0);
}

# ---- verbs: the first words of each name a process, see process

sub children { return split ' ', join(' ', lines("/proc/self/task/$$/children")) }

# Collects a child as long as it lives, with nothing of this process left but the right to ask for processes of other users.
# A child of what waits is none of the container's: the namespace is the own one again.
sub stay_for {
  my ($init, $text) = @_;
  drop_bounding(CAP_KILL);
  open(STDIN, '<', '/dev/null');
  open(STDOUT, '>', '/dev/null');
  open(STDERR, '>', '/dev/null');
  chdir('/');
  %ENV = ();
  exec('/bin/sh', '-c', $text, 'preemptible-restored', $init);
}

# Words: the container's first process, file of the rights, number of cgroup.procs files, these files, the text of
# restored.sh, the text of the init
sub start {
  my ($first, $file, @words) = @_;
  my $rights = read_rights($file);
  my @joins = taken(\@words);
  my ($restored, $init) = @words;
  my ($pids) = namespaces($first, 'pid');
  my @others = namespaces($first, 'net', 'uts', 'cgroup', 'mnt');
  my $own = own_pids();
  pipe(my $told, my $tell) or die "pipe: $!\n";
  leave_host($first);
  enter($pids);
  my $between = fork() // die "fork: $!\n";
  if ($between == 0) {
    eval {
      close($_) for $told, $own;
      join_groups(@joins);
      enter(@others);
      # Closed by the kernel as soon as the image's shell runs.
      close_all(fileno($tell));
      must('unshare', NEWIPC | NEWPID | NEWNS);
      if (must('clone', CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) != 0) { exit 0 }
      must('mount', '', '/', '', MS_REC | MS_PRIVATE, 0);
      own_proc();
      own_terminals();
      without_words();
      become($rights, '/', [], '/bin/sh', '-c', $init, 'preemptible-init');
    };
    syswrite($tell, $@);
    exit 1;
  }
  enter($own);
  close($_) for $tell, @others;
  my $why = join('', <$told>);
  waitpid($between, 0);
  my ($started) = children();
  if (length $why || !$started) { die length $why ? $why : "it was killed\n" }
  print "$started\n";
  stay_for($started, $restored);
}

# Words: the stage's init, file of the rights, number of cgroup.procs files, these files, working folder or '', number of
# variables, these as NAME=value, command
sub enter_stage {
  my ($init, $file, @words) = @_;
  my $rights = read_rights($file);
  my @joins = taken(\@words);
  my $folder = shift @words;
  my @variables = taken(\@words);
  if (!length $folder) { $folder = $rights->{folder} }
  my @all = namespaces($init, 'pid', 'ipc', 'net', 'uts', 'cgroup', 'time', 'mnt');
  leave_host($init);
  join_groups(@joins);
  enter(@all);
  close_all();
  my $child = fork() // die "fork: $!\n";
  if ($child == 0) {
    eval { become($rights, $folder, \@variables, @words) };
    print STDERR "preemptible: $@";
    exit 125;
  }
  waitpid($child, 0);
  exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
}

# A copy of one mount of the container, whose processes stand still: a link on the way could lead CRIU, which resolves it from
# the host's root, to a file of the host.
sub copy_of {
  my ($path) = @_;
  my $how = pack('Q3', O_PATH | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS);
  my $place = try('openat2', AT_FDCWD, $path, $how, length $how);
  if ($place == -1) { die "$path of the container: $!\n" }
  my $tree = must('open_tree', $place, '', OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
  open(my $seen, '<&=', $place) or die "$path of the container: $!\n";
  return { tree => $tree, folder => -d $seen };
}

sub attach {
  my ($copy, $at) = @_;
  must('move_mount', $copy->{tree}, '', AT_FDCWD, $at, MOVE_MOUNT_F_EMPTY_PATH);
}

# Words: the container's first process, number of cgroup.procs files, these files, number of the container's mounts, their
# mount points, empty folder for the container's root, empty folder for these mounts, which get their numbers as names, the
# text of restored.sh, file that is removed once CRIU has succeeded and ended, file with the init's process id, CRIU and its
# arguments
sub restore {
  my ($first, @words) = @_;
  my @joins = taken(\@words);
  my @paths = taken(\@words);
  my ($root, $all, $restored, $running, $pidfile, @criu) = @words;
  my ($pids) = namespaces($first, 'pid');
  my ($mounts) = namespaces($first, 'mnt');
  my @others = namespaces($first, 'net', 'uts', 'cgroup');
  my $own = own_pids();
  leave_host($first);
  enter($pids);
  my $criu = fork() // die "fork: $!\n";
  if ($criu == 0) {
    close($own);
    join_groups(@joins);
    leave_keyring();
    # A copy of the host's mounts, with the container's beside them.
    must('unshare', NEWNS);
    must('mount', '', '/', '', MS_REC | MS_PRIVATE, 0);
    open(my $here, '<', '/proc/self/ns/mnt') or die "/proc/self/ns/mnt: $!\n";
    enter($mounts);
    my $top = copy_of('/');
    my @copies = map { copy_of($_) } @paths;
    enter($here);
    must('mount', 'preemptible', $all, 'tmpfs', 0, 'mode=0700,size=1m');
    for my $number (0 .. $#copies) {
      my $at = "$all/$number";
      if ($copies[$number]{folder}) { mkdir($at) or die "$at: $!\n" }
      else { open(my $file, '>', $at) or die "$at: $!\n" }
      attach($copies[$number], $at);
    }
    attach($top, $root);
    enter(@others);
    close_all();
    chdir('/') or die "/: $!\n";
    must('mount', 'proc', '/proc', 'proc', 0, 0);
    open(STDOUT, '>&', \*STDERR);
    exec { $criu[0] } @criu or die "$criu[0]: $!\n";
  }
  enter($own);
  close($_) for $mounts, @others;
  waitpid($criu, 0);
  if ($?) { exit($? & 127 ? 128 + ($? & 127) : $? >> 8) }
  my ($init) = children();
  # CRIU has written it as the container numbers it.
  put($pidfile, $init // 0);
  $| = 1;
  $SIG{PIPE} = 'IGNORE';
  print "restored\n";
  unlink($running) or exit 1;
  if (defined $init) { stay_for($init, $restored) }
}

eval {
  hide();
  # What is open beyond the three is the caller's.
  try('close', 0 + $_) for open_numbers();
  require_three();
  if ($verb ne 'rights') { run_from_copy() }
  my $process = process(\@ARGV);
  if ($verb eq 'rights') { print map { "$_\n" } rights_of($process) }
  elsif ($verb eq 'start') { start($process, @ARGV) }
  elsif ($verb eq 'enter') { enter_stage($process, @ARGV) }
  elsif ($verb eq 'restore') { restore($process, @ARGV) }
  else { die "no verb $verb\n" }
};
if ($@) {
  print STDERR "preemptible: $@";
  exit 125;
}
