package io.jenkins.plugins.preemptible.engine.testrun;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The script {@code preempt}, in a checkout whose Java and Maven only say how they were called. */
class LauncherTest {

    private static final String TESTS = "io/jenkins/plugins/preemptible/engine";

    @TempDir
    Path folder;

    private Path checkout;
    private Path programs;
    private Path jar;

    @BeforeEach
    void aBuiltCheckout() throws Exception {
        checkout = Files.createDirectories(folder.resolve("check out"));
        programs = Files.createDirectories(folder.resolve("jdk/bin"));
        Files.copy(Path.of("preempt"), checkout.resolve("preempt"));
        for (String each :
                List.of("src/main", "src/test/java/" + TESTS, "src/test/resources/" + TESTS, ".ci", "target/engine")) {
            Files.createDirectories(checkout.resolve(each));
        }
        Files.writeString(checkout.resolve(".ci/engine-pom.xml"), "<project/>");
        script(checkout.resolve(".ci/setup"), "case ${1-} in --prefix) echo /prefix;; *) echo \"set-up $*\";; esac");
        script(
                programs.resolve("java"),
                "case $1 in -version) echo 'openjdk version \"17.0.15\"' >&2;; *) echo \"java $*\";; esac");
        script(programs.resolve("javac"), "exit 1");
        jar = checkout.resolve("target/engine/x-cli.jar");
        script(programs.resolve("mvn"), "echo \"maven $*\"; touch '" + jar + "'; echo /a.jar > '" + classPath() + "'");
        Files.writeString(jar, "");
        Files.writeString(classPath(), "/a.jar:/b.jar");
        Files.setLastModifiedTime(jar, FileTime.from(Instant.now().plusSeconds(60)));
    }

    private Path classPath() {
        return checkout.resolve("target/engine/tests.classpath");
    }

    private static void script(Path file, String text) throws Exception {
        Files.writeString(file, "#!/bin/bash\n" + text + "\n");
        assertTrue(file.toFile().setExecutable(true));
    }

    private record Said(int status, String text) {}

    private Said call(Map<String, String> environment, String... args) throws Exception {
        return call(checkout.resolve("preempt"), environment, args);
    }

    private Said call(Path launcher, Map<String, String> environment, String... args) throws Exception {
        String[] command = new String[args.length + 1];
        command[0] = launcher.toString();
        System.arraycopy(args, 0, command, 1, args.length);
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).directory(folder.toFile());
        builder.environment().remove("JAVA_HOME");
        builder.environment().put("HOME", folder.toString());
        builder.environment().put("PATH", programs + ":/usr/bin:/bin");
        builder.environment().putAll(environment);
        Process process = builder.start();
        process.getOutputStream().close();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Said(process.waitFor(), text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"test", "soak", "fuzz", "compat", "bench"})
    void theVerbsForDevelopersAreHandedOverWithTheClassPathOfTheTests(String verb) throws Exception {
        Said said = call(Map.of(), verb, "--option", "a value");
        String built = checkout + "/target/engine/";
        assertEquals(
                "java -Dpreemptible.checkout=" + checkout + " -cp " + built + "classes:" + built
                        + "test-classes:/a.jar:/b.jar " + DeveloperCommands.class.getName() + " " + verb
                        + " --option a value\n",
                said.text());
        assertEquals(0, said.status());
    }

    @Test
    void everyOtherVerbIsTheCommandLines() throws Exception {
        assertEquals(
                "java -XX:+UseSerialGC -jar " + jar + " list --all\n",
                call(Map.of(), "list", "--all").text());
        assertEquals("java -XX:+UseSerialGC -jar " + jar + "\n", call(Map.of()).text());
    }

    @Test
    void theDemoIsSetUpBefore() throws Exception {
        assertEquals(
                "set-up \njava -XX:+UseSerialGC -jar " + jar + " demo\n",
                call(Map.of(), "demo").text());
        assertEquals(
                "java -XX:+UseSerialGC -jar " + jar + " demo --help\n",
                call(Map.of(), "demo", "--help").text());
    }

    @Test
    void aChangedSourceIsBuiltFirst() throws Exception {
        Path source = checkout.resolve("src/main/Changed.java");
        Files.writeString(source, "");
        Files.setLastModifiedTime(source, FileTime.from(Instant.now().plusSeconds(120)));
        List<String> lines = call(Map.of(), "list").text().lines().toList();
        assertEquals("preempt: building the command line; only the first time and after changes", lines.get(0));
        assertTrue(lines.get(1).startsWith("maven -q -B"), lines::toString);
        assertTrue(lines.get(2).startsWith("java "), lines::toString);
    }

    @Test
    void aChangedTestIsBuiltForTheVerbsThatRunTestsOnly() throws Exception {
        Path source = checkout.resolve("src/test/java/" + TESTS + "/ChangedTest.java");
        Files.writeString(source, "");
        Files.setLastModifiedTime(source, FileTime.from(Instant.now().plusSeconds(120)));
        assertTrue(call(Map.of(), "list").text().startsWith("java "));
        assertTrue(call(Map.of(), "test").text().startsWith("preempt: building "));
    }

    @Test
    void aBuildThatBreaksEndsWithTheLinesOfEverySummary() throws Exception {
        Files.delete(jar);
        script(programs.resolve("mvn"), "echo '[ERROR] Foo.java: cannot find symbol'; exit 1");
        Said said = call(Map.of(), "test");
        List<String> lines = said.text().lines().toList();
        assertEquals(1, said.status());
        assertTrue(lines.contains("[ERROR] Foo.java: cannot find symbol"), said.text());
        assertTrue(lines.contains("preempt: the build failed; Maven's lines above say why"), said.text());
        assertEquals(
                List.of(
                        "engine half: FAILED: the build broke; Maven's lines above say why",
                        "plugin half: DID NOT RUN: the tests of the engine could not be built",
                        "0 passed, 1 failed, 0 skipped"),
                lines.subList(lines.size() - 3, lines.size()));
        Said list = call(Map.of(), "list");
        assertEquals(1, list.status());
        assertTrue(list.text().endsWith("preempt: the build failed; Maven's lines above say why\n"), list.text());
    }

    @Test
    void theJdkOfJavaHomeGoesFirstUnlessItIsTooOld() throws Exception {
        Path home = Files.createDirectories(folder.resolve("other/bin")).getParent();
        script(
                home.resolve("bin/java"),
                "case $1 in -version) echo 'openjdk version \"21\"' >&2;; *) echo \"other $*\";; esac");
        assertTrue(call(Map.of("JAVA_HOME", home.toString()), "list").text().startsWith("other "));
        script(
                home.resolve("bin/java"),
                "case $1 in -version) echo 'java version \"1.8.0_402\"' >&2;; *) echo \"other $*\";; esac");
        assertTrue(call(Map.of("JAVA_HOME", home.toString()), "list").text().startsWith("java "));
    }

    @Test
    void withoutAHomeNothingIsDone() throws Exception {
        Said said = call(Map.of("HOME", ""), "test");
        assertEquals(1, said.status());
        assertEquals("preempt: HOME is not set; set it to a folder that Maven and the stages may use\n", said.text());
    }

    @Test
    void itWorksThroughALink() throws Exception {
        Path link = Files.createSymbolicLink(folder.resolve("link"), checkout.resolve("preempt"));
        assertEquals(
                "java -XX:+UseSerialGC -jar " + jar + " list\n",
                call(link, Map.of("HOME", "/"), "list").text());
    }

    @Test
    void itStaysShort() throws Exception {
        assertTrue(Files.readAllLines(Path.of("preempt")).size() < 120);
    }
}
