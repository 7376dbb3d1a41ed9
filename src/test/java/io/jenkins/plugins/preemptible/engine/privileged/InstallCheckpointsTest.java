package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.privileged.install.CheckpointUser;
import io.jenkins.plugins.preemptible.engine.privileged.install.InstalledLevel;
import io.jenkins.plugins.preemptible.engine.privileged.install.PrivilegedInstall;
import io.jenkins.plugins.preemptible.engine.privileged.install.RootsFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Installations of the level "checkpoints" that cannot work are refused in a sentence, and change nothing. */
@Tag("host")
class InstallCheckpointsTest {

    private static PrivilegedHost host;
    private static Path criu;

    @BeforeAll
    static void install() throws Exception {
        Optional<Criu> usable = new CriuSearch().usable();
        assumeTrue(usable.isPresent(), "no CRIU works on this host");
        host = PrivilegedHost.open(usable.get().program());
        criu = host.criu;
    }

    @AfterAll
    static void remove() throws Exception {
        if (host != null) {
            host.close();
        }
    }

    /** Everything that is installed, by its path, with the time of its last change. */
    private static Map<String, String> installed() throws IOException {
        Map<String, String> all = new TreeMap<>();
        for (Path root :
                new Path[] {host.place.program(), host.place.library(), host.place.store(), host.place.rule()}) {
            try (Stream<Path> files = Files.walk(root)) {
                for (Path file : files.toList()) {
                    all.put(
                            file.toString(),
                            Files.isRegularFile(file)
                                    ? new String(Files.readAllBytes(file), java.nio.charset.StandardCharsets.ISO_8859_1)
                                    : "");
                }
            }
        }
        return all;
    }

    private static String refusal(String who, Path criu) throws IOException {
        Map<String, String> before = installed();
        String words = assertThrows(
                        PrivilegedInstall.RefusedInstall.class, () -> host.place.install(who, host.source, criu))
                .getMessage();
        assertTrue(before.equals(installed()), "nothing is changed");
        assertFalse(words.contains("\n"), words);
        return words;
    }

    /** The program is compiled and asked, and only the canary finds it. */
    @Test
    void aCriuThatDoesNotDumpIsFoundByTheCanary() throws Exception {
        Path broken = Files.writeString(host.base.resolve("criu"), "#!/bin/sh\necho 'Error (x): broken'\nexit 3\n");
        Files.setPosixFilePermissions(broken, PosixFilePermissions.fromString("rwxr-xr-x"));
        String words = refusal(host.one.name(), broken);
        assertTrue(words.contains("cannot be dumped on this host: CRIU ended with 3"), words);
        assertTrue(words.contains("install without --checkpoints"), words);
        assertFalse(Files.exists(host.place.store().resolve(".canary")));
        assertEquals(0, host.store(host.one).toFile().list().length, "no stage is left");
    }

    /** It could be traced by the user's others, and type into the terminal that the administrator installs from (TIOCSTI). */
    @Test
    void noProcessOfTheUsersIsInTheAdministratorsSession() throws Exception {
        Path folder = host.place.store().resolve(".canary/user");
        Thread installing =
                new Thread(() -> assertDoesNotThrow(() -> host.place.install(host.one.name(), host.source, criu)));
        installing.setUncaughtExceptionHandler((thread, x) -> {});
        installing.start();
        while (installing.isAlive() && !Files.isDirectory(folder)) {
            Thread.sleep(1);
        }
        // The canary reads the one as the user, and waits there; the other keeps its stage from replacing it.
        Files.createDirectory(folder.resolve("mounts.new"));
        PrivilegedHost.root("mkfifo", "-m", "666", folder.resolve("mounts").toString());
        Optional<ProcessHandle> waiting = Optional.empty();
        while (installing.isAlive() && waiting.isEmpty()) {
            Thread.sleep(1);
            waiting = ProcessHandle.allProcesses()
                    .filter(each -> host.one.name().equals(each.info().user().orElse("")))
                    .filter(each -> each.info().command().orElse("").endsWith("/cat"))
                    .findAny();
        }
        String session = session(waiting.orElseThrow().pid());
        waiting.get().destroyForcibly();
        installing.join();
        assertNotEquals(session(ProcessHandle.current().pid()), session);
    }

    @Test
    void aFolderOfTheCanarysThatAnotherUserKeepsIsToldInASentence() throws Exception {
        Path folder = Files.createDirectories(host.place.store().resolve(".canary/user"));
        PrivilegedHost.root(
                "sh", "-c", "touch $0/kept && chmod 700 $0 && chown -R $1: $0", folder.toString(), host.two.name());
        try {
            String words = refusal(host.one.name(), criu);
            assertTrue(words.contains("has put files into " + folder), words);
        } finally {
            PrivilegedHost.root("rm", "-rf", folder.getParent().toString());
        }
    }

    private static String session(long pid) throws IOException {
        String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
        return stat.substring(stat.lastIndexOf(')') + 2).split(" ")[3];
    }

    @Test
    void aCriuThatOthersCanChangeIsRefused() throws Exception {
        Path own = Files.copy(criu, host.one.home().resolve("criu"), StandardCopyOption.REPLACE_EXISTING);
        String words = refusal(host.one.name(), own);
        assertTrue(words.contains("Another user than root could change") && words.contains("CRIU"), words);
    }

    @Test
    void aUserWithoutAHomeIsRefused() throws Exception {
        PrivilegedHost.root("chown", "root:", host.two.home().toString());
        try {
            String words = refusal(host.two.name(), criu);
            assertTrue(words.contains("no home folder of their own at " + host.two.home()), words);
        } finally {
            PrivilegedHost.root("chown", host.two.name() + ":", host.two.home().toString());
        }
    }

    @Test
    void aGroupIsRefused() throws Exception {
        String words = refusal("%" + host.group, criu);
        assertTrue(words.contains("for a user, not for a group"), words);
    }

    @Test
    void anIdThatOthersMayMapIsRefused() throws Exception {
        Path ranges = Path.of("/etc/subuid");
        byte[] known = Files.exists(ranges) ? Files.readAllBytes(ranges) : null;
        try {
            Files.writeString(
                    ranges,
                    "somebody:" + (2100000000L + host.two.uid()) + ":1\n",
                    StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
            String words = refusal(host.two.name(), criu);
            assertTrue(words.contains("/etc/subuid"), words);
        } finally {
            if (known == null) {
                Files.delete(ranges);
            } else {
                Files.write(ranges, known);
            }
        }
    }

    @Test
    void stagesOfTheOtherLevelAreNotOverwritten() throws Exception {
        Path stage = Files.createDirectories(host.store(host.two).resolve("left"));
        try {
            String words = refusal(host.one.name(), null);
            assertTrue(words.contains("of the other level"), words);
        } finally {
            Files.delete(stage);
            Files.delete(stage.getParent());
        }
    }

    @ParameterizedTest
    @CsvSource({
        "user/max_user_namespaces, 0, 10000",
        "kernel/unprivileged_userns_clone, 0, 1",
        "kernel/apparmor_restrict_unprivileged_userns, 1, 0"
    })
    void aHostThatForbidsUserNamespacesIsLeftAlone(String setting, String value, String other, @TempDir Path sysctl)
            throws Exception {
        Path file = sysctl.resolve(setting);
        Files.createDirectories(file.getParent());
        Files.writeString(file, value + "\n");
        String words = assertThrows(
                        PrivilegedInstall.RefusedInstall.class, () -> CheckpointUser.requireUserNamespaces(sysctl))
                .getMessage();
        String name = setting.replace('/', '.');
        assertTrue(words.contains("(" + name + "=" + value + ")"), words);
        assertTrue(words.contains("sysctl -w " + name + "=" + other + ")"), words);
        Files.writeString(file, other + "\n");
        CheckpointUser.requireUserNamespaces(sysctl);
    }

    private static PrivilegedHost.Result check() {
        PrivilegedHost.Result seen = host.java(
                host.one, CheckOfAUser.class, host.one.home().resolve("check").toString());
        assertEquals(0, seen.code(), seen.all());
        return seen;
    }

    @Test
    void aWholeInstallationSaysItsLevel() {
        PrivilegedHost.Result seen = check();
        assertTrue(seen.out().contains("suspends true: by checkpoints"), seen.all());
        assertTrue(seen.out().contains("start: done"), seen.all());
    }

    @Test
    void halfAnInstallationIsNamed() throws Exception {
        Path reader = host.place.library().resolve("reader");
        Path aside = host.base.resolve("aside");
        Files.move(reader, aside);
        try {
            PrivilegedHost.Result seen = check();
            String fault = host.place.program() + " is there, and " + reader + ", which it runs, is not";
            assertTrue(seen.out().startsWith("open: The privileged part of this host cannot be used"), seen.all());
            assertTrue(seen.out().contains(fault), seen.all());
            assertTrue(seen.out().contains("preempt install-helper"), seen.all());
            assertEquals(1, seen.out().lines().count(), seen.all());
        } finally {
            Files.move(aside, reader);
        }
    }

    @Test
    void aProgramOfAnotherVersionIsNamed() throws Exception {
        byte[] program = Files.readAllBytes(host.place.program());
        try {
            RootsFiles.put(
                    "#!/bin/sh\nprintf 'ok\\nprotocol 2\\nlevel checkpoints\\ncriu /none\\n'\n".getBytes(),
                    host.place.program(),
                    "rwxr-xr-x");
            PrivilegedHost.Result seen = check();
            assertTrue(seen.out().contains("is of another version (interface 2, this program has 3)"), seen.all());
            assertTrue(seen.out().startsWith("open: "), seen.all());
        } finally {
            RootsFiles.put(program, host.place.program(), "rwxr-xr-x");
        }
    }

    @Test
    void aRuleWithoutAProgramIsNamed(@TempDir Path folder) throws Exception {
        PrivilegedInstall place =
                new PrivilegedInstall(folder.resolve("program"), folder.resolve("store"), folder.resolve("rule"));
        assertEquals(Optional.empty(), InstalledLevel.remains(place));
        Files.createFile(place.rule());
        assertEquals(
                Optional.of("the privileged part is half installed: " + place.program() + " is missing"),
                InstalledLevel.remains(place));
        Files.createFile(place.program());
        assertEquals(Optional.empty(), InstalledLevel.remains(place));
    }
}
