package io.jenkins.plugins.preemptible.engine.testrun;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which JDK the plugin half is built with. */
class PluginJavaTest {

    @TempDir
    Path packaged;

    private Path jdk(String name, String version) throws IOException {
        Path home = Files.createDirectories(packaged.resolve(name));
        Files.writeString(home.resolve("release"), "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"" + version + "\"\n");
        Path compiler = Files.createDirectories(home.resolve("bin")).resolve("javac");
        Files.createFile(compiler);
        compiler.toFile().setExecutable(true);
        return home;
    }

    private Optional<Path> found(Map<String, String> environment) throws IOException {
        return PluginJava.find(environment, packaged);
    }

    @Test
    void theOneThatFitsIsFoundBesideOthers() throws IOException {
        jdk("a-17", "17.0.15");
        jdk("b-24", "24");
        Path fitting = jdk("c-25", "25.0.3");
        assertEquals(Optional.of(fitting), found(Map.of()));
    }

    @Test
    void theChosenOneComesFirstWhereItFits() throws IOException {
        jdk("a-21", "21.0.2");
        Path chosen = jdk("z-25", "25");
        assertEquals(Optional.of(chosen), found(Map.of("JAVA_HOME", chosen.toString())));
    }

    @Test
    void aChosenOneThatIsTooOldDoesNotHideAnother() throws IOException {
        Path fitting = jdk("a-21", "21.0.2");
        Path old = jdk("z-17", "17.0.15");
        assertEquals(Optional.of(fitting), found(Map.of("JAVA_HOME", old.toString())));
    }

    @Test
    void aRuntimeWithoutACompilerDoesNotDo() throws IOException {
        Files.delete(jdk("a-21", "21.0.2").resolve("bin/javac"));
        assertEquals(Optional.empty(), found(Map.of()));
    }

    @Test
    void aSystemWithoutPackagedOnesHasNone() throws IOException {
        assertEquals(Optional.empty(), PluginJava.find(Map.of("JAVA_HOME", ""), packaged.resolve("none")));
    }
}
