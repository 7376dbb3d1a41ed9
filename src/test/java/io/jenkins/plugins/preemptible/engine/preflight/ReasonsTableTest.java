package io.jenkins.plugins.preemptible.engine.preflight;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** docs/preflight.md says what the code does. */
class ReasonsTableTest {

    /** The constants that the classes of this package name. */
    private static Set<FailureReason> found() {
        JavaClasses classes = new ClassFileImporter()
                .withImportOption(new ImportOption.DoNotIncludeTests())
                .withImportOption(location -> !location.contains("/test-classes/"))
                .importPackages("io.jenkins.plugins.preemptible.engine.preflight");
        Set<FailureReason> found = EnumSet.noneOf(FailureReason.class);
        classes.stream()
                .flatMap(c -> c.getFieldAccessesFromSelf().stream())
                .filter(a -> a.getTargetOwner().isEquivalentTo(FailureReason.class))
                .forEach(a -> Arrays.stream(FailureReason.values())
                        .filter(r -> r.name().equals(a.getTarget().getName()))
                        .forEach(found::add));
        return found;
    }

    private static String row(FailureReason reason) {
        return "| " + reason + " | " + reason.sentence() + " | " + reason.remedy() + " | "
                + (reason.passing() ? "passing" : "lasting") + " |";
    }

    private static Path document() {
        for (Path at = Path.of("").toAbsolutePath(); at != null; at = at.getParent()) {
            if (Files.exists(at.resolve("docs/preflight.md"))) {
                return at.resolve("docs/preflight.md");
            }
        }
        throw new AssertionError("docs/preflight.md is missing");
    }

    @Test
    void theTableHasEveryReasonAsItIs() throws IOException {
        List<String> expected = found().stream().map(ReasonsTableTest::row).toList();
        assertTrue(expected.size() > 30, expected::toString);
        List<String> rows = Files.readAllLines(document()).stream()
                .filter(l -> l.matches("\\| [A-Z_]{3,} \\|.*"))
                .toList();
        assertEquals(String.join("\n", expected), String.join("\n", rows));
    }
}
