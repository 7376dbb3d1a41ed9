package io.jenkins.plugins.preemptible.engine.move;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MoveExcludesTest {

    private static final Path WORKSPACE = Path.of("/agent/workspace/job");

    @ParameterizedTest
    @CsvSource({
        "**/cache/**, cache, true",
        "**/cache/**, cache/a/b, true",
        "**/cache/**, x/y/cache/a, true",
        "**/cache/**, x/caches/a, false",
        "cache/, cache/a, true",
        "cache/, x/cache/a, false",
        "*.iso, disk.iso, true",
        "*.iso, x/disk.iso, false",
        "**/*.iso, disk.iso, true",
        "**/*.iso, x/disk.iso, true",
        "a/**/b, a/b, true",
        "a/**/b, a/x/y/b/c, true",
        "a/**/b, ax/b, false",
        "a?c, abc, true",
        "a?c, a/c, false",
        "a.c, abc, false",
    })
    void patternsAreAnts(String pattern, String file, boolean expected) {
        assertEquals(expected, MoveExcludes.parse(pattern).contain(WORKSPACE, WORKSPACE.resolve(file)));
    }

    @Test
    void theWorkspaceItselfAndWhatLiesElsewhereTravel() {
        MoveExcludes all = MoveExcludes.parse("**/*job*/**,durable*");
        assertFalse(all.contain(WORKSPACE, WORKSPACE));
        assertFalse(all.contain(WORKSPACE, Path.of("/agent/workspace/job@tmp/durable-1")));
        assertEquals(List.of("a", "b", "c"), MoveExcludes.parse(" a,b\r\n\nc ").patterns());
        assertEquals(List.of(), MoveExcludes.parse(null).patterns());
    }

    @ParameterizedTest
    @ValueSource(strings = {"/etc", "../x", "a/../b", "a**/b", "./a"})
    void whatIsNoPatternIsRefused(String text) {
        assertThrows(IllegalArgumentException.class, () -> MoveExcludes.parse(text));
    }

    @ParameterizedTest
    @ValueSource(strings = {"**", "*", "**/*", "*/", "**/", "*/**", "**/**", "?*", "target/, **"})
    void whatLeavesOutEverythingIsRefused(String text) {
        assertThrows(IllegalArgumentException.class, () -> MoveExcludes.parse(text));
    }

    @Test
    void thereAreNotTooMany() {
        List<String> many = Collections.nCopies(MoveExcludes.MOST + 1, "a");
        assertThrows(IllegalArgumentException.class, () -> MoveExcludes.of(many));
    }
}
