package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.host.InsideReader;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Kind;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Member;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.OpenFile;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * Finds open files to which their paths do not lead: something is mounted over them, or over their mount.
 *
 * <ol>
 *   <li>The path of a descriptor is looked up from the root of the init, as CRIU does it, once for each file.
 *   <li>Only files on the init's own mounts are checked: of another mount namespace the root is not known. What the
 *       kernel makes up (processes, terminals) has no file to compare.
 *   <li>A file that seems covered is read again: it may have been renamed or deleted meanwhile.
 * </ol>
 *
 * Source: check_path_remap() and mnt_is_overmounted() of CRIU 4.2.1.
 */
final class CoveredFiles {

    private static final Set<Kind> NAMED = Set.of(Kind.REGULAR, Kind.FOLDER, Kind.FIFO, Kind.CHARACTER, Kind.BLOCK);

    private final ProcView proc;
    private final Path init;
    /** Where those mounts of the init are whose files are really there. */
    private final Map<Integer, String> mounts;

    private final Map<String, Boolean> known = new ConcurrentHashMap<>();

    private CoveredFiles(ProcView proc, Path init, Map<Integer, String> mounts) {
        this.proc = proc;
        this.init = init;
        this.mounts = mounts;
    }

    /** Of a stage that this process may not look into, it finds none. */
    static CoveredFiles of(Preflight.Subject subject, ProcView proc) {
        Path init = ProcFiles.of(subject.init().pid());
        Map<Integer, String> mounts = subject.inside() != InsideReader.NONE
                ? Map.of()
                : proc.lines(init.resolve("mountinfo"))
                        .filter(l -> !l.contains(" - proc ") && !l.contains(" - devpts "))
                        .collect(Collectors.toMap(
                                l -> Integer.valueOf(l.split(" ", 2)[0]), RoomReader::mountPoint, (one, same) -> one));
        return new CoveredFiles(proc, init, mounts);
    }

    /** The process with its covered files marked as such. */
    Member mark(Member member) {
        return member.files().stream().noneMatch(f -> isCovered(member, f))
                ? member
                : member.withFiles(member.files().stream()
                        .map(f -> isCovered(member, f) ? f.as(OpenFile.COVERED) : f)
                        .toList());
    }

    private boolean isCovered(Member member, OpenFile file) {
        Path descriptor = ProcFiles.of(member.pid()).resolve("fd/" + file.number());
        return NAMED.contains(file.kind())
                && file.detail().isEmpty()
                && mounts.containsKey(file.mount())
                && !file.deleted()
                && known.computeIfAbsent(
                        file.mount() + " " + file.identity() + " " + file.link(), k -> isCovered(descriptor, file))
                && proc.link(descriptor).equals(Optional.of(file.link()));
    }

    private boolean isCovered(Path descriptor, OpenFile file) {
        try {
            return proc.target(descriptor, init.resolve("root"))
                            .filter(named -> proc.isElsewhere(named, file.identity()))
                            .isPresent()
                    || SystemCalls.mountId(init + "/root" + mounts.get(file.mount()))
                            .filter(top -> top != file.mount())
                            .isPresent();
        } catch (InvalidPathException e) {
            return false;
        }
    }
}
