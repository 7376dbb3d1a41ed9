# Makes copies of processes that hold their memory as it is at one moment, as fork(2) does. x86-64 Linux.
#
# Arguments: a file of the freezer, and the word that thaws. Its input is lines of words:
#   copy BIG ... - OTHER ...   host process ids: these are copied, those only held still meanwhile; all are frozen
#   done                       or the end of the input, with which the copies end
# It answers "ready", then "copied PID=COPY ..." when the stage runs again, or "no WHY" and ends; the stage then has
# no trace of it, and is frozen or runs.
#
# Each task is stopped by ptrace(2) before the freezer lets go of it, so nothing runs in between. A process that is copied
# forks a child that closes all files and forks again, sharing its memory; the first child ends and is collected within the
# process, so the copy belongs to the stage's init. No signal tells of either, and no other memory or file is touched.
# A SIGSTOP cannot be held back: one that comes meanwhile is sent again at the end.
# A copy is killed by the kernel when this process ends.
use strict;
use warnings;
no warnings "portable";

use constant {
    SEIZE => 0x4206, INTERRUPT => 0x4207, GETREGS => 12, SETREGS => 13, SYSCALL => 24, CONT => 7, DETACH => 17,
    SETOPTIONS => 0x4200, GETEVENTMSG => 0x4201, GETSIGMASK => 0x420a, SETSIGMASK => 0x420b, GETRSEQ => 0x420f,
};
# Options and events of ptrace(2).
use constant { SYSGOOD => 1, TRACECLONE => 8, EXITKILL => 0x100000, EVENT_CLONE => 3, EVENT_STOP => 128 };
use constant { NR_PTRACE => 101, NR_WAIT4 => 61, NR_CLONE => 56, NR_EXIT_GROUP => 231, NR_CLOSE_RANGE => 436 };
use constant { WNOHANG => 1, WALL => 0x40000000, TRAP => 5, SIGCONT => 18, SIGSTOP => 19 };
# A result of a system call that a signal has interrupted, and that the kernel would begin anew.
use constant { ERESTARTNOINTR => -513, MOST_TRIES => 10 };
# Of struct user_regs_struct.
use constant { R10 => 7, R9 => 8, R8 => 9, RAX => 10, RDX => 12, RSI => 13, RDI => 14, ORIG_RAX => 15, RIP => 16, CS => 17, RSP => 19 };

my ($freezer, $thawed) = @ARGV;
my (%stopped, %copies, %kept);

sub ptrace {
    # The last one itself, not a copy of it: the kernel may write there.
    return syscall(NR_PTRACE, $_[0] + 0, $_[1] + 0, $_[2] + 0, $_[3]);
}

# Waits until a task stops, and returns what stopped it: the signal, and the event above it.
sub stop {
    my ($pid) = @_;
    my $status = pack('l', 0);
    for (my $polls = 0; $polls < 20_000; $polls++) {
        my $got = syscall(NR_WAIT4, $pid + 0, $status, WALL | WNOHANG, 0);
        if ($got == $pid) {
            my $is = unpack('l', $status);
            die "process $pid ended\n" if ($is & 0xff) != 0x7f;
            return $is >> 8;
        }
        die "process $pid is gone\n" if $got < 0;
        select(undef, undef, undef, $polls < 200 ? 0.00002 : 0.0002);
    }
    die "process $pid does not stop\n";
}

sub stop_at {
    my ($pid, $expected) = @_;
    my $is = stop($pid);
    die sprintf("process %d stopped for %x, not for %x\n", $pid, $is, $expected) if $is != $expected;
}

sub registers {
    my ($pid) = @_;
    my $raw = "\0" x 216;
    ptrace(GETREGS, $pid, 0, $raw) == 0 or die "the registers of $pid: $!\n";
    return unpack('q27', $raw);
}

sub set_registers {
    my ($pid, @registers) = @_;
    my $raw = pack('q27', @registers);
    ptrace(SETREGS, $pid, 0, $raw) == 0 or die "the registers of $pid: $!\n";
}

# Lets a task run to its next stop. One for a SIGSTOP, or one that tells of a SIGCONT, is passed by.
sub run {
    my ($pid) = @_;
    while (1) {
        ptrace(SYSCALL, $pid, 0, 0) == 0 or die "process $pid: $!\n";
        my $is = stop($pid);
        return $is if $is != SIGSTOP && $is != (TRAP | EVENT_STOP << 8);
        $kept{$pid} = 1 if $is == SIGSTOP;
    }
}

# Lets a stopped task make one system call, and returns its result and the child that it made, as its number here.
sub call {
    my ($pid, $instruction, $template, $number, @arguments) = @_;
    my @registers = @$template;
    $registers[RAX] = $number;
    $registers[ORIG_RAX] = -1;
    $registers[RIP] = $instruction;
    # A task that got away from here ends at its next instruction.
    $registers[RSP] = 0;
    push @arguments, 0 while @arguments < 6;
    @registers[RDI, RSI, RDX, R10, R8, R9] = @arguments;
    for (my $tries = 1; ; $tries++) {
        set_registers($pid, @registers);
        my $is = run($pid);
        die sprintf("process %d stopped for %x before a call\n", $pid, $is) if $is != (TRAP | 0x80);
        my $child = 0;
        $is = run($pid);
        if ($is == (TRAP | EVENT_CLONE << 8)) {
            my $message = pack('Q', 0);
            ptrace(GETEVENTMSG, $pid, 0, $message) == 0 or die "process $pid: $!\n";
            $child = unpack('Q', $message);
            $is = run($pid);
        }
        die sprintf("process %d stopped for %x in a call\n", $pid, $is) if $is != (TRAP | 0x80);
        my $result = (registers($pid))[RAX];
        return ($result, $child) if $result != ERESTARTNOINTR || $tries == MOST_TRIES;
    }
}

sub memory {
    my ($pid, $address, $length) = @_;
    open(my $memory, '<:raw', "/proc/$pid/mem") or die "the memory of $pid: $!\n";
    sysseek($memory, $address, 0);
    my $read = sysread($memory, my $bytes, $length);
    return defined $read ? $bytes : '';
}

# The address of a system call instruction: the vDSO has some, as has each C library.
sub instruction {
    my ($pid) = @_;
    open(my $maps, '<', "/proc/$pid/maps") or die "the mappings of $pid: $!\n";
    my @code = grep { /^\S+ r-x/ && !/vsyscall/ } <$maps>;
    for my $line ((grep { /\[vdso\]/ } @code), (grep { !/\[vdso\]/ } @code)) {
        my ($from, $to) = map { hex } $line =~ /^([0-9a-f]+)-([0-9a-f]+)/;
        my $at = index(memory($pid, $from, $to - $from > 4 << 20 ? 4 << 20 : $to - $from), "\x0f\x05");
        return $from + $at if $at >= 0;
    }
    die "process $pid has no system call\n";
}

# A restartable sequence that is cut off here would not be begun anew: rseq(2).
sub refuse_sequence {
    my ($pid, $ip) = @_;
    my $rseq = "\0" x 24;
    my $got = ptrace(GETRSEQ, $pid, 24, $rseq);
    my $area = $got > 0 ? unpack('Q', $rseq) : 0;
    return if !$area;
    my $sequence = unpack('Q', memory($pid, $area + 8, 8) . "\0" x 8);
    return if !$sequence;
    my ($start, $length) = unpack('x8QQ', memory($pid, $sequence, 32) . "\0" x 32);
    die "process $pid is in a restartable sequence\n" if $ip >= $start && $ip < $start + $length;
}

sub copy {
    my ($pid) = @_;
    my @own = registers($pid);
    die "process $pid is not a 64-bit one\n" if $own[CS] != 0x33;
    refuse_sequence($pid, $own[RIP]);
    my $instruction = instruction($pid);
    my $mask = "\0" x 8;
    ptrace(GETSIGMASK, $pid, 8, $mask) == 0 or die "the signals of $pid: $!\n";
    my $all = "\xff" x 8;
    my ($first, $inside, $copy, $why) = (0, 0, 0, undef);
    eval {
        ptrace(SETSIGMASK, $pid, 8, $all) == 0 or die "the signals of $pid: $!\n";
        ($inside, $first) = call($pid, $instruction, \@own, NR_CLONE, 0);
        die "process $pid cannot fork: $inside\n" if $inside <= 0 || !$first;
        eval {
            stop_at($first, TRAP | EVENT_STOP << 8);
            my ($closed) = call($first, $instruction, \@own, NR_CLOSE_RANGE, 0, 0xffffffff, 0);
            die "its files cannot be closed: $closed\n" if $closed != 0;
            # CLONE_VM: the memory is copied once.
            my ($second, $host) = call($first, $instruction, \@own, NR_CLONE, 0x100);
            die "the copy of $pid cannot fork: $second\n" if $second <= 0 || !$host;
            $copy = $host;
            $copies{$copy} = 1;
            stop_at($copy, TRAP | EVENT_STOP << 8);
            ptrace(SETOPTIONS, $copy, 0, EXITKILL) == 0 or die "process $copy: $!\n";
        };
        $why = $@;
        # Also after a failure: it must not stay.
        kill 9, $first;
        my $status = pack('l', 0);
        for (my $polls = 0; $polls < 20_000; $polls++) {
            my $got = syscall(NR_WAIT4, $first + 0, $status, WALL | WNOHANG, 0);
            last if $got < 0 || ($got == $first && (unpack('l', $status) & 0xff) != 0x7f);
            select(undef, undef, undef, 0.00002);
        }
        my ($collected) = call($pid, $instruction, \@own, NR_WAIT4, $inside, 0, WALL | WNOHANG, 0);
        die "the first child of $pid stays\n" if $collected != $inside;
        die $why if $why;
    };
    $why = $@;
    # At a stop like the one that it was found at, so that the kernel restarts what was interrupted.
    ptrace(INTERRUPT, $pid, 0, 0);
    if (ptrace(CONT, $pid, 0, 0) == 0) {
        stop_at($pid, TRAP | EVENT_STOP << 8);
    }
    set_registers($pid, @own);
    ptrace(SETSIGMASK, $pid, 8, $mask) == 0 or die "the signals of $pid: $!\n";
    die $why if $why;
    if (open(my $score, '>', "/proc/$copy/oom_score_adj")) {
        syswrite($score, '1000');
    }
    return $copy;
}

sub tasks {
    my ($pid) = @_;
    opendir(my $folder, "/proc/$pid/task") or die "the threads of $pid: $!\n";
    return grep { /^\d+$/ } readdir($folder);
}

sub copy_all {
    my ($words) = @_;
    my ($big, $others) = map { [split ' '] } split(/-/, $words, 2);
    my @tasks = map { tasks($_) } @$big, @{ $others || [] };
    for my $task (@tasks) {
        ptrace(SEIZE, $task, 0, SYSGOOD | TRACECLONE) == 0 or die "process $task: $!\n";
        ptrace(INTERRUPT, $task, 0, 0) == 0 or die "process $task: $!\n";
    }
    open(my $group, '>', $freezer) or die "$freezer: $!\n";
    syswrite($group, $thawed) or die "$freezer: $!\n";
    for my $task (@tasks) {
        stop_at($task, TRAP | EVENT_STOP << 8);
        $stopped{$task} = 1;
    }
    return join ' ', map { $_ . '=' . copy($_) } @$big;
}

# Whether a SIGCONT waits for a process, which takes an earlier SIGSTOP back.
sub continued {
    my ($pid) = @_;
    open(my $status, '<', "/proc/$pid/status") or return 1;
    return scalar grep { /^(?:SigPnd|ShdPnd):\s*([0-9a-f]+)/ && hex($1) >> (SIGCONT - 1) & 1 } <$status>;
}

sub let_go {
    for my $pid (grep { $stopped{$_} && !continued($_) } keys %kept) {
        kill SIGSTOP, $pid;
    }
    %kept = ();
    ptrace(DETACH, $_, 0, 0) for keys %stopped;
    %stopped = ();
}

$SIG{$_} = 'IGNORE' for qw(PIPE HUP INT TERM QUIT);
$| = 1;
if (open(my $score, '>', '/proc/self/oom_score_adj')) {
    syswrite($score, '-1000');
}
print "ready\n";
while (my $line = <STDIN>) {
    last if $line !~ /^copy (.*)/;
    my $copied = eval { copy_all($1) };
    my $why = $@;
    let_go();
    if (defined $copied) {
        print "copied $copied\n";
    } else {
        print "no $why";
        last;
    }
}
for my $copy (keys %copies) {
    kill 9, $copy;
    my $status = pack('l', 0);
    syscall(NR_WAIT4, $copy + 0, $status, WALL, 0);
}
