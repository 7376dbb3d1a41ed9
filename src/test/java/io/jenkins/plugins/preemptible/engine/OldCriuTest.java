package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A CRIU that refuses what CRIU 3.17.1 of Debian 12 refuses; what it does is done by this host's own. */
@Tag("host")
class OldCriuTest {

    private static final Duration SOON = Duration.ofMinutes(1);

    private static final String OLD = """
            #!/bin/sh
            [ "$1" = --version ] && { echo 'Version: 3.17.1'; exit 0; }
            for word; do
              [ "$word" = --network-lock ] && { echo 'Error (criu/config.c:1033): Invalid value for --network-lock: skip' >&2; exit 1; }
            done
            exec '%s' "$@"
            """;

    private static final String CONNECTED = """
            use IO::Socket::INET;
            my $server = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1');
            my $talker = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $server->sockport);
            my $listener = $server->accept;
            open(my $file, '>', 'ready'); close $file;
            sleep 600;
            """;

    @TempDir
    Path folder;

    @Test
    void suspendsAndResumes() throws Exception {
        try (StageBench bench = StageBench.openWith(oldCriu())) {
            assertTrue(
                    bench.engine.check().items().stream()
                            .anyMatch(item -> item.detail().contains("3.17.1")
                                    && item.detail().contains("too old for stages with TCP connections")),
                    "check says what it cannot do");
            StageId id = bench.script("while :; do echo; sleep 0.05; done").id();
            bench.engine.suspend(id, bench.archive(id), bench.key);
            int before = bench.output(id).size();
            bench.engine.resume(bench.archive(id), bench.key);
            StageBench.until("it goes on", SOON, () -> lines(bench, id) > before);
        }
    }

    @Test
    void refusesConnectionsBetweenTheStagesOwnProcesses() throws Exception {
        assumeTrue(HostTool.find("perl").isPresent(), "perl makes the connection");
        try (StageBench bench = StageBench.openWith(oldCriu())) {
            StageId id = bench.start("perl", "-e", CONNECTED).id();
            StageBench.until("ready", SOON, () -> Files.exists(bench.work.resolve("ready")));
            SuspendFailedException refused = assertThrows(
                    SuspendFailedException.class, () -> bench.engine.suspend(id, bench.archive(id), bench.key));
            assertEquals(FailureReason.CRIU_TOO_OLD, refused.reason());
            assertEquals(State.RUNNING, bench.engine.status(id).state());
            assertTrue(Files.notExists(bench.archive(id)));
        }
    }

    private static long lines(StageBench bench, StageId id) {
        return StageBench.lines(bench.engine.status(id).output());
    }

    private CriuSearch oldCriu() throws Exception {
        Optional<Criu> own = new CriuSearch().usable();
        assumeTrue(own.isPresent(), "there is no CRIU that works on this host");
        Path old = Files.writeString(
                folder.resolve("criu"), OLD.formatted(own.get().program()));
        Files.setPosixFilePermissions(old, PosixFilePermissions.fromString("rwxr-xr-x"));
        return new CriuSearch(List.of(old));
    }
}
