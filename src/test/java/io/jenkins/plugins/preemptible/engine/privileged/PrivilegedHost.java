package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.privileged.install.PrivilegedInstall;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * The privileged part, really installed for two users who exist only during the tests.
 *
 * <ol>
 *   <li>Program, store and rule have names of their own, so that one which is in use on this machine is left alone.
 *   <li>{@link #call} runs a command as one of the users, with an environment that holds nothing else.
 *   <li>{@link #close} ends what the users run and removes all of it.
 * </ol>
 */
final class PrivilegedHost implements AutoCloseable {

    /** What a command left. */
    record Result(int code, String out, String err) {
        String all() {
            return out + err;
        }
    }

    final Path base;
    final PrivilegedInstall place;
    /** What the privileged part was installed from, in a folder of root's. */
    final List<Path> source;
    /** A copy in a folder of root's, since the host's may lie below a HOME where others may write; null without checkpoints. */
    final Path criu;

    final String group;
    final User one;
    final User two;

    /** A user with a home folder. */
    record User(String name, long uid, Path home) {}

    private PrivilegedHost(String mark, Path criu) throws Exception {
        base = Files.createDirectory(
                Path.of("/var/lib/preemptible-test-" + mark),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x")));
        Files.setPosixFilePermissions(base, PosixFilePermissions.fromString("rwxr-xr-x"));
        place = new PrivilegedInstall(
                base.resolve("libexec/preemptible"),
                base.resolve("store"),
                Path.of("/etc/sudoers.d/preemptible-test-" + mark));
        String group = "pt" + mark;
        root("groupadd", "-r", group);
        one = user("pta" + mark, group);
        two = user("ptb" + mark, group);
        this.group = group;
        source = classPath();
        this.criu = criu == null
                ? null
                : Files.copy(criu, base.resolve("criu-of-roots"), StandardCopyOption.COPY_ATTRIBUTES);
        if (criu == null) {
            place.install("%" + group, source);
        } else {
            place.install(one.name(), source, this.criu);
        }
    }

    /** Skips the test, saying why, where this cannot be had. */
    static PrivilegedHost open() throws Exception {
        return open(null);
    }

    /** The same of the level that makes checkpoints, for the first user; null for the other level. */
    static PrivilegedHost open(Path criu) throws Exception {
        assumeTrue(HostProcess.isRoot(), "only root can install the privileged part");
        for (String tool : List.of("sudo", "visudo", "useradd", "userdel", "groupadd", "setpriv")) {
            assumeTrue(HostTool.find(tool).isPresent(), "there is no " + tool + " on this host");
        }
        assumeTrue(Files.isDirectory(Path.of("/etc/sudoers.d")), "sudo reads no /etc/sudoers.d on this host");
        assumeTrue(HostTool.find("cc").isPresent(), "there is no C compiler on this host");
        return new PrivilegedHost(UUID.randomUUID().toString().substring(0, 8), criu);
    }

    private User user(String name, String group) throws Exception {
        Path home = Files.createDirectory(base.resolve(name));
        root("useradd", "-r", "-M", "-G", group, "-d", home.toString(), "-s", "/bin/sh", name);
        root("chown", name + ":", home.toString());
        Files.setPosixFilePermissions(home, PosixFilePermissions.fromString("rwx------"));
        return new User(name, Long.parseLong(root("id", "-u", name).trim()), home);
    }

    static String root(String... command) {
        HostTool.Answer answer = HostTool.run(60, resolved(command));
        if (!answer.ok()) {
            throw new IllegalStateException(String.join(" ", command) + ": " + answer.text());
        }
        return answer.text();
    }

    private static List<String> resolved(String... command) {
        List<String> words = new ArrayList<>(List.of(command));
        words.set(0, HostTool.find(command[0]).map(Path::toString).orElse(command[0]));
        return words;
    }

    // Copies in a folder of root's, whoever owns the checkout and Maven's repository; folders of classes become jars.
    private List<Path> classPath() throws IOException {
        String all = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        List<Path> files = new ArrayList<>();
        Path packed = Files.createDirectory(base.resolve("packed"));
        Files.setPosixFilePermissions(packed, PosixFilePermissions.fromString("rwxr-xr-x"));
        for (String entry : all.split(File.pathSeparator)) {
            Path path = Path.of(entry);
            if (Files.isDirectory(path)) {
                files.add(zip(path, packed.resolve(files.size() + ".jar")));
            } else if (path.toString()
                    .matches(
                            ".*/(jackson|tink|protobuf|gson|zstd|commons|jnr|jffi|asm|picocli|error_prone)[^/]*\\.jar")) {
                files.add(copy(path, packed.resolve(files.size() + ".jar")));
            }
        }
        return files;
    }

    private static Path copy(Path from, Path to) throws IOException {
        Files.copy(from, to);
        Files.setPosixFilePermissions(to, PosixFilePermissions.fromString("rwxr-xr-x"));
        return to;
    }

    private static Path zip(Path folder, Path to) throws IOException {
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(to));
                Stream<Path> all = Files.walk(folder)) {
            zip.setLevel(0);
            Files.setPosixFilePermissions(to, PosixFilePermissions.fromString("rw-r--r--"));
            for (Path file : (Iterable<Path>) all.filter(Files::isRegularFile)::iterator) {
                zip.putNextEntry(new ZipEntry(folder.relativize(file).toString()));
                Files.copy(file, zip);
                zip.closeEntry();
            }
        }
        return to;
    }

    /** A call of the privileged part through sudo. */
    Result sudo(User user, byte[] in, String... arguments) {
        List<String> command =
                new ArrayList<>(List.of("sudo", "-n", place.program().toString()));
        command.addAll(List.of(arguments));
        return call(user, Map.of(), in, command);
    }

    /** Runs a command as a user. */
    Result call(User user, Map<String, String> environment, byte[] in, List<String> command) {
        return call(List.of(), user, environment, in, command);
    }

    /** A shell command as a user, in surroundings that root's own shell command makes before. */
    Result within(String rootsCommand, User user, String text, String... arguments) {
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", text, "sh"));
        command.addAll(List.of(arguments));
        return call(
                List.of("/bin/sh", "-c", "set -e; " + rootsCommand + "; exec \"$@\"", "sh"),
                user,
                Map.of(),
                new byte[0],
                command);
    }

    private Result call(
            List<String> before, User user, Map<String, String> environment, byte[] in, List<String> command) {
        List<String> words = new ArrayList<>(before);
        words.addAll(List.of(
                HostTool.find("setpriv").orElseThrow().toString(),
                "--reuid",
                user.name(),
                "--regid",
                user.name(),
                "--init-groups",
                "--inh-caps=-all",
                "--ambient-caps=-all",
                "--"));
        if (!environment.isEmpty()) {
            // Not before: what changes the user is root's.
            words.add("/usr/bin/env");
            environment.forEach((name, value) -> words.add(name + "=" + value));
        }
        words.addAll(command);
        try {
            Path err = Files.createTempFile("preemptible-test", ".err");
            // Files: a stage that keeps its caller's output open must not make this wait.
            Path out = Files.createTempFile("preemptible-test", ".out");
            ProcessBuilder builder = new ProcessBuilder(words)
                    .directory(user.home().toFile())
                    .redirectError(err.toFile())
                    .redirectOutput(out.toFile());
            builder.environment().clear();
            builder.environment()
                    .putAll(Map.of(
                            "PATH", "/usr/sbin:/usr/bin:/sbin:/bin",
                            "HOME", user.home().toString(),
                            "PREEMPTIBLE_PRIVILEGED", place.program().toString()));
            Process process = builder.start();
            Thread giving = new Thread(() -> {
                try (OutputStream to = process.getOutputStream()) {
                    to.write(in);
                } catch (IOException e) {
                    // It did not read all of it.
                }
            });
            giving.start();
            if (!process.waitFor(120, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new AssertionError("no end of " + command);
            }
            giving.join();
            String said = LifeSteps.withoutHostName(new String(Files.readAllBytes(err), StandardCharsets.ISO_8859_1));
            String answer = new String(Files.readAllBytes(out), StandardCharsets.ISO_8859_1);
            Files.delete(err);
            Files.delete(out);
            return new Result(process.exitValue(), answer, said);
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** A main class of these tests as a user, and what it printed. */
    Result java(User user, Class<?> main, String... arguments) {
        return call(user, Map.of(), new byte[0], javaCommand(main, arguments));
    }

    List<String> javaCommand(Class<?> main, String... arguments) {
        List<String> words = new ArrayList<>(List.of(
                System.getProperty("java.home") + "/bin/java",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                source.stream().map(Object::toString).collect(Collectors.joining(File.pathSeparator)),
                main.getName()));
        words.addAll(List.of(arguments));
        return words;
    }

    /** A shell command as a user. */
    Result shell(User user, String text, String... arguments) {
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", text, "sh"));
        command.addAll(List.of(arguments));
        return call(user, Map.of(), new byte[0], command);
    }

    /** Where root keeps what belongs to a user. */
    Path store(User user) {
        return place.store().resolve(Long.toString(user.uid()));
    }

    @Override
    public void close() throws Exception {
        for (User user : List.of(one, two)) {
            if (Files.isDirectory(store(user))) {
                try (Stream<Path> stages = Files.list(store(user))) {
                    for (Path stage : stages.toList()) {
                        sudo(user, new byte[0], "kill", stage.getFileName().toString());
                        sudo(user, new byte[0], "forget", stage.getFileName().toString());
                    }
                }
            }
        }
        boolean left = place.remove();
        for (User user : List.of(one, two)) {
            HostTool.run(20, resolved("pkill", "-9", "-u", user.name()));
            HostTool.run(60, resolved("userdel", user.name()));
        }
        HostTool.run(60, resolved("groupdel", "pt" + base.toString().replaceAll(".*-", "")));
        try (Stream<Path> all = Files.walk(base)) {
            for (Path file : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        }
        StageFolder.delete(base);
        if (left) {
            throw new AssertionError("stages were left in " + place.store());
        }
    }
}
