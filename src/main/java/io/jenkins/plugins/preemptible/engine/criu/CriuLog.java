package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * What a log of CRIU means.
 *
 * <ol>
 *   <li>Its lines of level error decide; those that CRIU prints on a run that succeeds are left out.
 *   <li>The first rule that fits any such line gives the reason; specific rules come before general ones.
 *   <li>No rule fits: {@link FailureReason#CRIU_FAILED}; the lines say why.
 * </ol>
 *
 * Pure; source of the wordings: CRIU 4.2.1.
 *
 * @param decisive at most twelve lines, in the log's order
 */
public record CriuLog(FailureReason reason, List<String> decisive) {

    private static final int MOST_LINES = 12;
    /** Without root's rights it says these at each dump, while it probes what the kernel can do. */
    private static final Pattern HARMLESS = Pattern.compile(
            "Can't setup RLIMIT_NOFILE for self|tun: Unable to create tun: |net: Unexpected error: -1\\(");

    private record Rule(Pattern line, FailureReason reason) {}

    private static Rule rule(String line, FailureReason reason) {
        return new Rule(Pattern.compile(line, Pattern.CASE_INSENSITIVE), reason);
    }

    private static final List<Rule> RULES = List.of(
            rule("No space left on device|Disk quota exceeded", FailureReason.NO_SPACE),
            rule("Unseizable non-zombie .*state D", FailureReason.KERNEL_WAIT),
            rule("Can't make FS id for", FailureReason.SHARED_FOLDER),
            rule("Can't get rlimit \\d+: Operation not permitted", FailureReason.OTHER_USER),
            rule("Zombies? (with )?threads? .*not supported", FailureReason.DEAD_LEADER),
            rule("pending SIGTRAP", FailureReason.PENDING_TRAP),
            rule("Unseizable|found while seizing|is being traced|already traced", FailureReason.TRACED),
            // The kernel lets no process pass such a descriptor on.
            rule("io_uring|send_fds failed \\(-22\\)", FailureReason.IO_URING),
            rule("anon_inode:\\[?userfaultfd", FailureReason.USERFAULTFD),
            rule("anon_inode:\\[?perf_event", FailureReason.PERF_EVENT),
            rule("anon_inode:\\[?(bpf|btf)|bpfmap", FailureReason.BPF),
            rule("anon_inode:\\[?kvm|chr 10:232\\)", FailureReason.KVM_DEVICE),
            rule("anon_inode:\\[?seccomp notify", FailureReason.SECCOMP_NOTIFY),
            rule("anon_inode:\\[?landlock", FailureReason.LANDLOCK),
            rule("anon_inode:\\[?fscontext", FailureReason.MOUNT_HANDLE),
            rule("fanotify", FailureReason.FANOTIFY),
            rule("secretmem", FailureReason.SECRET_MEMORY),
            rule("dmabuf", FailureReason.DMA_BUFFER),
            rule("chr 10:229\\)", FailureReason.FUSE_DEVICE),
            rule("chr 10:200\\)|tun: ", FailureReason.TUN_DEVICE),
            rule("chr (195|226):|/dev/(nvidia|dri/|kfd)", FailureReason.GPU_DEVICE),
            rule("Can't dump file .*(\\(chr |\\(unknown /dev/)", FailureReason.DEVICE),
            rule("Unsupported proto 262|multipathtcp", FailureReason.MPTCP),
            rule("In-flight connection|in-flight socket|Dangling connection", FailureReason.PENDING_CONNECTION),
            rule("Can't turn TCP repair mode ON: Operation not permitted", FailureReason.TCP_INSIDE),
            rule(
                    "Can't (bind|listen on|connect inet) .*(Address already in use|Cannot assign requested address)",
                    FailureReason.ADDRESS_TAKEN),
            rule("Connected TCP socket|tcp-established|tcp-close|lock TCP connection", FailureReason.CONNECTED_TCP),
            rule(
                    "Unknown socket collected|Unsupported proto|Unsupported socket|Only stream, dgram and raw|Unknown pair family",
                    FailureReason.SOCKET_KIND),
            rule("netlink.*(has data to read|groups)", FailureReason.UNREAD_NETLINK),
            rule(
                    "External socket|ext-unix-sk|half of stream unix|name-less external|unix.*(peer|external)",
                    FailureReason.UNIX_SOCKET_OUTSIDE),
            rule("pidfd.*not a part of process tree", FailureReason.PIDFD_OUTSIDE),
            rule(
                    "slave peer index|dangling tty|slave external peer|ctty inheritance|External tty",
                    FailureReason.TERMINAL_OUTSIDE),
            rule("nested net namespace|Can't restore sub-task in NS", FailureReason.NETWORK_NAMESPACE),
            rule("Can't dump nested|doesn't belong to the target user namespace", FailureReason.NESTED_CONTAINER),
            rule("file locks are hold|file.locks option|can't dump.*lock|Unresolved lock", FailureReason.FILE_LOCKS),
            // CRIU says the same of deleted files with another name. The preflight finds those, except mapped ones
            // without root.
            rule("link.remap|Unaccessible path opened|on overmounted mounts", FailureReason.COVERED_FILE),
            rule("corked dgram socket", FailureReason.CORKED_SOCKET),
            rule("Can't dump ghost file|ghost.limit|ghost file.*too", FailureReason.DELETED_FILE_TOO_LARGE),
            rule(
                    "external.*pipe|pipe.*external|Can't lookup mount=|dangling|session leader of .* is outside",
                    FailureReason.OUTSIDE_FILE),
            rule("Can't fork for \\d+: File exists|Pid \\d+ do not match", FailureReason.PID_TAKEN),
            rule(
                    "has bad size|has bad mode|Can't open file .*No such file|No such file or directory.*(reg file|on mnt)"
                            + "|Can't open file .* on restore|File .* has bad",
                    FailureReason.PATH_MISSING),
            rule(
                    "vdso: Unexpected rt vDSO|unsupported kernel|Kernel.*(lacks|doesn't support)",
                    FailureReason.CRIU_UNUSABLE),
            rule("Can't stat mountpoint", FailureReason.MOUNT_UNREACHABLE),
            rule("Operation not permitted|Permission denied|requires root|CAP_SYS", FailureReason.NO_RIGHTS),
            rule(
                    "Unsupported|Unknown (file|anon inode|socket|shit)|Can't dump (file|unix|socket)|not supported",
                    FailureReason.UNSUPPORTED));

    public CriuLog {
        decisive = List.copyOf(decisive);
    }

    /** Reasons for a failed restore. The others, and their remedies, are about a running stage. */
    private static final Set<FailureReason> OF_RESTORE = EnumSet.of(
            FailureReason.NO_SPACE,
            FailureReason.ADDRESS_TAKEN,
            FailureReason.PID_TAKEN,
            FailureReason.PATH_MISSING,
            FailureReason.MOUNT_UNREACHABLE,
            FailureReason.CRIU_UNUSABLE,
            FailureReason.NO_RIGHTS);

    /** Reads the log of a dump. */
    public static CriuLog of(List<String> log) {
        return of(log, EnumSet.allOf(FailureReason.class));
    }

    /** Reads the log of a restore. */
    public static CriuLog ofRestore(List<String> log) {
        return of(log, OF_RESTORE);
    }

    private static CriuLog of(List<String> log, Set<FailureReason> possible) {
        List<String> errors = log.stream()
                .filter(l -> l.contains("Error (") || l.contains("criu:") || l.contains("mount:") || l.contains("sh:"))
                .filter(l -> !HARMLESS.matcher(l).find())
                .toList();
        List<String> decisive = (errors.isEmpty() ? log.subList(Math.max(0, log.size() - 4), log.size()) : errors)
                .stream().limit(MOST_LINES).toList();
        for (Rule rule : RULES) {
            if (possible.contains(rule.reason())
                    && errors.stream().anyMatch(l -> rule.line().matcher(l).find())) {
                return new CriuLog(rule.reason(), decisive);
            }
        }
        return new CriuLog(FailureReason.CRIU_FAILED, decisive);
    }
}
