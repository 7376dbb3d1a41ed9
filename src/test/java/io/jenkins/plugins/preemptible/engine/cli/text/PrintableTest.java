package io.jenkins.plugins.preemptible.engine.cli.text;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a stage chose does not drive the terminal of whoever looks at it. */
class PrintableTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\u001b",
                "\u0007",
                "\n",
                "\r",
                "\t",
                "\u007f",
                "\u0085",
                "\u009b",
                "\u00ad",
                "\u200e",
                "\u202e",
                "\u2028",
                "\u2029",
                "\u2066",
                "\ufeff",
                "\ud800",
                "\ue000",
                "\uffff",
                "\udb40\udc41"
            })
    void whatDrivesATerminalDoesNotPass(String bad) {
        assertEquals("a?b", Printable.of("a" + bad + "b"));
    }

    @Test
    void otherTextPasses() {
        assertEquals("größe 大小 😀 -Dx='1 2' \\n", Printable.of("größe 大小 😀 -Dx='1 2' \\n"));
        assertEquals("unknown", Printable.of(null));
    }

    @Test
    void longTextIsCutBetweenCharacters() {
        assertEquals("abcd", Printable.of("abcd", 4));
        assertEquals("abc…", Printable.of("abcde", 4));
        assertEquals("ab…", Printable.of("ab😀de", 4));
    }

    @Test
    void sizesHaveAUnit() {
        assertEquals("0 bytes", Printable.size(0));
        assertEquals("1023 bytes", Printable.size(1023));
        assertEquals("1.0 KB", Printable.size(1024));
        assertEquals("999.9 KB", Printable.size(1023900));
        assertEquals("1.4 GB", Printable.size(1_500_000_000L));
        assertEquals("8.0 EB", Printable.size(Long.MAX_VALUE));
    }
}
