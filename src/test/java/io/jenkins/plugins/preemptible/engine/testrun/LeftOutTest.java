package io.jenkins.plugins.preemptible.engine.testrun;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which tests a run leaves out, as their sources say. */
class LeftOutTest {

    @TempDir
    Path sources;

    @Test
    void classesAndMethodsWithTheTagAreNamed() throws Exception {
        Path room = Files.createDirectories(sources.resolve("io/room"));
        Files.writeString(
                room.resolve("WholeTest.java"), "@Tag(\"slow\")\nclass WholeTest {\n    @Test\n    void a() {}\n}\n");
        Files.writeString(
                room.resolve("PartTest.java"),
                "@Tag(\"host\")\nclass PartTest {\n    @Test\n    void quick() {}\n\n    @ParameterizedTest\n"
                        + "    @Tag(\"slow\")\n    @ValueSource(booleans = {true, false})\n"
                        + "    void inEachForm(boolean nested) {}\n}\n");
        Files.writeString(room.resolve("OtherTest.java"), "@Tag(\"soak\")\nclass OtherTest {}\n");
        Files.writeString(room.resolve("NoTests.java"), "@Tag(\"slow\")\nclass NoTests {}\n");
        assertEquals(List.of("PartTest.inEachForm", "WholeTest"), LeftOut.named(sources, "slow"));
    }

    @Test
    void withoutSourcesNothingIsNamed() throws Exception {
        assertEquals(List.of(), LeftOut.named(sources.resolve("absent"), "slow"));
    }
}
