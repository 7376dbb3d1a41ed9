package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The window of a connection inside of a stage is full, on a host whose packet filter cannot hold the data back. */
@Tag("host")
class BusyConnectionTest {

    private static final Duration SOON = Duration.ofMinutes(1);

    /** Fills a connection that nobody reads, waits, then reads it to the last byte. */
    private static final String FULL_CONNECTION = """
            use IO::Socket::INET;
            sub note { open(my $file, '>', "$_[0].new"); print $file $_[1]; close $file; rename("$_[0].new", $_[0]); }
            my $server = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1');
            my $talker = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $server->sockport);
            my $listener = $server->accept;
            $talker->blocking(0);
            my $sent = 0;
            while (defined(my $put = syswrite($talker, 'x' x 65536))) { $sent += $put; }
            note('ready', '');
            until (-e 'go') { select(undef, undef, undef, 0.05); }
            my $got = 0;
            while ($got < $sent && sysread($listener, my $bytes, 65536)) { $got += length $bytes; }
            note('result', $got == $sent ? 'pass' : "$got of $sent bytes");
            """;

    /** An engine that has looked at its host before libnftables is taken away, as far as its own mount namespace goes. */
    static final class WithoutPacketFilter {
        public static void main(String[] words) {
            Engine engine = Engine.open(Path.of(words[0]));
            engine.check();
            HostTool.run(20, List.of("/sbin/ldconfig", "-p"))
                    .text()
                    .lines()
                    .filter(line -> line.contains("libnftables") && line.contains(" => "))
                    .map(line -> line.substring(line.indexOf(" => ") + 4))
                    .forEach(library -> HostTool.run(20, List.of("/bin/mount", "--bind", "/dev/null", library)));
            try {
                engine.suspend(StageId.parse(words[1]), Path.of(words[2]), ImageKey.generate());
                System.out.println("suspended");
            } catch (SuspendFailedException e) {
                System.out.println("refused: " + e.reason());
            }
        }
    }

    @Test
    void theDumpIsRefusedAndTheStageRunsOn() throws Exception {
        StageBench.assumeConnections();
        assumeTrue(HostProcess.isRoot() && HostTool.find("unshare").isPresent(), "a mount namespace is needed");
        assumeTrue(HostTool.find("perl").isPresent(), "perl makes the connection");
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.start("perl", "-e", FULL_CONNECTION).id();
            StageBench.until("ready", SOON, () -> Files.exists(bench.work.resolve("ready")));
            HostTool.Answer answer = HostTool.run(
                    120,
                    List.of(
                            "unshare",
                            "--mount",
                            "--propagation",
                            "private",
                            System.getProperty("java.home") + "/bin/java",
                            "-XX:TieredStopAtLevel=1",
                            "-cp",
                            System.getProperty("java.class.path"),
                            WithoutPacketFilter.class.getName(),
                            bench.folder.resolve("home").toString(),
                            id.value(),
                            bench.archive(id).toString()));
            assertTrue(answer.text().contains("refused: " + FailureReason.BUSY_CONNECTION), answer.text());
            assertEquals(State.RUNNING, bench.engine.status(id).state());
            assertTrue(Files.notExists(bench.archive(id)));

            bench.engine.suspend(id, bench.archive(id), bench.key);
            bench.engine.resume(bench.archive(id), bench.key);
            Files.createFile(bench.work.resolve("go"));
            Path result = bench.work.resolve("result");
            StageBench.until("the end", SOON, () -> Files.exists(result));
            assertEquals("pass", Files.readString(result), "with it nothing is lost");
        }
    }
}
