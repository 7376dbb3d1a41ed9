package io.jenkins.plugins.preemptible.engine.move;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.home.OldImages;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.preserved.OpenFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The process that unpacks a stage's folders is killed, or goes on after the stage was removed from the host. */
class CutOffUnpackingTest {

    private static final StageId ID = StageId.create("test");
    private static final ImageKey KEY = ImageKey.generate();
    private static final String NEW = "new";
    private static final String OLD = "old";
    private static final String NONE = "none";
    private static final int FILES = 50;

    @TempDir
    Path folder;

    private final AtomicInteger scratches = new AtomicInteger();
    private Path home;
    private Path workspace;
    private Path temporary;

    @BeforeEach
    void packed() throws Exception {
        folder = folder.toRealPath();
        home = folder.resolve("home");
        workspace = Files.createDirectories(folder.resolve("agent/workspace/a job"));
        temporary = workspace.resolveSibling("a job@tmp");
        Files.createDirectory(temporary);
        fill(NEW);
        Files.createLink(temporary.resolve("linked"), workspace.resolve(NEW));
        for (int file = 0; file < FILES; file++) {
            Files.writeString(workspace.resolve("file " + file), "");
        }
        Luggage.pack(ID, folders(), folder.resolve("luggage"), KEY);
        StageFolder.delete(workspace);
        StageFolder.delete(temporary);
    }

    /** One thread deletes, in turns: what is asked for last is done last. */
    @AfterEach
    void deletedInTheBackground() {
        CountDownLatch deleted = new CountDownLatch(1);
        OldImages.later(deleted::countDown);
        await(deleted);
    }

    private List<Path> folders() {
        return List.of(workspace, temporary);
    }

    private void fill(String name) throws IOException {
        for (Path each : folders()) {
            Files.writeString(Files.createDirectories(each).resolve(name), name);
        }
    }

    private void unpack(Renames renames) throws IOException {
        Path scratch = folder.resolve("scratch " + scratches.incrementAndGet());
        Luggage.unpack(home, ID, folders(), folder.resolve("luggage"), KEY, scratch, renames);
    }

    /** Which of the two is in the place. */
    private static String in(Path place) {
        if (!Files.exists(place)) {
            return NONE;
        }
        boolean isNew = Files.exists(place.resolve(NEW));
        assertEquals(!isNew, Files.exists(place.resolve(OLD)), "one of the two in " + place);
        return isNew ? NEW : OLD;
    }

    private List<String> hidden() throws IOException {
        try (var all = Files.list(workspace.getParent())) {
            return all.map(path -> path.getFileName().toString())
                    .filter(name -> name.startsWith("."))
                    .toList();
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(1, TimeUnit.MINUTES));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Waits until it is done. */
    private void clean(StageId id) throws Exception {
        CountDownLatch gone = new CountDownLatch(1);
        Luggage.removeHidden(home, id, gone::countDown);
        await(gone);
    }

    private void assertNothingIsLeft() throws IOException {
        assertEquals(List.of(), hidden());
        assertFalse(Luggage.isNoted(home, ID));
    }

    /** One that has done so many steps, and goes on when it is told to. */
    private record Stopped(StoppedRenames at, CompletableFuture<Exception> end) {
        Exception goOn() throws Exception {
            at.goOn();
            return end.get(1, TimeUnit.MINUTES);
        }
    }

    private Stopped stopped(boolean exchanges, int steps) throws Exception {
        StoppedRenames at = new StoppedRenames(exchanges, steps);
        CompletableFuture<Exception> end = new CompletableFuture<>();
        Thread unpacking = new Thread(() -> {
            try {
                unpack(at);
                end.complete(null);
            } catch (IOException | RuntimeException e) {
                end.complete(e);
            }
        });
        unpacking.setDaemon(true);
        unpacking.start();
        at.awaitStop();
        return new Stopped(at, end);
    }

    /** After each step, and what is in the two places then, and after the host was cleaned of the stage. */
    @ParameterizedTest
    @CsvSource({
        "true,  0, old,  old,  old, old",
        "true,  1, new,  old,  new, old",
        "true,  2, new,  new,  new, new",
        "false, 0, old,  old,  old, old",
        "false, 1, none, old,  old, old",
        "false, 2, new,  old,  new, old",
        "false, 3, new,  none, new, old",
        "false, 4, new,  new,  new, new"
    })
    void wholeFoldersAreInTheirPlaces(
            boolean exchanges, int steps, String work, String tmp, String cleanedWork, String cleanedTmp)
            throws Exception {
        fill(OLD);
        Stopped stopped = stopped(exchanges, steps);
        assertEquals(List.of(work, tmp), List.of(in(workspace), in(temporary)));
        assertEquals(2, hidden().size());
        clean(ID);
        assertEquals(List.of(cleanedWork, cleanedTmp), List.of(in(workspace), in(temporary)));
        assertNothingIsLeft();
        stopped.goOn();
        assertEquals(List.of(cleanedWork, cleanedTmp), List.of(in(workspace), in(temporary)));
        assertNothingIsLeft();
    }

    /** The same where nothing was before. */
    @ParameterizedTest
    @CsvSource({
        "true,  0, none, none",
        "true,  1, new,  none",
        "true,  2, new,  new",
        "false, 0, none, none",
        "false, 1, new,  none",
        "false, 2, new,  new"
    })
    void nothingHalfMadeIsInTheirPlaces(boolean exchanges, int steps, String work, String tmp) throws Exception {
        Stopped stopped = stopped(exchanges, steps);
        assertEquals(List.of(work, tmp), List.of(in(workspace), in(temporary)));
        clean(ID);
        assertNothingIsLeft();
        stopped.goOn();
        assertEquals(List.of(work, tmp), List.of(in(workspace), in(temporary)));
        assertNothingIsLeft();
    }

    /** It has the places from the moment on at which the other process was cut off, and is not asked by the cleaning. */
    @ParameterizedTest
    @CsvSource({"true, 0", "true, 1", "true, 2", "false, 0", "false, 1", "false, 2", "false, 3", "false, 4"})
    void whatALaterBuildHasThereStays(boolean exchanges, int steps) throws Exception {
        for (boolean old : new boolean[] {true, false}) {
            if (old) {
                fill(OLD);
            }
            Stopped stopped = stopped(exchanges, old || exchanges ? steps : Math.min(steps, 2));
            fill("later");
            CountDownLatch deletes = new CountDownLatch(1);
            CountDownLatch gone = new CountDownLatch(1);
            OldImages.later(() -> await(deletes));
            Luggage.removeHidden(home, ID, gone::countDown);
            assertLater();
            stopped.goOn();
            assertLater();
            deletes.countDown();
            await(gone);
            assertLater();
            assertNothingIsLeft();
            StageFolder.delete(workspace);
            StageFolder.delete(temporary);
        }
    }

    private void assertLater() throws IOException {
        for (Path each : folders()) {
            assertEquals("later", Files.readString(each.resolve("later")));
        }
    }

    @ParameterizedTest
    @CsvSource({"true, 0", "true, 1", "true, 2", "false, 0", "false, 1", "false, 2", "false, 3", "false, 4"})
    void theNextAttemptBringsItToItsEnd(boolean exchanges, int steps) throws Exception {
        fill(OLD);
        Stopped stopped = stopped(exchanges, steps);
        unpack(Renames.KERNEL);
        assertEquals(List.of(NEW, NEW), List.of(in(workspace), in(temporary)));
        stopped.goOn();
        assertEquals(List.of(NEW, NEW), List.of(in(workspace), in(temporary)));
        assertTrue(Files.isSameFile(workspace.resolve(NEW), temporary.resolve("linked")));
        Awaitility.await().untilAsserted(() -> assertEquals(List.of(), hidden()));
        assertTrue(Luggage.isNoted(home, ID), "the stage is here");
        clean(ID);
        assertNothingIsLeft();
    }

    /** The second of the two places cannot be had. */
    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void allOfThemComeBackWhenOneFails(boolean exchanges, boolean old) throws Exception {
        if (old) {
            fill(OLD);
        }
        String before = old ? OLD : NONE;
        Renames failing = new Renames() {
            private void require(String name, String other) throws IOException {
                if (!Files.exists(workspace.resolve(OLD))
                        && (name + other).contains("@tmp")
                        && in(workspace).equals(NEW)) {
                    throw new IOException("a disk fails");
                }
            }

            @Override
            public boolean exchange(OpenFolder from, String name, OpenFolder to, String other) throws IOException {
                require(name, other);
                return exchanges && from.exchange(name, to, other);
            }

            @Override
            public boolean moveToFree(OpenFolder from, String name, OpenFolder to, String other) throws IOException {
                require(name, other);
                return exchanges && from.moveToFree(name, to, other);
            }

            @Override
            public void move(OpenFolder from, String name, OpenFolder to, String other) throws IOException {
                Renames.KERNEL.move(from, name, to, other);
            }
        };
        assertEquals(
                "a disk fails",
                assertThrows(IOException.class, () -> unpack(failing)).getMessage());
        assertEquals(List.of(before, before), List.of(in(workspace), in(temporary)));
        assertEquals(List.of(), hidden());
    }

    /** A step of the stage that looked for it would end at once. */
    @Test
    void theWorkspaceIsNeverMissing() throws Exception {
        fill(OLD);
        AtomicBoolean done = new AtomicBoolean();
        CompletableFuture<Boolean> missing = CompletableFuture.supplyAsync(() -> {
            while (!done.get()) {
                if (!Files.exists(workspace) || !Files.exists(temporary)) {
                    return true;
                }
            }
            return false;
        });
        for (int times = 0; times < 20 && !missing.isDone(); times++) {
            unpack(Renames.KERNEL);
        }
        done.set(true);
        assertFalse(missing.get());
    }

    /** On the disk of the other tests, and where most hosts have a tmpfs. */
    @Test
    void theKernelExchangesOnATmpfs() throws Exception {
        Path shared = Path.of("/dev/shm");
        assumeTrue(Files.isWritable(shared) && Files.getFileStore(shared).type().equals("tmpfs"), "no tmpfs is here");
        Path own = Files.createTempDirectory(shared, "luggage");
        try (OpenFolder all = OpenFolder.of(own.toRealPath())) {
            Files.createDirectories(own.resolve("one/in one"));
            Files.createSymbolicLink(own.resolve("two"), Path.of("nowhere"));
            assertTrue(all.exchange("one", all, "two"));
            assertTrue(Files.isSymbolicLink(own.resolve("one")));
            assertTrue(Files.exists(own.resolve("two/in one")));
            assertTrue(all.moveToFree("two", all, "three"));
            assertThrows(IOException.class, () -> all.moveToFree("three", all, "one"));
            assertThrows(IOException.class, () -> all.exchange("three", all, "two"));
            workspace = Files.createDirectories(own.resolve("a job"));
            temporary = Files.createDirectories(own.resolve("a job@tmp"));
            Luggage.pack(ID, folders(), folder.resolve("luggage"), KEY);
            fill(OLD);
            unpack(new StoppedRenames(true, -1));
            assertEquals(List.of(), List.of(workspace.toFile().list()));
        } finally {
            StageFolder.delete(own);
        }
    }

    /** The owner of the folder above may put anything there, and take anything away. */
    @Test
    void whatSomebodyHasPlantedIsNotFollowed() throws Exception {
        fill(OLD);
        Path elsewhere =
                Files.createDirectories(folder.resolve("elsewhere/deep")).getParent();
        Path link = workspace.resolveSibling(".preemptible-aside-" + ID + "-0123456789abcdef-a job");
        Files.createSymbolicLink(link, elsewhere);
        Path open = workspace.resolveSibling(".preemptible-aside-" + ID + "-0123456789abcde0-a job");
        Files.createDirectories(open.resolve("new/deep"));
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
        Path strange = workspace.resolveSibling(".preemptible-aside-" + ID + "-0123456789abcde1-a job");
        Files.createDirectories(strange.resolve("new/deep"));
        Files.createDirectories(strange.resolve("old/deep"));
        Files.setPosixFilePermissions(strange, PosixFilePermissions.fromString("rwx------"));
        if (HostProcess.isRoot()) {
            Files.setAttribute(strange, "unix:uid", 65534);
        }
        Stopped stopped = stopped(true, 0);
        Path made = workspace.resolveSibling(hidden().stream()
                .filter(name -> !name.contains("0123456789abcde") && name.endsWith("a job"))
                .findFirst()
                .orElseThrow());
        Files.move(made, made.resolveSibling("taken away"));
        Files.createSymbolicLink(made, elsewhere);
        assertEquals(null, stopped.goOn());
        assertEquals(List.of(NEW, NEW), List.of(in(workspace), in(temporary)));
        clean(ID);
        assertTrue(Files.exists(elsewhere.resolve("deep")));
        assertTrue(Files.exists(link, LinkOption.NOFOLLOW_LINKS) && Files.exists(open.resolve("new/deep")));
        if (HostProcess.isRoot()) {
            assertTrue(Files.exists(strange.resolve("new/deep")) && Files.exists(strange.resolve("old/deep")));
        }
        assertEquals(NEW, in(workspace));
    }

    /** By a link in the place of the folder above, from the moment on at which it is cleaned. */
    @Test
    void aLinkOnTheWayIsNotFollowedByTheCleaning() throws Exception {
        fill(OLD);
        stopped(true, 0);
        Path above = workspace.getParent();
        Path real = above.resolveSibling("real");
        Files.move(above, real);
        Files.createSymbolicLink(above, real);
        Luggage.removeHidden(home, ID, () -> {});
        assertEquals(2, hidden().size());
        assertTrue(Luggage.isNoted(home, ID));
        Files.delete(above);
        Files.move(real, above);
        clean(ID);
        assertNothingIsLeft();
    }

    @Test
    void whatIsOfAnotherStageStays() throws Exception {
        StageId longer = StageId.parse(ID + "-0123abcd");
        Path others = Files.createDirectories(
                workspace.resolveSibling(".preemptible-aside-" + longer + "-0123456789abcdef-a job"));
        Files.setPosixFilePermissions(others, PosixFilePermissions.fromString("rwx------"));
        stopped(true, 0);
        clean(ID);
        clean(longer);
        assertTrue(Files.exists(others));
    }

    /** It was about to make its hidden folders when the host was cleaned. */
    @Test
    void anAttemptThatIsNotNotedAnyMoreEnds() throws Exception {
        fill(OLD);
        FreshFolders late = FreshFolders.begin(home, ID, folders(), List.of(), Renames.KERNEL);
        Files.delete(home.resolve("unpacked/" + ID + ".json"));
        for (OpenFolder hidden : late.hidden().values()) {
            hidden.makePrivate(HiddenFolders.NEW).close();
        }
        assertThrows(IOException.class, late::swap);
        late.close();
        assertEquals(List.of(OLD, OLD), List.of(in(workspace), in(temporary)));
        assertEquals(List.of(), hidden());
    }

    /** A power cut has left an empty file. */
    @Test
    void aNoteWithoutContentIsNone() throws Exception {
        Files.createFile(Files.createDirectories(home.resolve("unpacked")).resolve(ID + ".json"));
        clean(ID);
        unpack(Renames.KERNEL);
        assertEquals(List.of(NEW, NEW), List.of(in(workspace), in(temporary)));
    }

    /** It was not there when the stage was packed. */
    @Test
    void aFolderThatIsNotBroughtIsEmptied() throws Exception {
        fill(OLD);
        StageFolder.delete(temporary);
        Luggage.pack(ID, folders(), folder.resolve("luggage"), KEY);
        fill("stale");
        unpack(Renames.KERNEL);
        assertEquals(OLD, in(workspace));
        assertFalse(Files.exists(workspace.resolve("stale")));
        assertEquals(List.of(), List.of(temporary.toFile().list()));
        StageFolder.delete(temporary);
        unpack(Renames.KERNEL);
        assertFalse(Files.exists(temporary), "none is made");
    }

    /** Really, while the folders are being made. */
    @Test
    void aKilledProcessLeavesTheOldFoldersInTheirPlaces() throws Exception {
        for (int file = 0; file < 5000; file++) {
            Files.writeString(Files.createDirectories(workspace).resolve("many " + file), "");
        }
        fill(NEW);
        Luggage.pack(ID, folders(), folder.resolve("luggage"), KEY);
        folders().forEach(each -> assertTrue(each.resolve(NEW).toFile().delete()));
        fill(OLD);
        Process java = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Unpacking.class.getName(),
                        folder.toString(),
                        ID.value(),
                        KEY.export(),
                        workspace.toString(),
                        temporary.toString())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("said").toFile())
                .start();
        Awaitility.await()
                .atMost(Duration.ofMinutes(1))
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(5))
                .until(() -> hidden().size() == 2 || !java.isAlive());
        java.destroyForcibly().waitFor();
        assertEquals(2, hidden().size(), () -> said());
        assertEquals(List.of(OLD, OLD), List.of(in(workspace), in(temporary)));
        clean(ID);
        assertEquals(List.of(OLD, OLD), List.of(in(workspace), in(temporary)));
        assertNothingIsLeft();
    }

    private String said() {
        try {
            return Files.readString(folder.resolve("said"));
        } catch (IOException e) {
            return e.toString();
        }
    }

    /** A process of its own that unpacks. */
    static final class Unpacking {
        public static void main(String[] words) throws IOException {
            Path folder = Path.of(words[0]);
            List<Path> folders = new ArrayList<>();
            for (String each : List.of(words).subList(3, words.length)) {
                folders.add(Path.of(each));
            }
            Luggage.unpack(
                    folder.resolve("home"),
                    StageId.parse(words[1]),
                    folders,
                    folder.resolve("luggage"),
                    ImageKey.parse(words[2]),
                    folder.resolve("scratch"));
        }
    }
}
