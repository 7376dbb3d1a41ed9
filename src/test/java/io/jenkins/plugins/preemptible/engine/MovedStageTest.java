package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.TrialResult;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import io.jenkins.plugins.preemptible.engine.image.Arrival;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import io.jenkins.plugins.preemptible.engine.move.HostFit;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.engine.move.Luggage;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.move.StageNeeds;
import io.jenkins.plugins.preemptible.engine.trial.TrialElsewhere;
import java.io.File;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A stage resumes on another agent; with real CRIU.
 *
 * <p>Two folders stand for two hosts: each agent's process has a mount namespace of its own, in which its folder lies at
 * the one path that both agents use.
 */
@Tag("host")
class MovedStageTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final String DONE = "done as asked";
    private static final String SKIPPED = "skipped: ";
    /**
     * 4 MB of memory, a file of its own /tmp, a deleted file, a FIFO, programs of the workspace and of /tmp, a file of the
     * host, and a log that is kept open.
     */
    private static final String COUNTS =
            "{ exec 3> gone 4< ../../tools/data; rm gone; mkfifo fifo; exec 5<> fifo; cp /bin/sleep nap; ./nap 1000 & cp nap /tmp/nap; /tmp/nap 1000 & echo kept > /tmp/own; x=$(head -c 3000000 /dev/urandom"
                    + " | base64 -w 0); sum=$(echo \"$x\" | md5sum); i=0; while :; do i=$((i+1)); echo line $i; echo $i >&3;"
                    + " [ \"$(cat /tmp/own)\" = kept ] && [ \"$(echo \"$x\" | md5sum)\" = \"$sum\" ] || echo broken;"
                    + " sleep 0.1; done; } > log 2>&1 < /dev/null &";

    private final StageId id = StageId.create("moved");
    private Path temp;
    private Path agent;

    @BeforeEach
    void folders() throws Exception {
        assumeTrue(HostProcess.isRoot() && HostTool.find("unshare").isPresent(), "a mount namespace is needed");
        temp = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-move");
        agent = Files.createDirectory(temp.resolve("agent"));
        for (String each : List.of("A", "B")) {
            Files.createDirectories(temp.resolve(each).resolve("tools"));
            Files.writeString(temp.resolve(each).resolve("tools/data"), "of the host");
        }
        Files.writeString(temp.resolve("key"), ImageKey.generate().export());
    }

    @AfterEach
    void delete() throws Exception {
        if (temp != null) {
            on("A", End.class);
            on("B", End.class);
            StageBench.delete(temp);
        }
    }

    @Test
    void itGoesOnThereAndComesBack() throws Exception {
        String said = on("A", Start.class);
        int skipped = said.indexOf(SKIPPED);
        assumeTrue(
                skipped < 0,
                () -> said.substring(skipped + SKIPPED.length())
                        .lines()
                        .findFirst()
                        .orElse(""));
        runsOn("A");
        for (List<String> way : List.of(List.of("A", "B"), List.of("B", "A"), List.of("A", "B"))) {
            done(on(way.get(0), Suspend.class));
            if (StageBench.lines(log("B")) == 0) {
                theTrialTells();
            }
            long lines = StageBench.lines(log(way.get(0)));
            done(on(way.get(1), Resume.class));
            done(on(way.get(0), Clean.class));
            runsOn(way.get(1));
            assertEquals(lines, StageBench.lines(log(way.get(0))), "the old agent's log is left alone");
        }
        List<String> lines = Files.readAllLines(log("B"));
        for (int i = 0; i < lines.size(); i++) {
            assertEquals("line " + (i + 1), lines.get(i));
        }
    }

    /** Before anything of the stage is on B but the beginning of its image. */
    private void theTrialTells() throws Exception {
        Files.delete(temp.resolve("B/tools/data"));
        String refused = on("B", Try.class);
        assertTrue(refused.contains("FAILED") && refused.contains("tools/data"), refused);
        Files.copy(temp.resolve("A/tools/data"), temp.resolve("B/tools/data"));
        String leftOut = on("B", Try.class, "log");
        assertTrue(leftOut.contains("FAILED") && leftOut.contains("job/log open"), leftOut);
        String folder = on("B", Try.class, "job");
        assertTrue(folder.contains("FAILED") && folder.contains("works in " + agent + "/workspace/job,"), folder);
        String tried = on("B", Try.class);
        assertTrue(tried.contains("PASSED"), tried);
        done(tried);
        assertFalse(Files.exists(temp.resolve("B/workspace")), "the trial has no workspace");
    }

    private Path log(String name) {
        return temp.resolve(name).resolve("workspace/job/log");
    }

    private void runsOn(String name) {
        long before = StageBench.lines(log(name));
        StageBench.until("output on " + name, SOON, () -> StageBench.lines(log(name)) > before + 3);
    }

    private static void done(String said) {
        assertTrue(said.endsWith(DONE + "\n"), said);
        System.out.print(said);
    }

    /** In a process of the agent's own, which has its folder at the path of both. */
    private String on(String name, Class<?> main, String... more) {
        List<String> command = new ArrayList<>(List.of(
                "unshare",
                "--mount",
                "--propagation",
                "private",
                "/bin/sh",
                "-c",
                "mount --bind \"$1\" \"$2\" || exit 1; shift 2; exec \"$@\"",
                "agent",
                temp.resolve(name).toString(),
                agent.toString(),
                System.getProperty("java.home") + "/bin/java",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName(),
                agent.toString(),
                temp.toString(),
                id.value()));
        command.addAll(List.of(more));
        return HostTool.run(180, command).text();
    }

    /** What an agent has: its folder, and the folder that stands for the controller. */
    private record Agent(Path folder, Path shared, StageId id, Engine engine) {
        static Agent of(String[] words) {
            Path folder = Path.of(words[0]);
            return new Agent(
                    folder, Path.of(words[1]), StageId.parse(words[2]), Engine.open(folder.resolve("preemptible")));
        }

        Path workspace() {
            return folder.resolve("workspace/job");
        }

        List<Path> folders() {
            return List.of(workspace(), folder.resolve("workspace/job@tmp"));
        }

        ImageKey key() throws Exception {
            return ImageKey.parse(Files.readString(shared.resolve("key")));
        }

        HostTraits traits(Collection<String> files) throws Exception {
            return HostTraits.read(folder.resolve("preemptible"), new CriuSearch(), files);
        }
    }

    static final class Start {
        public static void main(String[] words) throws Exception {
            Agent here = Agent.of(words);
            HostReport report = here.engine.check();
            if (!report.ok()) {
                System.out.println(SKIPPED + "this host cannot suspend stages: " + report.missing());
                return;
            }
            Files.createDirectories(here.workspace());
            here.engine.start(new StageSpec(here.id, "moved", here.workspace(), List.of(), null));
            List<String> command =
                    new ArrayList<>(here.engine.enterCommand(here.id).words());
            command.addAll(List.of("/bin/bash", "-c", COUNTS));
            new ProcessBuilder(command)
                    .directory(here.workspace().toFile())
                    .redirectInput(new File("/dev/null"))
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            StageBench.until(
                    "output", SOON, () -> StageBench.lines(here.workspace().resolve("log")) > 2);
            System.out.println(DONE);
        }
    }

    static final class Suspend {
        public static void main(String[] words) throws Exception {
            Agent here = Agent.of(words);
            try {
                here.engine.suspend(here.id, here.shared.resolve("image"), here.key());
            } catch (EngineException e) {
                System.out.println(e.getMessage() + e.criuLines());
                throw e;
            }
            long begun = System.nanoTime();
            Luggage.pack(here.id, here.folders(), here.shared.resolve("luggage"), here.key());
            System.out.println(
                    "packed in " + Duration.ofNanos(System.nanoTime() - begun).toMillis() + " ms");
            try (ObjectOutputStream out =
                    new ObjectOutputStream(Files.newOutputStream(here.shared.resolve("traits")))) {
                out.writeObject(here.traits(List.of()));
            }
            System.out.println(DONE);
        }
    }

    /** From the beginning of the archive, as long as it has to be. */
    static final class Try {
        public static void main(String[] words) throws Exception {
            Agent here = Agent.of(words);
            byte[] image = Files.readAllBytes(here.shared.resolve("image"));
            Path beginning = here.folder.resolve("preemptible/beginning");
            for (int bytes = 100_000; ; bytes += 100_000) {
                Files.write(beginning, Arrays.copyOf(image, Math.min(image.length, bytes)));
                long begun = System.nanoTime();
                try (TrialElsewhere trial =
                        TrialElsewhere.open(here.id, beginning, here.key(), here.folder.resolve("preemptible/trial"))) {
                    TrialResult result = trial.run(
                            here.folders(),
                            path -> path.endsWith(words.length > 3 ? words[3] : "none"),
                            new CriuSearch().usable().orElseThrow());
                    System.out.println(result + ", with " + Math.min(image.length, bytes) + " of " + image.length
                            + " bytes, in "
                            + Duration.ofNanos(System.nanoTime() - begun).toMillis() + " ms");
                    break;
                } catch (ImageException e) {
                    if (bytes >= image.length) {
                        throw e;
                    }
                }
            }
            Files.delete(beginning);
            if (Files.exists(here.folder.resolve("preemptible/trial"))) {
                throw new AssertionError("the trial has left something");
            }
            System.out.println(DONE);
        }
    }

    static final class Resume {
        public static void main(String[] words) throws Exception {
            Agent here = Agent.of(words);
            StageNeeds needs =
                    StageNeeds.of(ImageArchive.manifestOf(here.shared.resolve("image"), here.key()), 1, here.folders());
            try (ObjectInputStream in = new ObjectInputStream(Files.newInputStream(here.shared.resolve("traits")))) {
                HostTraits there = (HostTraits) in.readObject();
                List<Misfit> misfits =
                        HostFit.misfits(there, here.traits(needs.buildIds().keySet()), needs);
                if (!misfits.isEmpty() || needs.buildIds().isEmpty()) {
                    throw new AssertionError(misfits.toString());
                }
            }
            long begun = System.nanoTime();
            Luggage.unpack(
                    here.folder.resolve("preemptible"),
                    here.id,
                    here.folders(),
                    here.shared.resolve("luggage"),
                    here.key(),
                    here.folder.resolve("preemptible/luggage"));
            System.out.println(
                    "unpacked in " + Duration.ofNanos(System.nanoTime() - begun).toMillis() + " ms");
            Path image = here.shared.resolve("image");
            here.engine.unpackAhead(image, here.key(), new Arrival(Duration.ofMinutes(1)), () -> false);
            long pages = unpacked();
            Path note = here.shared.resolve("image.unpacked");
            if (pages != 1 || !Files.isDirectory(Path.of(Files.readString(note)))) {
                throw new AssertionError(pages + " images were unpacked ahead, noted: " + Files.exists(note));
            }
            try {
                ResumeReport report = here.engine.resume(image, here.key());
                System.out.println(report);
                if (unpacked() != 0 || Files.exists(note)) {
                    throw new AssertionError("the unpacked image is left, or its note");
                }
            } catch (EngineException e) {
                System.out.println(e.getMessage() + e.criuLines());
                throw e;
            }
            System.out.println(DONE);
        }
    }

    /** How many images this process holds unpacked. */
    private static long unpacked() throws IOException {
        String own = "-" + ProcessHandle.current().pid() + "-";
        try (Stream<Path> files = Files.list(Path.of("/dev/shm"))) {
            return files.filter(file -> file.getFileName().toString().contains(own))
                    .count();
        }
    }

    static final class Clean {
        public static void main(String[] words) {
            Agent here = Agent.of(words);
            here.engine.kill(here.id);
            here.engine.forget(here.id);
            System.out.println(DONE);
        }
    }

    static final class End {
        public static void main(String[] words) {
            Agent here = Agent.of(words);
            here.engine.list().forEach(stage -> {
                here.engine.kill(stage.id());
                here.engine.forget(stage.id());
            });
        }
    }
}
