package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.home.LocalImages;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.live.Bases;
import io.jenkins.plugins.preemptible.engine.live.LiveImage;
import io.jenkins.plugins.preemptible.engine.live.LiveRequest;
import io.jenkins.plugins.preemptible.engine.move.Luggage;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A checkpoint of a stage that keeps running; with real CRIU. */
@Tag("host")
class LiveCheckpointTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    /** The file and the variable hold the same number whenever a turn begins, and no line is missing or there twice. */
    private static final String COUNTS =
            "i=0; echo 0 > count; mkdir -p made; { while :; do [ \"$(cat count)\" = $i ] ||"
                    + " echo broken $i; i=$((i+1)); echo $i > count; echo line $i; echo $i > made/$((i%40)); sleep 0.01; done; }"
                    + " > log 2>&1";
    /** The same with memory that is shared with a file, whose times change only now and then. */
    private static final String MAPS = String.join(
            "\n",
            "import mmap, os, sys, time",
            "size = 1 << 20",
            "open('map', 'wb').write(bytes(size))",
            "m = mmap.mmap(os.open('map', os.O_RDWR), size)",
            "i = 0",
            "log = open('log', 'w', buffering=1)",
            "while True:",
            "    if int.from_bytes(m[4096:4104], 'little') != i: log.write('broken %d\\n' % i)",
            "    i += 1",
            "    m[4096:4104] = i.to_bytes(8, 'little')",
            "    if i % 1000 == 0:",
            "        log.write('line %d\\n' % (i // 1000))",
            "        time.sleep(0.001)");

    /**
     * A page of a mapped file is dirty when the file is copied, is written to again without a new time, and the file is not
     * mapped any more soon after.
     */
    private static final String MAPS_FOR_A_TIME = String.join(
            "\n",
            "import mmap, os, sys, time",
            "copy = sys.argv[1] + '/files/0/map'",
            "size = 1 << 20",
            "open('map', 'wb').write(bytes(size))",
            "os.utime('map', (time.time() - 100,) * 2)",
            "file = os.open('map', os.O_RDWR)",
            "m = mmap.mmap(file, size)",
            "os.close(file)",
            "m[0:3] = b'old'",
            "open('large', 'wb').write(os.urandom(200 << 20))",
            "time.sleep(2.5)",
            "log = open('log', 'w', buffering=1)",
            "for i in range(10): log.write('line\\n')",
            "while not os.path.exists(copy) or os.path.getsize(copy) < size: time.sleep(0.001)",
            "m[0:3] = b'new'",
            "m.close()",
            "open('closed', 'w').close()",
            "while True: time.sleep(1)");

    private StageBench bench;
    private Path workspace;
    private final StageId id = StageId.create("live");
    private Engine other;

    @BeforeEach
    void open() throws Exception {
        assumeTrue(HostProcess.isRoot(), "root's rights are needed");
        bench = StageBench.openForArchives();
        workspace = Files.createDirectory(bench.folder.resolve("workspace"));
        other = Engines.direct(bench.folder.resolve("other"), new CriuSearch(), null, new LocalImages(true, 0), true);
        bench.engine.start(new StageSpec(id, "live", workspace, List.of(), null));
    }

    @AfterEach
    void close() throws Exception {
        if (bench != null) {
            if (other != null) {
                for (var stage : other.list()) {
                    other.kill(stage.id());
                    other.forget(stage.id());
                }
            }
            bench.close();
        }
    }

    private void run(String... words) throws IOException {
        List<String> command = new ArrayList<>(bench.engine.enterCommand(id).words());
        command.addAll(List.of("/bin/sh", "-c", "\"$@\" > /dev/null 2>&1 < /dev/null &", "run"));
        command.addAll(List.of(words));
        new ProcessBuilder(command)
                .directory(workspace.toFile())
                .redirectInput(new File("/dev/null"))
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        growsBy(2);
    }

    private Path log() {
        return workspace.resolve("log");
    }

    private void growsBy(int lines) {
        long before = StageBench.lines(log());
        StageBench.until("output", SOON, () -> StageBench.lines(log()) > before + lines);
    }

    private LiveRequest request(String name) {
        return LiveRequest.of(
                bench.folder.resolve(name + ".image"),
                bench.folder.resolve(name + ".luggage"),
                bench.key,
                List.of(workspace, bench.folder.resolve("workspace@tmp")));
    }

    private LiveImage take(String name) {
        return take(request(name));
    }

    private LiveImage take(LiveRequest request) {
        try {
            LiveImage made = bench.engine.checkpoint(id, request);
            System.out.println(made);
            return made;
        } catch (EngineException e) {
            throw new AssertionError(e.getMessage() + e.criuLines(), e);
        }
    }

    /** On a host that does not know the stage, with nothing of its files. */
    private void resume(String name) throws Exception {
        HostProcess init = HostProcess.of(bench.engine.status(id).initPid()).orElseThrow();
        LibC.kill(init.pid(), LibC.SIGKILL);
        StageBench.until("the original is gone", SOON, () -> !init.alive());
        Files.move(workspace, bench.folder.resolve("before " + name));
        Luggage.unpack(
                bench.folder.resolve("home"),
                id,
                request(name).folders(),
                request(name).luggage(),
                bench.key,
                bench.folder.resolve("unpacked"));
        try {
            System.out.println(other.resume(request(name).archive(), bench.key));
        } catch (EngineException e) {
            System.out.println(e.criuLines());
            throw e;
        }
    }

    private void wholeLog() throws IOException {
        List<String> lines = Files.readAllLines(log());
        for (int i = 0; i < lines.size() - 1; i++) {
            assertEquals("line " + (i + 1), lines.get(i));
        }
    }

    private Path home() {
        return bench.folder.resolve("home/stages/" + id);
    }

    private void nothingIsLeft(String name) {
        assertFalse(Files.exists(home().resolve("live")), "copies of files");
        assertFalse(Files.exists(request(name).archive()));
        assertFalse(Files.exists(request(name).luggage()));
        assertEquals(State.RUNNING, bench.engine.status(id).state());
    }

    @Test
    void itGoesOnUndisturbedAndItsImageResumesWithTheFilesOfThatMoment() throws Exception {
        byte[] same = new byte[1 << 20];
        new Random(1).nextBytes(same);
        Files.write(workspace.resolve("same"), same);
        run("/bin/sh", "-c", COUNTS);
        for (int i = 0; i < 3; i++) {
            LiveImage full = take("first");
            assertFalse(full.imageDiffers() || full.filesDiffer(), full.toString());
            growsBy(20);
        }
        long lines = StageBench.lines(log());
        LiveImage last = take(request("last").against(new Bases("first.image", "first.luggage", Set.of())));
        assertTrue(last.imageDiffers() && last.filesDiffer(), last.toString());
        assertTrue(last.fileBytes() > same.length && last.luggageBytes() < same.length / 2, last.toString());
        growsBy(50);
        wholeLog();
        for (Proc.Stat each : Proc.tree(bench.engine.status(id).initPid())) {
            assertEquals(0, Proc.tracer(each.pid()), each.comm());
        }
        resume("last");
        assertArrayEquals(same, Files.readAllBytes(workspace.resolve("same")));
        growsBy(20);
        wholeLog();
        long again = StageBench.lines(bench.folder.resolve("before last/log"));
        assertTrue(lines < again, "work that is repeated");
        assertEquals(1, other.status(id).suspensions());
    }

    @Test
    void aDifferenceIsOfUseOnlyWithItsBase() throws Exception {
        run("/bin/sh", "-c", COUNTS);
        take("base");
        Bases base = new Bases("base.image", "base.luggage", Set.of());
        Path indexes = bench.folder.resolve("home/stages/" + id + "/checkpoint-indexes");
        assertTrue(take(request("one").against(base)).imageDiffers());
        assertTrue(Files.exists(indexes.resolve("base.image")), "it is kept as long as it is named");
        LiveImage unknown = take(request("two").against(new Bases("never.image", null, Set.of("base.image"))));
        assertFalse(unknown.imageDiffers() || unknown.filesDiffer(), "full ones");
        assertTrue(Files.exists(indexes.resolve("base.image")) && Files.exists(indexes.resolve("two.image")));
        LiveRequest otherKey = request("three");
        assertFalse(take(LiveRequest.of(otherKey.archive(), otherKey.luggage(), ImageKey.generate(), otherKey.folders())
                        .against(base))
                .imageDiffers());
        assertFalse(Files.exists(indexes.resolve("two.image")), "nobody named it");
        Path gone = Files.move(request("base").archive(), bench.folder.resolve("gone"));
        EngineException why = assertThrows(EngineException.class, () -> resume("one"));
        assertEquals(FailureReason.IMAGE_UNUSABLE, why.reason(), why.getMessage());
        Files.move(gone, request("base").archive());
        other.resume(request("one").archive(), bench.key);
        growsBy(5);
        wholeLog();
    }

    @Test
    void memoryThatIsSharedWithAFileIsOfThatMoment() throws Exception {
        Optional<Path> python = HostTool.find("python3");
        assumeTrue(python.isPresent(), "python3 is needed");
        Path program = Files.writeString(bench.folder.resolve("maps.py"), MAPS);
        run(python.get().toString(), program.toString());
        take("mapped");
        growsBy(20);
        resume("mapped");
        growsBy(20);
        wholeLog();
    }

    @Test
    void aFileThatIsNotMappedAnyMoreIsOfThatMoment() throws Exception {
        Optional<Path> python = HostTool.find("python3");
        assumeTrue(python.isPresent(), "python3 is needed");
        Path program = Files.writeString(bench.folder.resolve("maps.py"), MAPS_FOR_A_TIME);
        run(python.get().toString(), program.toString(), home().resolve("live").toString());
        take("mapped");
        Files.move(workspace, bench.folder.resolve("before"));
        LiveRequest made = request("mapped");
        Luggage.unpack(
                bench.folder.resolve("home"),
                id,
                made.folders(),
                made.luggage(),
                bench.key,
                bench.folder.resolve("unpacked"));
        assertTrue(Files.exists(workspace.resolve("closed")), "the stage was not frozen too early");
        assertEquals(
                "new",
                Files.readString(workspace.resolve("map"), StandardCharsets.ISO_8859_1)
                        .substring(0, 3));
    }

    @Test
    void itHasRoomForBothArchivesBeforeItStandsStill() throws Exception {
        byte[] large = new byte[200 << 20];
        new Random(2).nextBytes(large);
        Files.write(workspace.resolve("large"), large);
        run("/bin/sh", "-c", COUNTS);
        long free = Files.getFileStore(bench.folder).getUsableSpace();
        boolean[] stood = {false};
        LiveRequest narrow = request("narrow")
                .within(SOON, 1L << 30, free - (300L << 20))
                .asking(
                        stage -> {
                            stood[0] = true;
                            return Optional.empty();
                        },
                        List.of());
        EngineException why = assertThrows(EngineException.class, () -> bench.engine.checkpoint(id, narrow));
        assertEquals(FailureReason.NO_SPACE, why.reason(), why.getMessage());
        assertTrue(why.getMessage().contains("this agent's disk"), why.getMessage());
        assertFalse(stood[0], "it stood still in vain");
        nothingIsLeft("narrow");
    }

    @Test
    void aRefusalLeavesItRunning() throws Exception {
        run("/bin/sh", "-c", COUNTS);
        LiveRequest plain = request("refused");
        Map<FailureReason, LiveRequest> refused = Map.of(
                FailureReason.OBJECTION,
                plain.asking(stage -> Optional.of("not now"), List.of()),
                FailureReason.STOP_TOO_LONG,
                plain.within(Duration.ZERO, 1L << 30, 0),
                FailureReason.NO_SPACE,
                plain.within(SOON, 1L << 30, Long.MAX_VALUE));
        for (Map.Entry<FailureReason, LiveRequest> each : refused.entrySet()) {
            EngineException why =
                    assertThrows(EngineException.class, () -> bench.engine.checkpoint(id, each.getValue()));
            assertEquals(each.getKey(), why.reason(), why.getMessage());
            growsBy(5);
            nothingIsLeft("refused");
        }
        EngineException[] second = new EngineException[1];
        LiveRequest first = request("first")
                .asking(
                        stage -> {
                            second[0] = assertThrows(EngineException.class, () -> bench.engine.checkpoint(id, plain));
                            return Optional.empty();
                        },
                        List.of());
        take(first);
        assertEquals(FailureReason.STAGE_BUSY, second[0].reason(), "one at a time, and it is not disturbed");
        assertTrue(Files.exists(first.archive()) && Files.exists(first.luggage()));
        EngineException files =
                assertThrows(EngineException.class, () -> bench.engine.checkpoint(id, plain.within(SOON, 0, 0)));
        assertEquals(FailureReason.STOP_TOO_LONG, files.reason(), "too many files change");
        run("/bin/sh", "-c", "mkfifo pipe; sleep 1000 < pipe & exec 3<> pipe; sleep 1000");
        wholeLog();
        take("afterwards");
    }

    @Test
    void aDeviceInTheWorkspaceRefuses() throws Exception {
        run("/bin/sh", "-c", COUNTS + " & mknod device c 1 3; wait");
        StageBench.until("the device", SOON, () -> Files.exists(workspace.resolve("device")));
        EngineException why = assertThrows(EngineException.class, () -> bench.engine.checkpoint(id, request("device")));
        assertEquals(FailureReason.UNPACKABLE_FILES, why.reason(), why.getMessage());
        nothingIsLeft("device");
    }

    @Test
    void itIsThawedWhenTheProcessThatFrozeItIsKilled() throws Exception {
        run("/bin/sh", "-c", COUNTS);
        Process killed = new ProcessBuilder(JavaCommand.words(
                        "-cp",
                        System.getProperty("java.class.path"),
                        StandsStill.class.getName(),
                        bench.folder.toString(),
                        id.value()))
                .redirectErrorStream(true)
                .start();
        byte[] word = killed.getInputStream().readNBytes(StandsStill.WORD.length());
        assertEquals(StandsStill.WORD, new String(word));
        long lines = StageBench.lines(log());
        killed.destroyForcibly().waitFor();
        StageBench.until("it runs", SOON, () -> StageBench.lines(log()) > lines + 5);
        take("next");
        resume("next");
        growsBy(5);
        wholeLog();
    }

    @Test
    void aKillInTheMidstOfItEndsBoth() throws Exception {
        run("/bin/sh", "-c", COUNTS);
        LiveRequest killed = request("killed")
                .asking(
                        stage -> {
                            bench.engine.kill(stage);
                            return Optional.empty();
                        },
                        List.of());
        assertThrows(EngineException.class, () -> bench.engine.checkpoint(id, killed));
        assertEquals(State.KILLED, bench.engine.status(id).state());
        assertEquals(0, bench.engine.status(id).initPid());
        assertFalse(Files.exists(bench.folder.resolve("home/stages/" + id + "/live")));
        bench.engine.forget(id);
    }

    @Test
    void aSuspensionWaitsForIt() throws Exception {
        run("/bin/sh", "-c", COUNTS);
        Thread[] suspending = new Thread[1];
        LiveRequest slow = request("slow")
                .asking(
                        stage -> {
                            suspending[0] = new Thread(() -> bench.engine.suspend(id, bench.archive(id), bench.key));
                            suspending[0].start();
                            StageBench.until(
                                    "it waits", SOON, () -> suspending[0].getState() == Thread.State.TIMED_WAITING);
                            return Optional.empty();
                        },
                        List.of());
        bench.engine.checkpoint(id, slow);
        suspending[0].join();
        assertEquals(State.SUSPENDED, bench.engine.status(id).state());
        assertEquals(1, bench.engine.status(id).suspensions());
        bench.engine.resume(bench.archive(id), bench.key);
        growsBy(5);
        wholeLog();
    }
}
