package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.TrialVerdict;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;

/** What the tests of trials have in common: stages that tell lines, their dump, and what a trial could leave. */
final class TrialSteps {

    static final Duration SOON = Duration.ofSeconds(60);
    static final String TICKS = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.02; done";

    private TrialSteps() {}

    static StageFolder folder(StageBench bench, StageId id) {
        return new StageFolder(bench.folder.resolve("home/stages").resolve(id.value()));
    }

    static StageId start(StageBench bench, String... command) {
        StageId id = bench.start(command).id();
        StageBench.until(
                "output", SOON, () -> StageBench.lines(bench.engine.status(id).output()) > 0);
        return id;
    }

    static Checkpoint dumped(StageBench bench, StageId id) {
        bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
        try {
            return bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN);
        } catch (SuspendFailedException e) {
            throw new AssertionError(e.criuLines().toString(), e);
        }
    }

    static void passes(StageBench bench, StageId id) {
        Checkpoint checkpoint = dumped(bench, id);
        assertEquals(TrialVerdict.PASSED, checkpoint.trial().verdict(), () -> checkpoint.trial() + log(bench, id));
        assertFalse(checkpoint.trial().withPages(), () -> "not without its pages" + log(bench, id));
        assertNull(checkpoint.trial().why());
    }

    static String log(StageBench bench, StageId id) {
        try {
            return "\n" + Files.readString(folder(bench, id).logs().resolve("trial.log"));
        } catch (IOException e) {
            return "";
        }
    }

    static void runsOn(StageBench bench, StageId id) throws IOException {
        assertEquals(State.RUNNING, bench.engine.status(id).state());
        long lines = bench.output(id).size();
        StageBench.until(
                "more output",
                SOON,
                () -> StageBench.lines(bench.engine.status(id).output()) > lines + 2);
    }

    /** What a trial could leave: mounts, files, groups, and in these processes, without which none can be removed. */
    static String left(StageBench bench, StageId id) throws IOException {
        // Whoever else works on this host mounts and starts what he likes.
        List<String> mounts = Proc.self("mountinfo").stream()
                .filter(l -> l.contains(" preemptible ") || l.contains(id.value()))
                .toList();
        try (var files = Files.list(folder(bench, id).path())) {
            return "mounts " + mounts + ", group of " + groupsOf(id) + ", files "
                    + files.map(p -> p.getFileName().toString())
                            .filter(n -> n.startsWith("trial"))
                            .toList();
        }
    }

    static long groupsOf(StageId id) throws IOException {
        try (var all = Files.walk(Path.of("/sys/fs/cgroup"), 6)) {
            return all.filter(p -> p.getFileName().toString().startsWith("preemptible-" + id + "-"))
                    .count();
        } catch (java.io.UncheckedIOException e) {
            // A group of somebody else's went away meanwhile.
            return groupsOf(id);
        }
    }

    /** A script in the place of criu; {@code $criu} is the real one. */
    static CriuSearch program(Path folder, String script) throws IOException {
        // In a trial nothing below /tmp is where it was, and the host's may lie there.
        Path own = Files.copy(
                new CriuSearch().usable().orElseThrow().program(),
                folder.resolve("real-criu"),
                StandardCopyOption.COPY_ATTRIBUTES,
                StandardCopyOption.REPLACE_EXISTING);
        Path program = Files.writeString(folder.resolve("criu"), "#!/bin/sh\ncriu='" + own + "'\n" + script + "\n");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
        return new CriuSearch(List.of(program));
    }
}
