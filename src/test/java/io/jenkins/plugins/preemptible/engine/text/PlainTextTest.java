package io.jenkins.plugins.preemptible.engine.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;

class PlainTextTest {

    @Provide
    Arbitrary<String> anyUnits() {
        return Arbitraries.chars()
                .all()
                .list()
                .ofMaxSize(1200)
                .map(units -> units.stream().map(String::valueOf).reduce("", String::concat));
    }

    @Property(tries = 300)
    void whateverComesXmlHoldsIt(@ForAll("anyUnits") String text) {
        String clean = PlainText.of(text);
        assertTrue(clean.length() <= PlainText.LONGEST);
        clean.codePoints().forEach(point -> {
            assertFalse(Character.isISOControl(point), () -> Integer.toHexString(point));
            assertFalse(point >= 0xd800 && point <= 0xdfff, () -> Integer.toHexString(point));
            assertFalse((point & 0xfffe) == 0xfffe, () -> Integer.toHexString(point));
        });
        assertEquals(clean, PlainText.of(clean));
        assertTrue(PlainText.is(clean));
    }

    @Test
    void ordinaryTextStaysAsItIs() {
        assertEquals("größer: 日本 😀 \"x\" <b>", PlainText.of("größer: 日本 😀 \"x\" <b>"));
        assertEquals("", PlainText.of(""));
        assertNull(PlainText.of(null));
    }

    @Test
    void oddCharactersAreReplaced() {
        assertEquals("a b c d", PlainText.of("a\u0000b\nc\u001bd"));
        assertEquals("a b c", PlainText.of("a\u202eb\u2028c"));
        assertEquals("a?b?c?d", PlainText.of("a\ud800b\ufffec\uffffd"));
        assertEquals("?x", PlainText.of("\udc00x"));
        assertEquals("?", PlainText.of(new String(Character.toChars(0x1fffe))));
    }

    @Test
    void longTextIsCutBetweenCodePoints() {
        assertEquals("x".repeat(500), PlainText.of("x".repeat(500)));
        assertEquals("x".repeat(499) + "…", PlainText.of("x".repeat(501)));
        assertEquals("x".repeat(498) + "…", PlainText.of("x".repeat(498) + "😀😀"));
        assertEquals("x".repeat(498) + "😀", PlainText.of("x".repeat(498) + "😀"));
        assertEquals("…", PlainText.of("ab", 1));
    }

    @Test
    void listsMayHoldAnythingAndClaimAnySize() {
        assertEquals(List.of("a", "b c"), PlainText.lines(Arrays.asList("a", 7, null, "b\nc"), 10));
        assertEquals(
                3,
                PlainText.lines(Collections.nCopies(Integer.MAX_VALUE, "x"), 3).size());
        assertEquals(List.of(), PlainText.lines(null, 3));
    }

    @Test
    void tellsWhatCanBeKept() {
        assertTrue(PlainText.is("/home/größer"));
        assertFalse(PlainText.is("a\nb"));
        assertFalse(PlainText.is("a\ufffe"));
        assertFalse(PlainText.is("\ud800"));
        assertFalse(PlainText.is(null));
    }
}
