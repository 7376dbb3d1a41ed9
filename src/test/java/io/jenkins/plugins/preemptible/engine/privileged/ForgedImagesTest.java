package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import java.io.File;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The image of a stage is its user's own file. Whatever is written into it, what comes back has the user's rights, and no
 * thread of it ran with others before; else it does not come back.
 */
@Tag("host")
class ForgedImagesTest {

    private static PrivilegedHost host;
    private static Path roots;
    private static Path program;

    @BeforeAll
    static void install() throws Exception {
        Optional<Criu> criu = new CriuSearch().usable();
        assumeTrue(criu.isPresent(), "no CRIU works on this host");
        host = PrivilegedHost.open(criu.get().program());
        roots = Files.createDirectory(host.base.resolve("roots"));
        Path secret = Files.writeString(roots.resolve("secret"), "of root's\n");
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        Path source = host.base.resolve("rights.c");
        try (InputStream in = ForgedImagesTest.class.getResourceAsStream("rights.c")) {
            Files.copy(in, source);
        }
        program = host.base.resolve("rights");
        PrivilegedHost.root("cc", "-w", "-O1", "-o", program.toString(), source.toString(), "-pthread");
    }

    @AfterAll
    static void remove() throws Exception {
        if (host != null) {
            host.close();
        }
    }

    private static List<String> live(String which) throws Exception {
        List<String> words = new ArrayList<>(List.of(
                System.getProperty("java.home") + "/bin/java",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                host.source.stream().map(Object::toString).collect(Collectors.joining(File.pathSeparator)),
                LifeWithForgedImages.class.getName(),
                program.toString(),
                roots.toString(),
                PrivilegedHost.root("id", "-g", host.one.name()).trim(),
                which));
        Result seen = host.call(host.one, Map.of(), new byte[0], words);
        assertEquals(0, seen.code(), seen.all());
        System.err.println(seen.out());
        List<String> lines = seen.out().lines().toList();
        assertTrue(lines.get(0).startsWith("unforged\t0\trestored\t[]\tsame"), lines.get(0));
        List<String> lost = new ArrayList<>();
        for (String line : lines.subList(1, lines.size())) {
            List<String> told = List.of(line.split("\t", -1));
            if (told.size() != 5
                    || told.get(1).equals("0")
                    || !told.get(3).equals("[]")
                    || !told.get(4).equals("same")) {
                lost.add(line);
            }
        }
        assertEquals("", String.join("\n", lost));
        assertEquals("of root's\n", Files.readString(roots.resolve("secret")));
        try (Stream<Path> files = Files.list(roots)) {
            assertEquals(List.of(roots.resolve("secret")), files.toList());
        }
        return lines;
    }

    @Test
    void aForgedImageGivesNoRights() throws Exception {
        List<String> lines = live("rights");
        assertTrue(lines.size() >= 44, () -> "only " + lines.size());
        for (String line : lines) {
            String name = line.substring(0, line.indexOf('\t'));
            boolean gives = name.matches(".*( id 0|group 0|capabilities|capability|root of everything|groups that).*");
            assertTrue(!gives || line.contains("\trefused IMAGE_UNUSABLE "), line);
        }
    }

    @Test
    @Tag("tools")
    void whatAForgedImageHoldsGivesNoRights() throws Exception {
        List<String> lines = live("contents");
        assertTrue(lines.size() >= 50, () -> "only " + lines.size());
        for (String line : lines) {
            assertTrue(
                    !line.matches("[^\t]*(/etc/shadow|of root's|kcore|sysctl\t|climbs).*")
                            || line.contains("\trefused "),
                    line);
            assertTrue(!line.startsWith("an open file of the user's own") || line.contains("\trestored"), line);
        }
    }

    @Test
    @Tag("tools")
    void aForgedImageThatMakesCriuHangGivesNoRights() throws Exception {
        assertTrue(live("hanging").size() > 5);
    }
}
