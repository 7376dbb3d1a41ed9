package io.jenkins.plugins.preemptible.engine.suspend;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.StageBench;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A real tmpfs in a real file system in user space, and one around it. */
@Tag("host")
class TmpfsInUserSpaceTest {

    /** A file system with one folder, "in", in each folder. */
    private static final String IN_USER_SPACE = """
            use strict;
            $^F = 100;
            open(my $fuse, '+<', '/dev/fuse') or die "/dev/fuse: $!";
            my $options = 'fd=' . fileno($fuse) . ',rootmode=40000,user_id=0,group_id=0';
            system('mount', '-i', '-t', 'fuse', '-o', $options, 'none', $ARGV[0]) == 0 or die;
            my $attributes = pack('Q6 L10', 1, 0, 0, 0, 0, 0, 0, 0, 0, 040755, 2, 0, 0, 0, 4096, 0);
            my %answers = (
              1 => pack('Q4 L2', 2, 0, 0, 0, 0, 0) . $attributes,
              3 => pack('Q L2', 0, 0, 0) . $attributes,
              26 => pack('L4 S2 L2 S2 L8', 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, (0) x 8),
            );
            while (sysread($fuse, my $asked, 1 << 20)) {
              my (undef, $call, $unique) = unpack('L2 Q', $asked);
              if ($call == 2 || $call == 36 || $call == 42) { next }
              my $answer = $answers{$call} // '';
              my $error = exists $answers{$call} ? 0 : -38;
              syswrite($fuse, pack('L l Q', 16 + length $answer, $error, $unique) . $answer);
            }
            """;

    /** The program that would have to answer stands still, as one of a frozen stage. */
    @Test
    void whatLiesInAFileSystemInUserSpaceIsNotWaitedFor() throws Exception {
        assumeTrue(HostProcess.isRoot() && Files.exists(Path.of("/dev/fuse")), "FUSE is needed, and root");
        assumeTrue(HostTool.find("perl").isPresent() && HostTool.find("unshare").isPresent());
        Path folder = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-fuse");
        String script =
                "mount -t tmpfs own \"$PWD\" && cd \"$PWD\" && head -c 8388608 /dev/zero > file && mkdir fuse &&"
                        + " { perl -e \"$1\" fuse & } && until [ -d fuse/in ]; do sleep 0.05; done;"
                        + " mount -t tmpfs inner fuse/in && head -c 4194304 /dev/zero > fuse/in/file &&"
                        + " kill -STOP $! && : > \"$2\" && exec sleep 1000";
        Path ready = Files.createTempDirectory("preemptible-ready").resolve("ready");
        Process stage = new ProcessBuilder(
                        "unshare",
                        "--mount",
                        "--propagation",
                        "private",
                        "sh",
                        "-c",
                        script,
                        "sh",
                        IN_USER_SPACE,
                        ready.toString())
                .directory(folder.toFile())
                .inheritIO()
                .start();
        try {
            StageBench.until("it is mounted", Duration.ofSeconds(20), () -> Files.exists(ready) || !stage.isAlive());
            assumeTrue(stage.isAlive(), "nothing can be mounted");
            List<String> mounts = Proc.mountInfo(stage.pid());
            assertTrue(mounts.stream().anyMatch(line -> line.contains("fuse/in ") && line.contains(" tmpfs inner")));
            long bytes = assertTimeoutPreemptively(Duration.ofSeconds(10), () -> OwnTmpfs.bytes(List.of(stage.pid())));
            assertEquals(8 << 20, bytes, 1 << 16);
        } finally {
            stage.descendants().forEach(ProcessHandle::destroyForcibly);
            stage.destroyForcibly().waitFor();
            StageFolder.delete(ready.getParent());
            StageFolder.delete(folder);
        }
    }
}
