package io.jenkins.plugins.preemptible.engine.api;

/**
 * Why a stage cannot be started, suspended or resumed.
 *
 * <ol>
 *   <li>The constant is for programs: it goes into JSON and build logs as it is.
 *   <li>{@link #sentence} is for people, without the final stop, so that a detail can follow it.
 *   <li>{@link #remedy} says what the reader can do about it, and {@link #passing} whether trying again later may help.
 * </ol>
 *
 * One table, longer than other files. docs/preflight.md lists what the preflight finds; a test compares it with this.
 */
public enum FailureReason {
    UNKNOWN_STAGE(
            "There is no stage of this id on this host", "List the stages of this host, and use the same home folder"),
    STAGE_ENDED(
            "The stage has ended already",
            "Nothing is left to suspend or to enter; start it anew if it has to run again"),
    STAGE_RUNS("The stage is running already", "Suspend or kill it first"),
    STAGE_SUSPENDED("The stage is suspended", "Resume it first"),
    STAGE_BUSY("The stage is being suspended or resumed by another process", "Try again when that has ended"),
    KILLED("The stage was killed", "Start it anew if it has to run again"),
    NO_CHECKPOINT("No dump of the stage waits to be committed or thawed", "Dump it first"),
    BAD_FOLDER(
            "The folder for the image does not exist or cannot be written to",
            "Name an existing folder that this user may write to"),
    BAD_SPEC("The stage cannot be started as described", "Correct the named thing"),
    ENTERING(
            "A process with a parent outside of the stage is in it or just entering it",
            "Try again when what was started in the stage has left its launcher"),
    KERNEL_WAIT(
            "A process of the stage waits inside the kernel, for a disk, a network file system or a child that is just being started",
            "Try again later"),
    OBJECTION("The stage must not be suspended now", "It keeps running; try again later"),
    TRACED(
            "A process of the stage is being traced (strace, gdb or another debugger), and the kernel allows one tracer only",
            "Run the stage without the tracer",
            true),
    PENDING_TRAP(
            "A SIGTRAP that a process of the stage has blocked waits for it, and CRIU cannot tell it from a debugger's",
            "Try again when the process has taken the signal"),
    CONNECTED_TCP(
            "A process of the stage holds a TCP connection to the outside",
            "Let the stage close its connections, or let it run to its end"),
    ABANDONED_TCP(
            "A process of the stage still has a TCP connection whose other end was closed, and no process has that any more",
            "Let the process close its end, or let it run to its end"),
    OUTSIDE_FILE(
            "A process of the stage holds a pipe, socket or file of a process outside of the stage",
            "Start the other process inside the stage, or redirect to a file",
            true),
    FILE_LOCKS(
            "A process of the stage holds a file lock that cannot be carried over",
            "Let the stage release the lock first"),
    DELETED_FILE_TOO_LARGE(
            "A process of the stage keeps a deleted file open that is too large for the image",
            "Keep such files named, or smaller"),
    IO_URING("A process of the stage uses io_uring, which CRIU cannot dump", "Switch io_uring off in that tool", true),
    UNSUPPORTED(
            "A process of the stage uses something that CRIU cannot carry over",
            "The lines of CRIU say what it is; let the stage run to its end, or avoid it",
            true),
    PATH_MISSING(
            "A file or folder that the stage had open is missing or has changed",
            "Restore the workspace to what it was, then resume again"),
    PID_TAKEN("A process id of the stage is taken on this host", "Resume again"),
    NO_SPACE(
            "There is no space left where the image has to go", "Free some space there; the stage's memory has to fit"),
    NO_RIGHTS(
            "The rights of this user do not suffice",
            "Run as root, or have the administrator set up the privileged part"),
    NO_ANSWER(
            "The privileged part of this host cannot be used",
            "Let an administrator check sudo and its rule for this user, or call 'preempt install-helper' again"),
    CRIU_MISSING(
            "CRIU was not found on this host",
            "Run .ci/setup in a checkout of this project, or install criu 4.2 or newer"),
    CRIU_UNUSABLE(
            "The installed CRIU does not work with this kernel",
            "Run .ci/setup in a checkout of this project, which builds a newer one"),
    NO_FREEZER(
            "Neither a cgroup freezer nor signals could freeze the stage",
            "Mount a cgroup hierarchy with a freezer that this user may write to"),
    LAUNCH_FAILED("The stage's namespaces could not be set up", "Run the check command, which names what is missing"),
    IMAGE_MISSING("The image file does not exist", "Name the file that the suspension wrote"),
    IMAGE_OUTDATED(
            "The image is older than the last suspension of the stage", "Resume the image of the last suspension"),
    ELSEWHERE(
            "The stage has a command of its own whose output and exit code belong to another home folder",
            "Resume it with the home folder that it was started with"),
    IMAGE_UNUSABLE("The image cannot be used", "Use the image as it was written, with the key it was sealed with"),
    FROZEN_SHARE(
            "The stage cannot be dumped, and frozen it would hold more of the host's memory than such stages may",
            "Try again when another such stage has resumed, or raise their share"),
    CRIU_FAILED("CRIU failed", "The lines of CRIU say why; a report with them is welcome"),
    CRIU_KILLED("CRIU was killed while it worked", "Try again; when the kernel did it, give the host more memory"),
    GOES_ON("The stage was asked to run again while it was being suspended", "Suspend it again if it has to stop"),
    USERFAULTFD(
            "A process of the stage serves its own page faults (userfaultfd), which CRIU cannot dump",
            "Switch that off in the tool (in QEMU: post-copy migration)",
            true),
    PERF_EVENT(
            "A process of the stage holds a performance counter of the kernel (perf), which CRIU cannot dump",
            "Run the stage without perf, or with a profiler that works by signals",
            true),
    BPF(
            "A process of the stage holds a BPF map, program or link, which CRIU cannot dump",
            "Run what needs BPF outside of the stage",
            true),
    KVM_DEVICE(
            "A process of the stage holds a virtual machine of KVM, whose state is in the kernel",
            "Let the emulator work without KVM (in QEMU: -accel tcg)",
            true),
    FUSE_DEVICE("A process of the stage serves a FUSE file system", "Mount it outside of the stage", true),
    GPU_DEVICE(
            "A process of the stage holds a GPU, whose memory CRIU cannot dump",
            "Run that part on the CPU, or in a stage that is not preemptible",
            true),
    DEVICE(
            "A process of the stage has a device file open whose state is in the hardware or the kernel",
            "Let the stage use a plain file in its place, or open the device only for a short time",
            true),
    TUN_DEVICE(
            "A process of the stage holds a TUN or TAP network interface of the host",
            "Use a network in user space (in QEMU: -netdev user)",
            true),
    PENDING_CONNECTION(
            "A connection to the stage was not accepted yet, and CRIU cannot carry it over", "Try again in a moment"),
    MIXED_CONNECTIONS(
            "The stage has TCP connections to the outside and others between its own processes, and CRIU can only cut all or none",
            "Let the stage use unix sockets inside, or close its connections to the outside"),
    TCP_INSIDE(
            "The stage has TCP connections between its own processes, and CRIU may carry those over only where the agent's"
                    + " process is root",
            "Let the stage use unix sockets or pipes inside, or let it close them"),
    UNIX_SOCKET_OUTSIDE(
            "A process of the stage is connected by a unix socket to a process outside of the stage",
            "Start that daemon inside the stage, or let the stage close the connection"),
    PIPE_OUTSIDE(
            "A pipe of the stage has its other end in a process outside of the stage",
            "Start the other process inside the stage, or redirect to a file",
            true),
    FIFO_OUTSIDE(
            "A FIFO that the stage has open is also open in a process outside of the stage",
            "Start the other process inside the stage, or put the FIFO into the stage's own /tmp"),
    SHARED_MEMORY_OUTSIDE(
            "Memory of the stage is shared with a process outside of the stage",
            "Start the other process inside the stage, or share a named file",
            true),
    TERMINAL_OUTSIDE(
            "A process of the stage has a terminal open that belongs to a process outside of the stage",
            "Run it under 'script' inside the stage, or without a terminal",
            true),
    PIDFD_OUTSIDE(
            "A process of the stage holds a handle (pidfd) of a process outside of the stage",
            "Start the other process inside the stage",
            true),
    NESTED_CONTAINER(
            "A process of the stage lives in namespaces of its own, as in a container, and CRIU cannot dump one inside the other",
            "Let the stage work without a container or sandbox of its own, or start the container outside",
            true),
    NETWORK_NAMESPACE(
            "A process of the stage lives in a network namespace of its own, which CRIU cannot restore",
            "Let the stage use the host's network (bubblewrap: no --unshare-net)",
            true),
    FANOTIFY(
            "A process of the stage watches or guards the host's files by fanotify, so that a frozen stage would miss events or block others",
            "Use inotify, which is carried over",
            true),
    ESCAPED(
            "A process of the stage has left the stage's control group or its process tree, so that it can be neither frozen nor dumped with it",
            "Keep the stage's processes in its control group; start nothing in its namespaces by nsenter",
            true),
    NO_MEMORY(
            "There is not enough memory for the image, whose folder is in memory (tmpfs)",
            "Put the home folder on a disk, or free some memory"),
    SOCKET_KIND(
            "A process of the stage has a socket of a kind that CRIU cannot dump",
            "Let the stage use TCP, UDP or unix sockets",
            true),
    MPTCP(
            "A process of the stage has a multipath TCP socket, which CRIU cannot dump",
            "Use plain TCP (in Go programs: GODEBUG=multipathtcp=0)",
            true),
    UNREAD_NETLINK("A process of the stage has not read all messages of its netlink socket", "Try again in a moment"),
    UNREAD_INOTIFY(
            "A process of the stage has not read all events of its inotify descriptor, and CRIU would drop them",
            "Try again in a moment"),
    UNREAD_DATAGRAMS(
            "A process of the stage has not read all datagrams of its UDP socket, and CRIU would drop them",
            "Try again in a moment"),
    SECRET_MEMORY(
            "A process of the stage holds secret memory (memfd_secret), which not even the kernel may read",
            "Switch that off in the tool",
            true),
    SECCOMP_NOTIFY(
            "A process of the stage decides on the system calls of others (seccomp user notification)",
            "Let the stage work without that sandbox",
            true),
    LANDLOCK(
            "A process of the stage holds a set of Landlock rules, which CRIU cannot dump",
            "Try again when its sandbox is set up, or let the stage work without it"),
    DMA_BUFFER("A process of the stage holds a buffer of a device (DMA-BUF)", "Run that part on the CPU", true),
    MOUNT_HANDLE("A process of the stage holds a file system that is just being mounted", "Try again in a moment"),
    MOUNT_UNREACHABLE(
            "A file system of the host is mounted in the stage below a folder that is gone or that the agent's user may not"
                    + " enter any more, and CRIU could not mount it again",
            "Make that folder again, or let the user enter it (chmod o+x)"),
    MESSAGE_QUEUE(
            "A process of the stage has a POSIX message queue open, which CRIU cannot dump",
            "Use a System V queue, a FIFO or a unix socket",
            true),
    DEAD_LEADER(
            "The first thread of a process of the stage has ended while others run on, which CRIU cannot dump",
            "Let the program's main function wait for its threads",
            true),
    LINKED_ELSEWHERE(
            "A process of the stage has a deleted file open that still has another name, and CRIU cannot restore it",
            "Let the stage open the file by its other name, or remove that as well"),
    CORKED_SOCKET(
            "A UDP socket of the stage still collects a datagram (UDP_CORK), and CRIU cannot carry it over",
            "Try again when the datagram was sent"),
    COVERED_FILE(
            "A process of the stage has a file open to which its path does not lead: something is mounted over it, its file system was unmounted, or it was deleted and has another name",
            "Unmount what covers the file, or let the stage close it"),
    CRIU_TOO_OLD(
            "This host's CRIU is too old for what the stage needs: TCP connections between its own processes take version 3.19",
            "Install CRIU 3.19 or newer on the agent's host, or let the stage use unix sockets or pipes inside"),
    BUSY_CONNECTION(
            "Data is under way on a TCP connection inside of the stage, and this host cannot hold it back while the stage is dumped",
            "Install libnftables (Debian: libnftables1), or try again when the connection is idle"),
    ADDRESS_TAKEN(
            "A network address that the stage uses is taken on this host",
            "End the process that has it, or wait a minute if it was the stage's own, then resume again"),
    OTHER_PROCESSOR(
            "The image comes from a host with another processor, and the stage's programs cannot run here",
            "Resume it on a host whose processor has the same features or more",
            true),
    EVENTFD_SEMAPHORE(
            "A process of the stage uses an eventfd as a semaphore (EFD_SEMAPHORE), which CRIU would restore as a plain counter",
            "Use a semaphore of POSIX or System V, or a pipe",
            true),
    DELETED_WATCH(
            "A process of the stage watches a deleted file (inotify), which CRIU would not watch again",
            "Let the stage close the deleted file, or end the watch"),
    PERSONALITY(
            "A process of the stage runs as on another kernel or machine (personality), which CRIU would not restore",
            "Run it without setarch, linux32 or the like",
            true),
    SHARED_FOLDER(
            "Two processes of the stage share one working folder and umask (CLONE_FS), which CRIU cannot dump",
            "Let the program use threads, or processes by fork",
            true),
    OTHER_USER(
            "A process of the stage belongs to another user or group, and without CAP_SYS_RESOURCE CRIU cannot read its limits",
            "Give the agent CAP_SYS_RESOURCE (containers: --cap-add SYS_RESOURCE), or run the whole stage as one user",
            true),
    MEMORY_ONLY(
            "This host keeps suspended stages in memory only and makes no images",
            "Images are made where an administrator ran install-helper with --checkpoints, or the agent's process runs as root,"
                    + " with CRIU, and without PREEMPTIBLE_CHECKPOINTS=off; let an agent be root only where all its jobs are"
                    + " trusted",
            true),
    MEMORY_SHORT(
            "The host has less free memory than the floor and keeps suspended stages in memory only",
            "Free some memory, or lower the floor"),
    STOP_TOO_LONG(
            "The stage would stand still for too long while it is checkpointed",
            "Let less of its workspace change at a time"),
    UNPACKABLE_FILES(
            "The stage's workspace holds something that cannot be copied: a device, another file system, or too many or too large files",
            "Keep it outside of the workspace, where each agent has the same",
            true),
    NOT_RESTORABLE(
            "The image of the stage was tried beside its frozen processes and cannot be restored, so they were not killed",
            "Nothing of the stage is lost: it is resumed from memory. Until then, do not restart its host; the line of CRIU says"
                    + " what to avoid"),
    TRIAL_TIMEOUT(
            "The image of the stage was tried beside its frozen processes, and CRIU was not through in time, so they were not"
                    + " killed",
            "Nothing of the stage is lost: it is resumed from memory, or its image is made again. Until then, do not restart its host. A host"
                    + " with less to do may be in time; where it never is, PREEMPTIBLE_TIME_FACTOR=10 in the agent's environment"
                    + " gives it ten times as long, and PREEMPTIBLE_TRIAL=off switches trials off"),
    CONTAINER(
            "Steps of the stage run in a container, which can be frozen but not dumped",
            "Run it outside of containers, or have it frozen for a time where an administrator has chosen freeze-only",
            true),
    CONTAINER_UNREACHABLE(
            "Steps of the stage run in a container that the agent cannot freeze",
            "Let the agent's process use Docker or Podman on its own host",
            true),
    CONTAINER_NOT_PAUSED("A container of the stage could not be paused", "Try again later"),
    CONTAINER_NOT_ENTERED(
            "The agent does not start a stage inside of this container, so what runs there can be frozen but not dumped",
            "Remove what it names, or have the stage frozen for a time where an administrator has chosen freeze-only",
            true),
    CONTAINER_GONE(
            "The container in which the stage lived has ended, and the stage can be resumed nowhere else",
            "Run the stage again; let nothing stop the container of a suspended stage",
            true);

    private final String sentence;
    private final String remedy;
    private final boolean passing;

    FailureReason(String sentence, String remedy) {
        this(sentence, remedy, false);
    }

    FailureReason(String sentence, String remedy, boolean lasting) {
        this.sentence = sentence;
        this.remedy = remedy;
        this.passing = !lasting;
    }

    /**
     * Whether the cause usually passes while the same processes run, so that trying again later may help. False: the
     * cause usually stays as long as the process that has it.
     */
    public boolean passing() {
        return passing;
    }

    public String sentence() {
        return sentence;
    }

    public String remedy() {
        return remedy;
    }
}
