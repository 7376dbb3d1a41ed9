package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.User;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.TestInstance;

/**
 * A host with the privileged part, two of its users, and a secret of root's that neither of them may get at.
 *
 * <p>After each test root's files are as they were, and nothing in the users' homes is root's.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class RootsSecret {

    static final byte[] NOTHING = new byte[0];
    static final String SECRET = "the-secret-of-root";
    static final String PATH = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";

    PrivilegedHost host;
    User me;
    User other;
    /** Where only root may make files; holds {@link #secret} alone. */
    Path roots;

    Path secret;
    String program;

    /** Takes over a host on which the privileged part is installed. */
    void secretOn(PrivilegedHost installed) throws IOException {
        host = installed;
        me = host.one;
        other = host.two;
        program = host.place.program().toString();
        roots = Files.createDirectory(host.base.resolve("roots"));
        secret = Files.writeString(roots.resolve("secret"), SECRET);
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
    }

    @AfterAll
    void remove() throws Exception {
        if (host != null) {
            host.close();
        }
    }

    @AfterEach
    void rootsFilesAreAsTheyWere() throws Exception {
        assertEquals(SECRET, Files.readString(secret));
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(secret)));
        try (Stream<Path> files = Files.list(roots)) {
            assertEquals(List.of(secret), files.toList(), "nobody made a file where only root may");
        }
        for (User user : List.of(me, other)) {
            try (Stream<Path> files = Files.walk(user.home())) {
                for (Path file : files.toList()) {
                    assertNotEquals(0, ownerOf(file), () -> file + " is root's");
                    assertTrue(
                            !file.getFileName().toString().startsWith("loot")
                                    || !Files.readString(file).contains(SECRET),
                            () -> "the secret is in " + file);
                }
            }
            assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(host.store(user))));
        }
    }

    List<String> sudo(String... words) {
        List<String> command = new ArrayList<>(List.of("/usr/bin/sudo", "-n", program));
        command.addAll(List.of(words));
        return command;
    }

    static byte[] body(List<String> command, List<String> environment) {
        StringBuilder text = new StringBuilder(command.size() + "\0");
        command.forEach(word -> text.append(word).append('\0'));
        environment.forEach(word -> text.append(word).append('\0'));
        return bytes(text.toString());
    }

    static byte[] request(String script) {
        return body(List.of("/bin/sh", "-c", script), List.of(PATH));
    }

    void start(User user, String id, String script) {
        Result result = host.sudo(user, request("exec >/dev/null 2>&1; " + script), "start", id);
        assertEquals(0, result.code(), result::all);
    }

    Result enter(User user, String id, String script) {
        return host.sudo(user, request(script), "enter", id);
    }

    void launchFails(String id, List<String> command) throws Exception {
        Result result = host.sudo(me, body(command, List.of(PATH)), "start", id);
        if (result.code() == 0) {
            until(() -> state(me, id).equals("ended"), () -> "it runs: " + result.all());
            kill(me, id);
        } else {
            refused("LAUNCH_FAILED", result);
        }
        assertFalse(Files.exists(host.store(me).resolve(id)));
    }

    static void refused(String reason, Result result) {
        assertTrue(result.code() == 1 && result.out().startsWith("refused " + reason + " "), result::all);
    }

    String value(User user, String id, String name) {
        Result result = host.sudo(user, NOTHING, "status", id);
        return result.out()
                .lines()
                .filter(l -> l.startsWith(name + " "))
                .map(l -> l.substring(name.length() + 1))
                .findFirst()
                .orElseThrow(() -> new AssertionError(result.all()));
    }

    String state(User user, String id) {
        return value(user, id, "state");
    }

    List<String> stages(User user) throws IOException {
        try (Stream<Path> all = Files.list(host.store(user))) {
            return all.map(p -> p.getFileName().toString()).toList();
        }
    }

    void kill(User user, String id) {
        host.sudo(user, NOTHING, "kill", id);
        host.sudo(user, NOTHING, "forget", id);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static Path own(User user, Path path) throws IOException {
        for (Path at = path; at.startsWith(user.home()) && !at.equals(user.home()); at = at.getParent()) {
            Files.setAttribute(at, "unix:uid", (int) user.uid(), LinkOption.NOFOLLOW_LINKS);
        }
        return path;
    }

    static Path write(User user, String name, String text) throws IOException {
        return own(user, Files.writeString(user.home().resolve(name), text));
    }

    static Path script(User user, String name, String text) throws IOException {
        Path file = write(user, name, "#!/bin/sh\n" + text + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
        return file;
    }

    static int ownerOf(Path file) throws IOException {
        return (int) Files.getAttribute(file, "unix:uid", LinkOption.NOFOLLOW_LINKS);
    }

    interface Condition {
        boolean holds() throws IOException;
    }

    interface Words {
        String of() throws IOException;
    }

    static void until(Condition condition, Words otherwise) throws Exception {
        long end = System.nanoTime() + 5_000_000_000L;
        while (!condition.holds()) {
            if (System.nanoTime() - end > 0) {
                throw new AssertionError(otherwise.of());
            }
            Thread.sleep(10);
        }
    }
}
