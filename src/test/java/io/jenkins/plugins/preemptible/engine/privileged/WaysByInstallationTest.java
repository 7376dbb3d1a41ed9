package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import io.jenkins.plugins.preemptible.engine.privileged.install.PrivilegedInstall;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;

/** By what an administrator installs, how, and over what. */
@Tag("host")
class WaysByInstallationTest extends WaysToRoot {

    @Override
    int atLeast() {
        return 40;
    }

    @Override
    void collect(Map<String, Way> all) {
        installation(all);
    }

    private void installation(Map<String, Way> all) {
        all.put("an installation from a jar of the user's", () -> {
            List<Path> jars = new ArrayList<>(host.source);
            Path jar = write(me, "engine.jar", "");
            jars.add(jar);
            notInstalled(host.place, "%" + host.group, jars, "could change " + jar);
        });
        all.put("an installation from a jar that others may write to", () -> {
            Path jar = Files.writeString(host.base.resolve("writable.jar"), "");
            Files.setPosixFilePermissions(jar, PosixFilePermissions.fromString("rw-rw-r--"));
            notInstalled(host.place, "%" + host.group, List.of(jar), "could change " + jar);
            Files.delete(jar);
        });
        for (String who : List.of(
                "nobody-is-this",
                "%nobody-is-this",
                "root",
                "",
                "ALL",
                "a b",
                "#0",
                "%#0",
                me.name() + "\nx",
                "me,other",
                "!x",
                "../x",
                "x".repeat(33))) {
            all.put(
                    "an installation for '" + who.replace("\n", "|") + "'",
                    () -> notInstalled(
                            host.place,
                            who,
                            host.source,
                            who.contains("is-this") ? "make it first" : "is no name of a user"));
        }
        for (String path : List.of("relative", "/a/../b", "/a b", "/a\nb", "/a,b", "/a*", "/", "/a\"b", "/a\\b")) {
            all.put(
                    "an installation to '" + path.replace("\n", "|") + "'",
                    () -> assertThrows(
                            IllegalArgumentException.class,
                            () -> new PrivilegedInstall(Path.of(path), host.place.store(), host.place.rule())));
        }
        all.put(
                "a store below the user's home",
                () -> notInstalled(
                        new PrivilegedInstall(host.place.program(), me.home().resolve("store"), host.place.rule()),
                        "%" + host.group,
                        host.source,
                        "could change"));
        all.put(
                "a program below the user's home",
                () -> notInstalled(
                        new PrivilegedInstall(
                                me.home().resolve("p/preemptible"), host.place.store(), host.place.rule()),
                        "%" + host.group,
                        host.source,
                        "could change"));
        all.put("a folder for the program that is a link of the user's", () -> {
            Path closed = Files.createDirectory(host.base.resolve("closed"));
            Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("rwx------"));
            own(me, Files.createSymbolicLink(me.home().resolve("libexec"), closed));
            notInstalled(
                    new PrivilegedInstall(
                            me.home().resolve("libexec/preemptible"), host.place.store(), host.place.rule()),
                    "%" + host.group,
                    host.source,
                    "could change");
            assertEquals(
                    "rwx------",
                    PosixFilePermissions.toString(Files.getPosixFilePermissions(closed)),
                    "root's folder keeps its mode");
            Files.delete(closed);
        });
        for (String tool : List.of("getent", "cc", "as", "ld", "collect2", "sudo", "visudo")) {
            all.put("an installation with a PATH on which the user's " + tool + " comes first", () -> {
                Path fakes = own(me, Files.createDirectories(me.home().resolve("tools-" + tool)));
                Path ran = roots.resolve("ran");
                Path script = script(me, "tools-" + tool + "/" + tool, "touch " + ran + "; exit 1");
                HostTool.Answer answer = installBy("PATH=" + fakes + ":/usr/sbin:/usr/bin:/sbin:/bin");
                boolean wasRun = Files.deleteIfExists(ran);
                assertFalse(wasRun, () -> "root ran " + script + ": " + answer.text());
            });
        }
        all.put("an installation with a compiler's variables", () -> {
            own(me, Files.createDirectories(me.home().resolve("include")));
            write(me, "include/errno.h", "#error \"the user's header\"\n");
            script(me, "include/as", "touch " + roots + "/pwned; exit 1");
            HostTool.Answer answer = installBy(
                    "CPATH=" + me.home() + "/include",
                    "C_INCLUDE_PATH=" + me.home() + "/include",
                    "COMPILER_PATH=" + me.home() + "/include",
                    "GCC_EXEC_PREFIX=" + me.home() + "/include/",
                    "LIBRARY_PATH=" + me.home(),
                    "TMPDIR=" + me.home(),
                    "CCC_OVERRIDE_OPTIONS=+-include/etc/passwd");
            assertEquals(0, answer.code(), answer::text);
        });
        all.put("an installation twice, with stages", () -> {
            host.place.install("%" + host.group, host.source);
            assertEquals("running", state(me, "mine"));
        });
        all.put("an installation over folders of an earlier version", () -> {
            Path old = Files.createDirectories(host.place.store().resolve("2147400002/sealed"));
            Files.writeString(old.resolve("host.key"), "x");
            Files.createSymbolicLink(old.resolve("link"), roots);
            Files.createDirectories(host.place.store().resolve("view/root"));
            host.place.install("%" + host.group, host.source);
            assertFalse(Files.exists(old.getParent())
                    || Files.exists(host.place.store().resolve("view")));
            Files.createDirectories(old);
            Files.createDirectories(old.resolveSibling("stages/one"));
            notInstalled(host.place, "%" + host.group, host.source, "Stages of an earlier version");
            StageFolder.delete(old.getParent());
        });
        half(all);
        all.put("a store that others may write to", () -> {
            Files.setPosixFilePermissions(host.place.store(), PosixFilePermissions.fromString("rwxrwxrwx"));
            Result result = host.sudo(me, NOTHING, "status", "mine");
            Files.setPosixFilePermissions(host.place.store(), PosixFilePermissions.fromString("rwx--x--x"));
            assertTrue(
                    result.out().startsWith("refused NO_RIGHTS") && result.out().contains("install"), result::all);
            assertEquals(1, result.out().lines().count());
        });
        all.put("a user's folder in the store that is the user's", () -> {
            PrivilegedHost.root("chown", me.name(), host.store(me).toString());
            Result result = host.sudo(me, NOTHING, "status", "mine");
            PrivilegedHost.root("chown", "0", host.store(me).toString());
            refused("NO_RIGHTS", result);
        });
        all.put("a user's folder in the store that is a link", () -> {
            Path moved = Files.move(host.store(me), host.place.store().resolve("aside"));
            Files.createSymbolicLink(host.store(me), me.home());
            Result result = host.sudo(me, request(IDLE), "start", "linked");
            Files.delete(host.store(me));
            Files.move(moved, host.store(me));
            refused("NO_RIGHTS", result);
        });
        all.put("a record of another version", () -> {
            Path record = Files.createDirectory(host.store(me).resolve("older")).resolve("record");
            for (String text : List.of("", "preemptible 3\n", "{}", "preemptible 2\nrunning\n", "x".repeat(100_000))) {
                Files.writeString(record, text);
                for (String verb : List.of("status", "freeze", "kill", "forget")) {
                    Result result = host.sudo(me, NOTHING, verb, "older");
                    assertTrue(result.out().startsWith("refused NO_RIGHTS"), result::all);
                    assertTrue(result.out().contains("an administrator"), "what can be done: " + result.all());
                }
            }
            StageFolder.delete(record.getParent());
        });
    }

    private void half(Map<String, Way> all) {
        all.put("a program without its store", () -> {
            Path store = host.place.store();
            Path moved = Files.move(store, store.resolveSibling("aside"));
            Result result = host.sudo(me, NOTHING, "version");
            Files.move(moved, store);
            assertTrue(
                    result.out().startsWith("refused NO_RIGHTS") && result.out().contains("install"), result::all);
            assertEquals(1, result.out().lines().count(), "one sentence");
        });
        all.put("a store without its program", () -> {
            Path moved = Files.move(host.place.program(), host.base.resolve("aside"));
            Result result = host.sudo(me, NOTHING, "version");
            Files.move(moved, host.place.program());
            assertTrue(result.code() != 0 && result.out().isEmpty(), result::all);
            assertTrue(result.err().contains("command not found"), result::all);
        });
        all.put("a program without its rule", () -> {
            Path moved = Files.move(host.place.rule(), host.base.resolve("aside"));
            Result result = host.sudo(me, NOTHING, "version");
            Files.move(moved, host.place.rule());
            assertTrue(result.code() != 0 && result.out().isEmpty(), result::all);
        });
    }

    private static void notInstalled(PrivilegedInstall place, String who, List<Path> jars, String why) {
        String words = assertThrows(PrivilegedInstall.RefusedInstall.class, () -> place.install(who, jars))
                .getMessage();
        assertTrue(words.contains(why), words);
    }

    private HostTool.Answer installBy(String... variables) {
        List<String> command = new ArrayList<>(List.of("/usr/bin/env"));
        command.addAll(List.of(variables));
        command.addAll(List.of(
                System.getProperty("java.home") + "/bin/java",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                host.base.resolve("packed") + "/*",
                Installation.class.getName(),
                host.place.program().toString(),
                host.place.store().toString(),
                host.place.rule().toString(),
                "%" + host.group,
                host.source.get(0).toString()));
        return HostTool.run(120, command);
    }

    /** What an administrator's shell calls, with the variables and the PATH that it has. */
    static final class Installation {
        public static void main(String[] words) throws Exception {
            new PrivilegedInstall(Path.of(words[0]), Path.of(words[1]), Path.of(words[2]))
                    .install(words[3], List.of(Path.of(words[4])));
        }
    }
}
