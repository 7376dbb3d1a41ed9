package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.home.LocalImages;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Somebody's mounts have names that no table of mounts was made for; stages have nothing to do with them.
 *
 * <p>Each test mounts in a process with a mount namespace of its own: such a mount would make {@code criu check} of others
 * fail, and would stay when the test is killed.
 */
@Tag("host")
class OddMountTest {

    private static final Duration SOON = Duration.ofSeconds(20);
    private static final int LINES = 100;
    private static final String DONE = "done as asked";
    private static final String SKIPPED = "skipped: ";

    private Path temp;

    @BeforeEach
    void create() throws Exception {
        assumeTrue(HostProcess.isRoot() && HostTool.find("unshare").isPresent(), "a mount namespace is needed");
        // Not below /tmp: a stage has one of its own, without what the host mounted there.
        temp = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-odd");
    }

    @AfterEach
    void delete() throws Exception {
        if (temp != null) {
            StageBench.delete(temp);
        }
    }

    @Test
    void aStageThatStartsLater() {
        run(
                StartsLater.class,
                "carriage\rreturn",
                "ends in\r",
                "new\nline",
                "ends in\n",
                "bell\u0007",
                "tab\tand \\ and ][");
    }

    @Test
    void aStageThatRunsAlready() {
        run(RunsAlready.class, "carriage\rreturn", "new\nline");
    }

    @Test
    void aMountThatNothingHidesFromCriuIsNamed() {
        run(IsNamed.class, "carriage\rreturn");
    }

    private void run(Class<?> main, String... names) {
        List<String> command = new ArrayList<>(List.of(
                "unshare",
                "--mount",
                "--propagation",
                "private",
                System.getProperty("java.home") + "/bin/java",
                "-XX:TieredStopAtLevel=1",
                "-Dsun.jnu.encoding=UTF-8",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName(),
                temp.toString()));
        command.addAll(List.of(names));
        String said = HostTool.run(120, command).text();
        int skipped = said.indexOf(SKIPPED);
        assumeTrue(
                skipped < 0,
                () -> said.substring(skipped + SKIPPED.length())
                        .lines()
                        .findFirst()
                        .orElse(""));
        assertTrue(said.endsWith(DONE + "\n"), said);
        assertFalse(Proc.self("mountinfo").toString().contains(temp.toString()), "the host has the mount too");
    }

    private static boolean mount(Path at, String... options) throws Exception {
        List<String> command = new ArrayList<>(List.of("mount"));
        command.addAll(List.of(options));
        command.add(Files.createDirectory(at).toString());
        boolean mounted = HostTool.run(10, command).ok();
        if (!mounted) {
            System.out.println(SKIPPED + "this machine does not let this user mount " + List.of(options));
        }
        return mounted;
    }

    private static boolean mountTmpfs(Path at) throws Exception {
        return mount(at, "-t", "tmpfs", "none");
    }

    // Asked before the mount is there: then the mount is no reason to skip a test.
    private static boolean canSuspend(Path temp) {
        HostReport report = newEngine(temp).check();
        if (!report.ok()) {
            System.out.println(SKIPPED + "this host cannot suspend stages: " + report.missing());
        }
        return report.ok();
    }

    // Remembers no criu that another engine of this process has found.
    private static Engine newEngine(Path temp) {
        return Engines.direct(temp.resolve("home"), new CriuSearch(), null, LocalImages.of(Map.of()), true);
    }

    static final class StartsLater {
        public static void main(String[] words) throws Exception {
            Path temp = Path.of(words[0]);
            if (!canSuspend(temp)) {
                return;
            }
            for (int i = 1; i < words.length; i++) {
                if (!mountTmpfs(temp.resolve(words[i]))) {
                    return;
                }
            }
            try (StageBench bench = StageBench.open()) {
                StageId id = counting(bench);
                cycle(bench, id);
                cycle(bench, id);
                counted(bench, id);
            }
            System.out.println(DONE);
        }
    }

    static final class RunsAlready {
        public static void main(String[] words) throws Exception {
            Path temp = Path.of(words[0]);
            if (!canSuspend(temp)) {
                return;
            }
            try (StageBench bench = StageBench.open()) {
                StageId id = counting(bench);
                if (!mountTmpfs(temp.resolve(words[1])) || !mountTmpfs(temp.resolve(words[2]))) {
                    return;
                }
                cycle(bench, id);
                counted(bench, id);
            }
            System.out.println(DONE);
        }
    }

    /** A folder with an odd name is bound to a plain place: stages have that mount, and no dump of them could succeed. */
    static final class IsNamed {
        public static void main(String[] words) throws Exception {
            Path temp = Path.of(words[0]);
            Path odd = Files.createDirectory(temp.resolve(words[1]));
            if (!canSuspend(temp) || !mount(temp.resolve("plain"), "--bind", odd.toString())) {
                return;
            }
            String missing = newEngine(temp).check().missingWithRemedies();
            assertTrue(
                    missing.contains("control character in the path or the source folder of " + temp.resolve("plain")),
                    missing);
            assertTrue(missing.contains("(remedy: unmount it"), missing);
            System.out.println(DONE);
        }
    }

    private static StageId counting(StageBench bench) {
        return bench.script("i=0; while [ $i -lt " + LINES + " ]; do i=$((i+1)); echo $i; sleep 0.05; done")
                .id();
    }

    private static void cycle(StageBench bench, StageId id) {
        long lines = StageBench.lines(bench.engine.status(id).output());
        StageBench.until(
                "more output",
                SOON,
                () -> StageBench.lines(bench.engine.status(id).output()) > lines + 3);
        assertEquals(List.of(), bench.engine.preflight(id).obstacles());
        bench.engine.suspend(id, bench.archive(id), bench.key);
        bench.engine.resume(bench.archive(id), bench.key);
    }

    private static void counted(StageBench bench, StageId id) throws Exception {
        assertEquals(0, bench.engine.await(id));
        assertEquals(IntStream.rangeClosed(1, LINES).mapToObj(Integer::toString).toList(), bench.output(id));
    }
}
