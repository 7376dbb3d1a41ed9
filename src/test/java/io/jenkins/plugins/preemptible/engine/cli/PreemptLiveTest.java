package io.jenkins.plugins.preemptible.engine.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.JavaCommand;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import java.io.File;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The command line on real processes and real CRIU. */
@Tag("host")
@Timeout(120)
class PreemptLiveTest {

    @TempDir
    Path folder;

    private Path home;

    @BeforeEach
    void onAHostThatCan() {
        home = folder.resolve("home");
        HostReport host = Engine.open(home).check();
        assumeTrue(host.ok(), () -> "this host cannot suspend stages: " + host.missing());
    }

    @AfterEach
    void endAll() {
        Engine engine = Engine.open(home);
        engine.list().forEach(stage -> engine.kill(stage.id()));
    }

    private CommandLineCall call(String... args) {
        return CommandLineCall.of(home, args);
    }

    private String startCounter(int last, int exitCode) {
        return call(
                        "run",
                        "--name",
                        "counter",
                        "--dir",
                        folder.toString(),
                        "--",
                        "sh",
                        "-c",
                        "i=0; while [ $i -lt $1 ]; do i=$((i+1)); echo $i >> numbers; sleep 0.02; done; exit $2",
                        "counter",
                        Integer.toString(last),
                        Integer.toString(exitCode))
                .exits(0)
                .out()
                .strip();
    }

    private List<String> numbers() throws Exception {
        Path file = folder.resolve("numbers");
        return Files.exists(file) ? Files.readAllLines(file) : List.of();
    }

    private void untilAtLeast(int numbers) {
        Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> numbers().size() >= numbers);
    }

    private StageStatus only() {
        return Engine.open(home).list().get(0);
    }

    @Test
    void aStageIsSuspendedInspectedResumedTwiceAndEndsAsItWould() throws Exception {
        String id = startCounter(300, 7);
        String image = folder.resolve("stage.image").toString();
        untilAtLeast(20);

        JsonNode suspended =
                call("suspend", id, "--to", image).exits(0).says("executor").json();
        assertEquals(id, suspended.get("id").asText());
        assertEquals("FULL", suspended.get("extent").asText());
        assertTrue(
                suspended.get("parent_id").isNull() && suspended.get("skipped").isEmpty(), suspended.toString());
        for (String field : List.of("frozen_ms", "dump_ms", "archive_ms")) {
            assertTrue(suspended.get(field).asLong() >= 0, suspended.toString());
        }
        assertTrue(suspended.get("image_bytes").asLong() > 10_000, suspended.toString());
        assertEquals("PASSED", suspended.get("trial").asText());
        assertTrue(
                suspended.get("trial_ms").asLong() > 0
                        && suspended.get("trial_reason").isNull(),
                suspended.toString());
        assertEquals(Files.size(Path.of(image)), suspended.get("archive_bytes").asLong());
        assertTrue(suspended.get("processes").asInt() >= 2, suspended.toString());
        assertEquals(StageStatus.State.SUSPENDED, only().state());
        JsonNode listed = call("list", "--json").exits(0).json().at("/stages/0");
        assertEquals(
                List.of(id, image),
                List.of(listed.get("id").asText(), listed.get("image").asText()));
        assertEquals(only().tier().name(), listed.get("tier").asText());
        String from = listed.get("tier").asText().toLowerCase(Locale.ROOT).replace('_', '-');
        assertTrue(call("list").out().lines().anyMatch(l -> l.contains(image) && l.contains(" " + from + " ")));

        JsonNode seen = call("inspect", image, "--json").exits(0).json();
        assertEquals(id, seen.at("/manifest/stage_id").asText());
        assertEquals(suspended.get("processes"), seen.at("/manifest/processes"));
        assertEquals(Proc.machine(), seen.at("/manifest/arch").asText());
        assertEquals(suspended.get("image_id"), seen.at("/chain/image_id"));
        for (String field : List.of("preflight_ms", "freeze_ms", "dump_ms", "handover")) {
            assertEquals(suspended.get(field), seen.at("/manifest/timings/" + field), field);
        }
        assertShowsItsContent(image, seen);
        call("suspend", id, "--to", folder.resolve("again.image").toString()).refuses(id);
        assertFalse(Files.exists(folder.resolve("again.image")));

        int before = numbers().size();
        JsonNode resumed = call("resume", id).exits(0).json();
        assertEquals(id, resumed.get("id").asText());
        assertTrue(
                resumed.get("restore_ms").asLong() >= 0
                        && resumed.get("processes").equals(suspended.get("processes")),
                resumed.toString());
        untilAtLeast(before + 5);

        call("resume", "--from", image).refuses(id);
        Path first = Files.copy(Path.of(image), folder.resolve("first.image"));
        call("suspend", id, "--to", image).exits(0);
        assertShowsWhatChanged(id, first.toString(), image);
        call("resume", "--from", image).exits(0);
        assertADifferenceNamesItsParent(id, image);
        call("wait", id).exits(7);
        assertEquals(IntStream.rangeClosed(1, 300).mapToObj(Integer::toString).toList(), numbers());
        call("suspend", id, "--to", image).refuses(id, "ended");
    }

    private void assertADifferenceNamesItsParent(String id, String image) throws Exception {
        String second = folder.resolve("second.image").toString();
        JsonNode suspended =
                call("suspend", id, "--difference", "--to", second).exits(0).json();
        assertEquals("DIFFERENCE", suspended.get("extent").asText(), suspended.toString());
        JsonNode seen = call("inspect", second, "--json").exits(0).json();
        JsonNode parent = seen.at("/chain/parent");
        assertEquals(suspended.get("parent_id"), parent.get("image_id"));
        assertEquals(image, parent.get("file").asText());
        assertTrue(
                parent.get("at_hand").asBoolean()
                        && seen.at("/chain/referenced_bytes").asLong() > 0,
                seen.toString());
        String text = call("inspect", second).exits(0).out();
        assertTrue(text.contains(" by reference\nparent     ") && text.contains(" in " + image + ", suspended "), text);
        assertTrue(text.contains("\ntimes      preflight ") && text.contains("\nhost       "), text);

        JsonNode changed = call("diff", image, second, "--json").exits(0).json();
        long pages = 0;
        long different = 0;
        for (JsonNode each : changed.get("memory")) {
            pages += each.get("pages").asLong();
            different += each.get("changed").asLong();
        }
        assertTrue(pages > 0 && different < pages, changed.toString());
        Path aside = Files.move(Path.of(image), folder.resolve("aside"));
        call("diff", second, second).refuses(image);
        assertTrue(call("inspect", second).exits(0).out().contains("which is not there"));
        Files.move(aside, Path.of(image));
        call("resume", "--from", second).exits(0);
    }

    private void assertShowsItsContent(String image, JsonNode seen) throws Exception {
        assertEquals(
                seen.at("/manifest/processes").asInt(), seen.get("processes").size());
        JsonNode shell = seen.at("/processes/1");
        assertEquals("counter", shell.at("/command_line/3").asText());
        assertTrue(shell.at("/memory/HEAP/stored").asLong() > 0, shell.toString());
        assertEquals("FILE", shell.at("/open_files/1/kind").asText());
        assertFalse(shell.has("environment") || seen.toString().contains("PATH=/"), "only on demand");
        JsonNode more = call("inspect", image, "--json", "--env").exits(0).json();
        assertTrue(more.at("/processes/1/environment").toString().contains("PATH="), more.toString());
        String text = call("inspect", image).exits(0).out();
        for (String section : List.of("memory ", "open files", "mounts ", "namespaces pid mnt ipc", "files ")) {
            assertTrue(text.contains("\n" + section), text);
        }
        assertTrue(text.matches("(?s).*\n    \\d+ sh -c i=0;.*output\\.log \\(write, append\\).*"), text);
        assertFalse(text.contains("environments"), text);
        assertTrue(call("inspect", image, "--env").exits(0).out().contains("\nenvironments\n"), text);
    }

    private void assertShowsWhatChanged(String id, String earlier, String later) throws Exception {
        JsonNode json = call("diff", earlier, later, "--json").exits(0).json();
        assertEquals(id, json.at("/earlier/stage_id").asText());
        // Not by its place: the init is a shell too, and after a resume new processes may get lower numbers.
        JsonNode shell = Stream.of(0, 1, 2)
                .map(json.get("memory")::get)
                .filter(owner -> owner != null && "sh".equals(owner.path("comm").asText()))
                .max(Comparator.comparing(owner -> owner.get("changed").asInt()))
                .orElseThrow(() -> new AssertionError(json.toString()));
        assertTrue(shell.get("changed").asInt() > 0
                && shell.get("changed").asInt() <= shell.get("pages").asInt());
        assertTrue(shell.get("percent").asDouble() > 0, json.toString());
        String text = call("diff", earlier, later).exits(0).out();
        assertTrue(text.matches("(?s).*\n  \\d+ sh +\\d+ of +\\d+ +\\d+\\.\\d %\n.*"), text);
        JsonNode same = call("diff", later, later, "--json").exits(0).json();
        same.get("memory").forEach(owner -> assertEquals(0, owner.get("changed").asInt(), same.toString()));
        assertEquals(
                0,
                same.get("opened").size()
                        + same.get("came").size()
                        + same.get("mounted").size());
    }

    @Test
    void aCheckSaysWhatTiesAStageToTheOutside() throws Exception {
        String id = startCounter(5000, 0);
        untilAtLeast(1);
        assertTrue(call("check", id).exits(0).out().contains("can be suspended"));
        JsonNode free = call("check", id, "--json").exits(0).json();
        assertTrue(free.get("ok").asBoolean() && free.get("leaks").isEmpty(), free.toString());
        assertTrue(free.at("/options/ghost_limit_bytes").asLong() > 0, free.toString());

        String bash = "exec 7<>/dev/tcp/127.0.0.1/$0; echo ready; while :; do sleep 0.1; done";
        try (java.net.ServerSocket server =
                new java.net.ServerSocket(0, 5, java.net.InetAddress.getLoopbackAddress())) {
            String port = Integer.toString(server.getLocalPort());
            String tied = call("run", "--dir", folder.toString(), "--", "bash", "-c", bash, port)
                    .exits(0)
                    .out()
                    .strip();
            Awaitility.await()
                    .atMost(Duration.ofSeconds(30))
                    .until(() -> call("check", tied).status() == ExitStatus.TIED);
            CommandLineCall text = call("check", tied).exits(5);
            assertTrue(text.out().contains("  what  descriptor 7: TCP from port "), text::toString);
            assertTrue(
                    text.out().contains("  why   A process of the stage holds a TCP connection to the outside."),
                    text::toString);
            assertTrue(text.out().contains("  help  ") && text.out().contains("perhaps later"), text::toString);
            JsonNode obstacle = call("check", tied, "--json").exits(5).json().at("/leaks/0");
            assertEquals("CONNECTED_TCP", obstacle.get("reason").asText());
            assertTrue(
                    obstacle.get("passing").asBoolean() && obstacle.get("pid").asLong() > 1, obstacle.toString());
            assertTrue(obstacle.get("command").asText().startsWith("bash -c exec 7<>"), obstacle.toString());
            call("kill", tied).exits(0);
            call("check", tied).refuses(tied);
        }
        call("check", "no-such-stage").refuses("no-such-stage");
        call("check", "NOT AN ID").refuses("preempt list");
    }

    @Test
    void preservedPathsComeBackWithTheStage() throws Exception {
        Path notes = Files.createDirectory(folder.resolve("notes"));
        String counting = "i=0; while :; do i=$((i+1)); echo $i >> \"$0\"; sleep 0.02; done";
        Path count = notes.resolve("count");
        call("run", "--preserve", folder.resolve("none").toString(), "--", "true")
                .refuses("none", "--preserve");
        call("run", "--preserve", folder.toString(), "--", "true").refuses(folder.toString(), home.toString());
        call("run", "--", "true", "d/f\ufffd").refuses("d/f\ufffd", "script");
        Path link = Files.createSymbolicLink(folder.resolve("link"), notes);
        call("run", "--preserve", link.toString(), "--", "true").refuses(link.toString(), "is a link");
        String id = call("run", "--preserve", notes.toString(), "--", "sh", "-c", counting, count.toString())
                .exits(0)
                .out()
                .strip();
        Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> Files.exists(count));
        String image = folder.resolve("stage.image").toString();
        call("suspend", id, "--to", image).exits(0);
        List<String> counted = Files.readAllLines(count);
        Files.writeString(count, "spoilt");
        call("resume", id).exits(0);
        Awaitility.await()
                .atMost(Duration.ofSeconds(30))
                .until(() -> Files.readAllLines(count).size() > counted.size());
        List<String> now = Files.readAllLines(count);
        assertEquals(
                IntStream.rangeClosed(1, now.size()).mapToObj(Integer::toString).toList(), now);
    }

    @Test
    void connectionsToTheOutsideAreCutOnlyWhereThatWasAskedFor() throws Exception {
        try (java.net.ServerSocket server =
                new java.net.ServerSocket(0, 5, java.net.InetAddress.getLoopbackAddress())) {
            String bash = "exec 7<>/dev/tcp/127.0.0.1/$0; touch connected; read -u 7 line; touch cut; sleep 1000";
            String id = call(
                            "run",
                            "--dir",
                            folder.toString(),
                            "--close-connections",
                            "--",
                            "bash",
                            "-c",
                            bash,
                            Integer.toString(server.getLocalPort()))
                    .exits(0)
                    .out()
                    .strip();
            try (java.net.Socket peer = server.accept()) {
                Awaitility.await()
                        .atMost(Duration.ofSeconds(30))
                        .until(() -> Files.exists(folder.resolve("connected")));
                call("suspend", id, "--to", folder.resolve("stage.image").toString())
                        .exits(0);
                assertFalse(Files.exists(folder.resolve("cut")));
                call("resume", id).exits(0);
                Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> Files.exists(folder.resolve("cut")));
            }
        }
    }

    @Test
    void onlyAnImageOfTheSameStageIsReplaced() throws Exception {
        String id = startCounter(5000, 0);
        Path notes = Files.writeString(folder.resolve("notes.txt"), "my notes");
        call("suspend", id, "--to", notes.toString()).refuses("notes.txt", "is not replaced");
        call("suspend", id, "--to", folder.toString()).refuses(folder.toString(), "--to");
        call("suspend", id, "--to", folder.resolve("no/such/x").toString()).refuses("no/such", "--to");
        assertEquals("my notes", Files.readString(notes));
        assertEquals(StageStatus.State.RUNNING, only().state());
    }

    @Test
    void aWrongImageStartsNothingAndIsKept() throws Exception {
        String id = startCounter(5000, 0);
        Path image = folder.resolve("stage.image");
        untilAtLeast(1);
        call("suspend", id, "--to", image.toString()).exits(0);
        byte[] whole = Files.readAllBytes(image);
        byte[] changed = whole.clone();
        changed[whole.length / 2] ^= 1;
        Files.write(image, changed);
        call("resume", id).refuses("stage.image");
        assertArrayEquals(changed, Files.readAllBytes(image));
        assertEquals(StageStatus.State.SUSPENDED, only().state());
        Files.write(image, whole);
        call("resume", id).exits(0);
        call("kill", id).exits(0);
        assertEquals(StageStatus.State.KILLED, only().state());
    }

    @Test
    void aFullDiskLeavesTheStageRunning() throws Exception {
        Path disk = Files.createDirectory(folder.resolve("disk"));
        int status = new ProcessBuilder("mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk.toString())
                .inheritIO()
                .start()
                .waitFor();
        assumeTrue(status == 0, "this machine does not let root mount a tmpfs, so a full disk cannot be tried");
        try {
            String id = startCounter(5000, 0);
            untilAtLeast(1);
            Path image = disk.resolve("stage.image");
            CommandLineCall call = call("suspend", id, "--to", image.toString())
                    .exits(ExitStatus.SUSPEND_FAILED)
                    .says(image.toString(), "free some space");
            JsonNode json = call.json();
            assertEquals(id, json.get("id").asText());
            assertTrue(json.get("reason").asText().contains(image.toString()), json.toString());
            assertTrue(json.get("criu").isArray(), json.toString());
            assertEquals(StageStatus.State.RUNNING, only().state());
            untilAtLeast(numbers().size() + 5);
            assertEquals(0, disk.toFile().list().length);
        } finally {
            assertEquals(
                    0,
                    new ProcessBuilder("umount", disk.toString())
                            .inheritIO()
                            .start()
                            .waitFor());
        }
    }

    @Test
    void withoutCriuTheStageRunsOn() throws Exception {
        String id = startCounter(5000, 0);
        untilAtLeast(1);
        Path image = folder.resolve("stage.image");
        List<String> command = JavaCommand.words("-cp", System.getProperty("java.class.path"), Preempt.class.getName());
        command.addAll(List.of("suspend", id, "--to", image.toString()));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("PREEMPTIBLE_HOME", home.toString());
        builder.environment().put("PREEMPTIBLE_CRIU", folder.resolve("no-criu").toString());
        File err = folder.resolve("err").toFile();
        Process process = builder.redirectError(err).start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        CommandLineCall call = new CommandLineCall(process.waitFor(), out, Files.readString(err.toPath()))
                .exits(ExitStatus.SUSPEND_FAILED)
                .says("CRIU");
        assertTrue(call.json().get("reason").asText().contains("CRIU was not found"), out);
        assertFalse(Files.exists(image));
        untilAtLeast(numbers().size() + 5);
    }

    @Test
    void theDemoLosesNothing() throws Exception {
        StringWriter out = new StringWriter();
        boolean ok = io.jenkins.plugins.preemptible.engine.demo.Demo.run(new PrintWriter(out));
        String last = out.toString().lines().reduce((first, second) -> second).orElse("");
        assertTrue(ok, out.toString());
        assertTrue(
                last.matches(
                        "demo: ok preemptor_waited_ms=\\d+ suspended_ms=\\d+ sealed_ms=\\d+ resumed_ms=\\d+ work_lost=0"),
                last);
    }
}
