package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.cli.Preempt;
import io.jenkins.plugins.preemptible.engine.contained.ContainedStart;
import io.jenkins.plugins.preemptible.engine.container.RealContainers;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.stage.ContainedProgram;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.text.Script;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a hostile container can do to the agent's own programs while they enter it. */
@Tag("host")
class ContainedEntryTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final List<String> MARKS = List.of("NAME=job");
    private static final Path LOADER =
            Path.of("src/test/resources/io/jenkins/plugins/preemptible/engine/container/loader.c");
    /** Where Perl says that its loader is. */
    private static final Map<String, String> LOADERS =
            Map.of("amd64", "/lib64/ld-linux-x86-64.so.2", "aarch64", "/lib/ld-linux-aarch64.so.1");

    private record Contained(StageBench bench, RealContainers real, StageId id, ContainerRef container) {

        EnterCommand.Contained enter() {
            return (EnterCommand.Contained) bench.engine.enterCommand(id);
        }

        HostProcess first() {
            HostTool.Answer answer = HostTool.run(
                    20, List.of(container.program(), "inspect", "--format", "{{.State.Pid}}", container.id()));
            return HostProcess.of(Long.parseLong(answer.firstLine())).orElseThrow();
        }

        boolean has(String file) {
            return real.answer(container, "cat", file).ok();
        }

        void must(String script) {
            HostTool.Answer answer = real.answer(container, "busybox", "sh", "-c", script);
            assertTrue(answer.ok(), answer::text);
        }
    }

    private interface Trial {
        void of(Contained contained) throws Exception;
    }

    private static void with(Trial trial) throws Exception {
        with(List.of(), trial);
    }

    private static void with(List<String> options, Trial trial) throws Exception {
        try (RealContainers real = RealContainers.open("docker");
                StageBench bench = StageBench.openForArchives()) {
            List<String> all = new ArrayList<>(List.of("-e", MARKS.get(0), "-u", "0:0"));
            all.addAll(options);
            ContainerRef container = real.run(bench.work, all.toArray(String[]::new));
            StageSpec spec = new StageSpec(StageId.create("test"), "test", bench.work, List.of(), null);
            trial.of(new Contained(
                    bench, real, bench.engine.startIn(spec, container, MARKS).id(), container));
        }
    }

    private static HostTool.Answer run(List<String> words, String... command) {
        List<String> all = new ArrayList<>(words);
        all.addAll(List.of(command));
        return HostTool.run(30, all);
    }

    private static String hex(Path file) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
    }

    /** CVE-2019-5736 of runc, with Perl in its place: a copy of Perl, lest this test changes the host's. */
    @ParameterizedTest
    @ValueSource(strings = {"enter", "start"})
    void theProgramThatEntersCannotBeWritten(String verb) throws Exception {
        assumeTrue(HostTool.find("gcc").isPresent(), "gcc is not installed");
        Path folder = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-perl");
        try {
            Path perl = folder.resolve("perl");
            Files.copy(HostTool.find("perl").orElseThrow(), perl);
            assertTrue(perl.toFile().setExecutable(true));
            String before = hex(perl);
            with(c -> {
                prepare(c);
                HostTool.Answer answer = run(words(verb, c, perl));
                StageBench.until("a shell of the container tries: " + answer, SOON, () -> c.has("/reached"));
                StageBench.until(
                        "written, or given up",
                        SOON,
                        () -> c.has("/written") || c.has("/over") || verb.equals("start") && initEnded(answer));
                assertEquals(before, hex(perl), "a process of the container has written into the host's Perl");
                assertFalse(c.has("/written"));
            });
        } finally {
            StageFolder.delete(folder);
        }
    }

    private static boolean initEnded(HostTool.Answer started) {
        return started.text().matches("\\d+\\s*")
                && HostProcess.of(Long.parseLong(started.text().trim())).isEmpty();
    }

    private static void prepare(Contained c) throws Exception {
        Path loader = c.bench.work.resolve("loader");
        HostTool.Answer made = run(
                List.of("gcc", "-O1", "-fPIC", "-fno-stack-protector", "-nostdlib", "-ffreestanding", "-shared"),
                "-Wl,-e,_start",
                "-o",
                loader.toString(),
                LOADER.toString());
        assertTrue(made.ok(), made::text);
        String place = LOADERS.get(System.getProperty("os.arch"));
        c.must("busybox mkdir -p " + place.replaceFirst("/[^/]*$", "") + " && busybox cp loader " + place
                + " && busybox chmod 755 " + place);
        c.must("rm /bin/sh && echo '#!/proc/self/exe' > /bin/sh && busybox chmod 755 /bin/sh");
    }

    private static List<String> into(Contained c, String folder, String... command) {
        List<String> words = new ArrayList<>(c.enter().words(folder, List.of()));
        words.addAll(List.of(command));
        return words;
    }

    /** CVE-2024-21626 of runc: a folder of the host that is open while one of the container is resolved. */
    @Test
    void noFolderLeadsToTheHost() throws Exception {
        Path secret = Files.createTempDirectory(Path.of("/tmp"), "preemptible-secret");
        try {
            Files.writeString(secret.resolve("file"), "of the host");
            with(List.of("-v", "/proc:/host:ro"), c -> {
                c.must("mkdir /folder; for n in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do"
                        + " busybox ln -s /proc/self/fd/$n/../.. /to-$n; busybox ln -s /proc/self/fd/$n /at-$n; done;"
                        + " busybox ln -s /proc/self/cwd /cwd; busybox ln -s /host/1/root /root");
                String read = "cat ." + secret + "/file; busybox pwd; echo entered";
                List<String> places = new ArrayList<>(List.of("/root"));
                for (int number = 0; number <= 15; number++) {
                    places.addAll(List.of("/to-" + number, "/at-" + number));
                }
                List<String> reached = new ArrayList<>();
                for (String place : places) {
                    HostTool.Answer answer = run(into(c, place, "sh", "-c", read));
                    if (answer.code() != 125 || answer.text().contains("of the host")) {
                        reached.add(place + " -> " + answer);
                    }
                }
                assertEquals(List.of(), reached);
                HostTool.Answer own = run(into(c, "/cwd", "sh", "-c", read));
                assertFalse(own.text().contains("of the host"), own::text);
                HostTool.Answer usual = run(into(c, "/folder", "sh", "-c", "busybox pwd; busybox ls /proc/self/fd"));
                assertTrue(usual.ok() && usual.text().startsWith("/folder\n0\n1\n2\n"), usual::text);
            });
        } finally {
            StageFolder.delete(secret);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"enter", "start"})
    void noProgramLeadsToTheHost(String verb) throws Exception {
        Path busybox = Path.of("/bin/busybox");
        assumeTrue(Files.exists(busybox), "busybox is needed, a program without libraries");
        Path host = Files.createTempDirectory(Path.of("/tmp"), "preemptible-program");
        try {
            Files.copy(busybox, host.resolve("sh"));
            assertTrue(host.resolve("sh").toFile().setExecutable(true));
            Path perl = HostTool.find("perl").orElseThrow();
            with(c -> {
                List<String> started = new ArrayList<>();
                for (int number = 3; number <= 15; number++) {
                    c.must("busybox ln -s -f /proc/self/fd/" + number + "/../.." + host + "/sh /bin/sh");
                    HostTool.Answer answer = run(words(verb, c, perl));
                    if (answer.code() != 125) {
                        started.add(number + " -> " + answer);
                    }
                }
                assertEquals(List.of(), started);
                c.must("busybox ln -s -f busybox /bin/sh");
                HostTool.Answer usual = run(words(verb, c, perl));
                assertTrue(usual.ok() || verb.equals("start") && usual.text().matches("\\d+\n"), usual::toString);
                if (verb.equals("start")) {
                    LibC.kill(Long.parseLong(usual.text().trim()), LibC.SIGKILL);
                }
            });
        } finally {
            StageFolder.delete(host);
        }
    }

    /** It is opened with the rights of the host's root. */
    @Test
    void noLinkIsFollowedForANullDevice() throws Exception {
        Path perl = HostTool.find("perl").orElseThrow();
        with(c -> {
            // What covers files of /proc is the same file.
            c.must("mv /dev/null /dev/old && busybox ln -s /opened /dev/null && echo kept > /opened");
            refused(words("start", c, perl), "/dev/null of the container: ");
            c.must("rm /dev/null && echo kept > /dev/null");
            refused(words("start", c, perl), "/dev/null of the container is none");
            assertEquals(
                    "kept\nkept\n",
                    c.real.answer(c.container, "cat", "/opened", "/dev/null").text());
        });
    }

    /** Perl runs as the host's root, and obeys its environment. */
    @Test
    void nothingOfTheCallersEnvironmentIsObeyed() throws Exception {
        Path own = Files.createTempDirectory(Path.of("/tmp"), "preemptible-perl");
        try {
            Path loaded = own.resolve("loaded");
            Files.writeString(own.resolve("strict.pm"), "open(my $f, '>', '" + loaded + "'); package strict; 1;");
            with(c -> {
                List<String> words = new ArrayList<>(
                        List.of("env", "PERL5LIB=" + own, "PERL5OPT=-Mstrict", "PERL_SIGNALS=unsafe", "VALUE=caller"));
                words.addAll(c.enter().words("", List.of("PERL5LIB=" + own, "OTHER=a b")));
                words.addAll(List.of("sh", "-c", "echo \"$PERL5LIB $OTHER ${VALUE-none}\""));
                HostTool.Answer answer = run(words);
                assertFalse(Files.exists(loaded), "the host's Perl has loaded what its caller named");
                assertEquals(own + " a b none\n", answer.text());
            });
        } finally {
            StageFolder.delete(own);
        }
    }

    /** Nor of the agent's: the host's loader would tell of each program that obeys it. */
    @Test
    void nothingOfTheAgentsEnvironmentIsObeyedAtARestore() throws Exception {
        Path told = Files.createTempDirectory(Path.of("/tmp"), "preemptible-loader");
        try {
            with(c -> {
                StageId id = c.id;
                c.bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
                c.bench.engine.dump(id, c.bench.archive(id), c.bench.key, IfDumpFails.STAY_FROZEN);
                c.bench.engine.commit(id);
                Path key = Files.writeString(c.bench.folder.resolve("key"), c.bench.key.export());
                List<String> words = new ArrayList<>(List.of(
                        "env",
                        "PREEMPTIBLE_HOME=" + c.bench.folder.resolve("home"),
                        "LD_DEBUG=files",
                        "LD_DEBUG_OUTPUT=" + told.resolve("of")));
                words.addAll(JavaCommand.words("-cp", System.getProperty("java.class.path"), Preempt.class.getName()));
                words.addAll(List.of("resume", "--from", c.bench.archive(id).toString(), "--key-file", key.toString()));
                HostTool.Answer answer = HostTool.run(120, words);
                assertTrue(answer.ok(), answer::text);
                assertEquals(State.RUNNING, c.bench.engine.status(id).state());
                Set<String> obeyed = new TreeSet<>();
                try (Stream<Path> files = Files.list(told)) {
                    for (Path file : files.toList()) {
                        Files.readString(file, StandardCharsets.ISO_8859_1)
                                .lines()
                                .filter(line -> line.contains("needed by /"))
                                .map(line -> line.replaceFirst(".*needed by (\\S+).*", "$1"))
                                .map(program -> Path.of(program).getFileName().toString())
                                .forEach(obeyed::add);
                    }
                }
                assertTrue(obeyed.contains("java"), obeyed::toString);
                for (String program : List.of("setsid", "env", "perl")) {
                    assertFalse(obeyed.contains(program), obeyed::toString);
                }
            });
        } finally {
            StageFolder.delete(told);
        }
    }

    private static List<String> words(String verb, Contained c, Path perl) {
        return words(verb, c, perl, verb.equals("enter") ? c.enter().init() : c.first());
    }

    private static List<String> words(String verb, Contained c, Path perl, HostProcess process) {
        EnterCommand.Contained known = c.enter();
        ContainedProgram program = new ContainedProgram(perl.toString(), known.architecture());
        List<String> words = new ArrayList<>(List.of(known.rights()));
        words.addAll(ContainedProgram.counted(known.joinFiles()));
        words.addAll(
                verb.equals("enter")
                        ? List.of("", "0", "sh", "-c", "readlink /proc/self/ns/mnt; touch /entered")
                        : List.of(
                                Script.text(Criu.class, "restored.sh"), Script.text(ContainedStart.class, "init.sh")));
        return program.call(verb, process, words);
    }

    /** As an administrator can have it who lets no anonymous file be executed. */
    @Test
    void withoutASealedCopyNothingIsEntered() throws Exception {
        assumeTrue(
                Files.exists(Path.of("/proc/sys/vm/memfd_noexec")),
                "this kernel cannot refuse executable anonymous files");
        with(c -> {
            List<String> words = new ArrayList<>(List.of(
                    "unshare",
                    "--fork",
                    "--pid",
                    "sh",
                    "-c",
                    "echo 2 > /proc/sys/vm/memfd_noexec && exec \"$@\"",
                    "sh"));
            words.addAll(c.enter().words());
            HostTool.Answer answer = run(words, "touch", "/entered");
            assertEquals(125, answer.code(), answer::text);
            assertTrue(answer.text().contains("no sealed copy of Perl: memfd_create"), answer::text);
            assertFalse(c.has("/entered"));
        });
    }

    /** Whatever a caller knows of it is not true any more, and its number may be a process of the host's. */
    @ParameterizedTest
    @ValueSource(strings = {"enter", "start"})
    void inPlaceOfAnotherProcessNothingIsEntered(String verb) throws Exception {
        Path perl = HostTool.find("perl").orElseThrow();
        Process ofHost = new ProcessBuilder("sleep", "1000").start();
        try {
            with(c -> {
                HostProcess host = HostProcess.of(ofHost.pid()).orElseThrow();
                HostProcess own = verb.equals("enter") ? c.enter().init() : c.first();
                HostProcess gone = new HostProcess(4_194_303, own.startTicks(), own.bootId());
                refused(words(verb, c, perl, gone), "has ended");
                refused(
                        words(verb, c, perl, new HostProcess(host.pid(), own.startTicks(), own.bootId())),
                        "another one");
                refused(
                        words(verb, c, perl, new HostProcess(own.pid(), own.startTicks() + 1, own.bootId())),
                        "another one");
                refused(words(verb, c, perl, new HostProcess(own.pid(), own.startTicks(), "x")), "another one");
                refused(words(verb, c, perl, host), "is in the caller's own");
                assertFalse(c.has("/entered"));
            });
        } finally {
            ofHost.destroyForcibly();
        }
    }

    private static void refused(List<String> words, String why) {
        HostTool.Answer answer = run(words);
        assertEquals(125, answer.code(), answer::text);
        assertTrue(answer.text().contains(why), answer::text);
        assertFalse(answer.text().contains("mnt:["), answer::text);
    }

    /** What would run in the host's namespaces then, as the container's root: kill -9 -1 is one such command. */
    @Test
    void afterTheEndOfAStageItsCommandEntersNothing() throws Exception {
        with(c -> {
            EnterCommand.Contained old = c.enter();
            assertTrue(run(old.words(), "touch", "/entered").ok());
            LibC.kill(old.init().pid(), LibC.SIGKILL);
            StageBench.until("ended", SOON, () -> !old.init().alive());
            List<String> words = new ArrayList<>(old.words());
            words.addAll(List.of("sh", "-c", "readlink /proc/self/ns/mnt"));
            refused(words, "has ended");
        });
    }

    @Test
    void theCommandOfBeforeASuspensionEntersNothing() throws Exception {
        with(c -> {
            List<String> old = new ArrayList<>(c.enter().words());
            old.addAll(List.of("sh", "-c", "readlink /proc/self/ns/mnt"));
            c.bench.engine.freeze(c.id, new FreezeRequest(DumpGuard.NONE, 0));
            c.bench.engine.dump(c.id, c.bench.archive(c.id), c.bench.key, IfDumpFails.STAY_FROZEN);
            c.bench.engine.commit(c.id);
            refused(old, "");
            c.bench.engine.resume(c.bench.archive(c.id), c.bench.key);
            refused(old, "");
            assertTrue(run(c.enter().words(), "touch", "/entered").ok());
        });
    }
}
