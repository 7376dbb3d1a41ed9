package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.host.InsideReader;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Holder;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Kind;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Mapping;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Member;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Mode;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.OpenFile;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Finds processes outside of the tree that hold the same things as the tree.
 *
 * <ol>
 *   <li>Only things that can be shared are searched: pipes of which the tree has one end, FIFOs, memory files, pseudo
 *       terminals without a master in the tree. Most trees have none of these, and then nothing is read.
 *   <li>Every other process's descriptors are compared by their links, and by device and inode where a name is not
 *       enough; mappings too where memory is searched.
 *   <li>Processes that this user may not look into are taken for strangers to the stage.
 * </ol>
 */
final class OutsideReader {

    private final List<Long> pids;
    private final ProcView proc = new ProcView(InsideReader.NONE);
    private final FileReader files = new FileReader(proc);

    /** @param inside the processes of the tree */
    OutsideReader(Set<Long> inside) {
        this.pids = proc.numbers(java.nio.file.Path.of("/proc")).stream()
                .filter(p -> !inside.contains(p))
                .toList();
    }

    /** The processes of this host that are not in the tree. */
    List<Long> pids() {
        return pids;
    }

    /** Whether it is a pseudo terminal's master. */
    static boolean master(OpenFile file) {
        return file.kind() == Kind.CHARACTER && file.target() >= 0;
    }

    /** Whether it is a pseudo terminal's slave. */
    static boolean slave(OpenFile file) {
        return file.detail().startsWith(TreeSnapshot.TERMINAL) && !master(file);
    }

    /** Whether it is a file in memory that never had a name; the second is anonymous shared memory opened by map_files. */
    static boolean memoryFile(String path) {
        return path.startsWith("/memfd:") || path.equals("/dev/zero (deleted)");
    }

    /** Memory that vanishes with its holders: an outside process that maps it would lose it, or the stage would. */
    static boolean sharedMemory(Mapping mapping) {
        return mapping.shared()
                && (mapping.path().startsWith("/memfd:")
                        || (mapping.deleted()
                                && !mapping.path().startsWith("/dev/zero")
                                && !mapping.path().startsWith("/SYSV")));
    }

    Map<String, List<Holder>> holders(List<Member> members) {
        Wanted wanted = new Wanted(members);
        Map<String, List<Holder>> holders = new HashMap<>();
        if (wanted.nothing()) {
            return holders;
        }
        for (long pid : pids) {
            for (Found found : held(pid, wanted)) {
                holders.computeIfAbsent(found.identity(), k -> new ArrayList<>())
                        .add(new Holder(pid, Proc.stat(pid).map(Proc.Stat::comm).orElse(""), found.mode()));
            }
        }
        return Map.copyOf(holders);
    }

    private record Found(String identity, Mode mode) {}

    private List<Found> held(long pid, Wanted wanted) {
        List<Found> found = new ArrayList<>();
        java.nio.file.Path folder = ProcFiles.of(pid).resolve("fd");
        for (long number : proc.numbers(folder)) {
            String link = proc.link(folder.resolve(Long.toString(number))).orElse("");
            if (wanted.links.contains(link) || (wanted.terminals && link.endsWith("ptmx"))) {
                files.file(pid, number)
                        .ifPresent(f -> found.add(new Found(master(f) ? f.detail() : f.identity(), f.mode())));
            }
        }
        if (wanted.memory) {
            files.mappings(pid).stream()
                    .filter(m -> wanted.links.contains(m.path()))
                    .forEach(m -> found.add(new Found(m.identity(), Mode.BOTH)));
        }
        return found;
    }

    /** What others might share with the tree, by the names under which /proc shows it. */
    private static final class Wanted {
        private final Set<String> links = new HashSet<>();
        private boolean memory;
        private boolean terminals;

        Wanted(List<Member> members) {
            Map<String, Set<Mode>> ends = new HashMap<>();
            Set<String> masters = new HashSet<>();
            for (Member member : members) {
                for (OpenFile file : member.files()) {
                    switch (file.kind()) {
                        case PIPE ->
                            ends.computeIfAbsent(file.link(), k -> new HashSet<>())
                                    .add(file.mode());
                        case FIFO -> links.add(file.link());
                        case REGULAR -> {
                            if (memoryFile(file.link())) {
                                memory(file.link());
                            }
                        }
                        case CHARACTER -> {
                            if (master(file)) {
                                masters.add(file.detail());
                            }
                        }
                        default -> {}
                    }
                }
                member.mappings().stream().filter(OutsideReader::sharedMemory).forEach(m -> memory(m.path()));
            }
            ends.forEach((pipe, modes) -> {
                if (modes.size() == 1 && !modes.contains(Mode.BOTH)) {
                    links.add(pipe);
                }
            });
            terminals = members.stream()
                    .flatMap(m -> m.files().stream())
                    .anyMatch(f -> slave(f) && !masters.contains(f.detail()));
        }

        private void memory(String path) {
            links.add(path);
            memory = true;
        }

        boolean nothing() {
            return links.isEmpty() && !terminals;
        }
    }
}
