package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Kind;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Member;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.OpenFile;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Traits;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Reads a stage's tree from proc(5) into a snapshot.
 *
 * <ol>
 *   <li>The tree is listed once; then each process is read, on as many threads as there are processors.
 *   <li>Sockets, mounts and other processes of the host are read once for all, and only what the tree makes necessary.
 *   <li>A process that seems out of place is read again: between two reads it may have been born, or its parent
 *       may have ended.
 * </ol>
 */
final class TreeReader {

    // signal(7)
    private static final int SIGTRAP = 5;
    // capabilities(7)
    private static final int CAP_SYS_RESOURCE = 24;

    private final Preflight.Subject subject;
    private final long init;
    /** The ids of the init, where CRIU cannot read the limits of processes with other ids; otherwise empty. */
    private final String ownIds;

    private final ProcView proc;
    private final FileReader files;
    private final Strangers strangers;

    private TreeReader(Preflight.Subject subject) {
        this.subject = subject;
        this.proc = new ProcView(subject.inside());
        this.files = new FileReader(proc);
        this.init = subject.init().pid();
        this.strangers = new Strangers(subject, proc);
        this.ownIds = ownIds(init);
    }

    static TreeSnapshot read(Preflight.Subject subject) {
        return new TreeReader(subject).read();
    }

    private TreeSnapshot read() {
        List<Proc.Stat> tree = subject.init().alive() ? Proc.tree(init) : List.of();
        Set<Long> inside = tree.stream().map(Proc.Stat::pid).collect(Collectors.toSet());
        Set<Long> group = Set.copyOf(subject.pids());
        List<Member> read = tree.parallelStream().map(s -> member(s, group)).toList();
        Set<Integer> mounts = mounts(read);
        CoveredFiles covered = CoveredFiles.of(subject, proc);
        List<Member> members =
                read.stream().map(m -> withQueues(m, mounts)).map(covered::mark).toList();
        OutsideReader outside = new OutsideReader(inside);
        return new TreeSnapshot(
                members,
                tree.isEmpty() ? List.of() : strangers.of(inside, outside),
                mounts,
                SocketReader.read(init, members, proc),
                strangers.still(outside.holders(members)),
                RoomReader.read(subject, members, proc));
    }

    private Member member(Proc.Stat stat, Set<Long> group) {
        Path folder = ProcFiles.of(stat.pid());
        boolean inGroup = group.isEmpty() || group.contains(stat.pid()) || strangers.inGroupNow(stat.pid());
        if (stat.zombie()) {
            boolean threads = proc.numbers(folder.resolve("task")).size() > 1;
            return new Member(
                    stat.pid(), stat.comm(), 0, true, threads, Map.of(), List.of(), List.of(), 0, Traits.PLAIN);
        }
        String status = proc.text(folder.resolve("status"));
        Map<String, String> namespaces = new HashMap<>();
        for (String name : TreeSnapshot.NAMESPACES) {
            proc.link(folder.resolve("ns").resolve(name)).ifPresent(l -> namespaces.put(name, l));
        }
        long anonymous = ProcFiles.number(status, "RssAnon", 0) + ProcFiles.number(status, "VmSwap", 0);
        return new Member(
                stat.pid(),
                stat.comm(),
                tracer(folder, status),
                inGroup,
                false,
                Map.copyOf(namespaces),
                files.files(stat.pid()),
                files.mappings(stat.pid()),
                anonymous * 1024,
                traits(stat, status));
    }

    private Traits traits(Proc.Stat stat, String status) {
        String personality =
                proc.text(ProcFiles.of(stat.pid()).resolve("personality")).trim();
        boolean shares = stat.pid() != init && proc.shareFolder(stat.pid(), stat.ppid());
        return new Traits(
                ownIds.isEmpty() || status.isEmpty() || ids(status).equals(ownIds) ? "" : idsForPeople(status),
                personality.isEmpty() ? 0 : Long.parseLong(personality, 16),
                shares ? stat.ppid() : 0,
                signals(status, "SigBlk", SIGTRAP)
                        && (signals(status, "SigPnd", SIGTRAP) || signals(status, "ShdPnd", SIGTRAP)));
    }

    private static boolean signals(String status, String set, int signal) {
        return ProcFiles.field(status, set)
                .map(mask -> (Long.parseUnsignedLong(mask, 16) >> (signal - 1) & 1) == 1)
                .orElse(false);
    }

    // CRIU runs with the real ids of the user who started the stage, and so does the init. Without the capability
    // prlimit(2)
    // wants the other's real, effective and saved ids to be these.
    private String ownIds(long init) {
        String self = proc.text(Path.of("/proc/self/status"));
        boolean capable = ProcFiles.field(self, "CapEff")
                .map(set -> (Long.parseUnsignedLong(set, 16) >> CAP_SYS_RESOURCE & 1) == 1)
                .orElse(true);
        return capable ? "" : ids(proc.text(ProcFiles.of(init).resolve("status")));
    }

    private static String ids(String status) {
        return Stream.of("Uid", "Gid")
                .flatMap(n -> Stream.of(ProcFiles.field(status, n).orElse("").split("\\s+"))
                        .limit(3))
                .collect(Collectors.joining(" "))
                .trim();
    }

    private static String idsForPeople(String status) {
        return Stream.of("Uid", "Gid")
                .map(n -> (n.equals("Uid") ? "user " : "group ")
                        + Stream.of(ProcFiles.field(status, n).orElse("").split("\\s+"))
                                .limit(3)
                                .distinct()
                                .collect(Collectors.joining("/")))
                .collect(Collectors.joining(", "));
    }

    // Their mount is the kernel's own: no table has it.
    private Member withQueues(Member member, Set<Integer> mounts) {
        if (member.files().stream().noneMatch(f -> onNoMount(f, mounts))) {
            return member;
        }
        Path folder = ProcFiles.of(member.pid()).resolve("fd");
        return member.withFiles(member.files().stream()
                .map(f -> onNoMount(f, mounts) && proc.messageQueue(folder.resolve(Integer.toString(f.number())))
                        ? f.as(OpenFile.QUEUE)
                        : f)
                .toList());
    }

    private static boolean onNoMount(OpenFile file, Set<Integer> mounts) {
        return file.kind() == Kind.REGULAR
                && file.mount() >= 0
                && !mounts.contains(file.mount())
                && !OutsideReader.memoryFile(file.link());
    }

    private long tracer(Path folder, String status) {
        long tracer = ProcFiles.number(status, "TracerPid", 0);
        if (tracer != 0 || ProcFiles.number(status, "Threads", 1) < 2) {
            return tracer;
        }
        return proc.numbers(folder.resolve("task")).stream()
                .map(t -> proc.text(folder.resolve("task").resolve(t.toString()).resolve("status")))
                .mapToLong(s -> ProcFiles.number(s, "TracerPid", 0))
                .filter(t -> t != 0)
                .findFirst()
                .orElse(0);
    }

    private Set<Integer> mounts(List<Member> members) {
        Map<String, Long> one = new ConcurrentHashMap<>();
        for (Member member : members) {
            one.putIfAbsent(member.namespaces().getOrDefault("mnt", ""), member.pid());
        }
        Set<Integer> ids = new HashSet<>();
        for (long pid : one.values()) {
            proc.lines(ProcFiles.of(pid).resolve("mountinfo"))
                    .map(l -> l.split(" ", 2)[0])
                    .map(Integer::valueOf)
                    .forEach(ids::add);
        }
        return Set.copyOf(ids);
    }
}
