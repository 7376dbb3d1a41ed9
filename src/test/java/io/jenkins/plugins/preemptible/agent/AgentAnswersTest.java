package io.jenkins.plugins.preemptible.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InvalidObjectException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What comes out of a wire whose other end may have written any bytes. */
class AgentAnswersTest {

    private static final EnterCommand ENTER =
            new EnterCommand.BySudo("stage-00000000", "/usr/bin/sudo", "/usr/local/libexec/preemptible");
    private static final String PLACE = "AAAAAAAA";

    @Test
    void textsAreCleanedWhenTheyArrive() throws Exception {
        // In the modified UTF-8 of the stream: U+0000, ESC, U+FFFE, a lone surrogate.
        byte[] odd = {(byte) 0xc0, (byte) 0x80, 0x1b, (byte) 0xef, (byte) 0xbf, (byte) 0xbe, 'x', '\n'};
        assertEquals("  ?x ", ((AgentStage.Seen) forged(new AgentStage.Seen(PLACE, 1, 1), odd)).leak());
        byte[] surrogate = {(byte) 0xed, (byte) 0xa0, (byte) 0x80, 'a', 'b', 'c', 'd', 'e'};
        assertEquals("?abcde", ((AgentStage.Seen) forged(new AgentStage.Seen(PLACE, 1, 1), surrogate)).leak());
        assertEquals("  ?x ", ((AgentStage.Sandbox) forged(AgentStage.Sandbox.refused(PLACE), odd)).refusal());
        AgentStage.Refusal refusal =
                (AgentStage.Refusal) forged(new AgentStage.Refusal(PLACE, "X", true, List.of("line")), odd);
        assertEquals("  ?x ", refusal.sentence());
        AgentStage.Freeze freeze =
                (AgentStage.Freeze) forged(new AgentStage.Freeze(refusal, 1, 1, 1, 1, true, PLACE, false), odd);
        assertEquals("  ?x ", freeze.handOverWhy());
        AgentStage.Restore restore =
                (AgentStage.Restore) forged(new AgentStage.Restore(null, PLACE, ENTER, 1, 1, 1, List.of()), odd);
        assertEquals("  ?x ", restore.tier());
    }

    @Test
    void numbersAreBroughtIntoTheirRanges() {
        for (long any : new long[] {Long.MIN_VALUE, -1, 0, 1, Long.MAX_VALUE}) {
            AgentStage.Dump dump = new AgentStage.Dump(null, any, any, any, any, (int) any);
            assertTrue(dump.dumpMillis() >= 0 && dump.dumpMillis() + dump.archiveMillis() >= 0, dump.toString());
            assertTrue(dump.imageBytes() >= 0 && dump.imageBytes() * 1000 >= 0, dump.toString());
            assertTrue(dump.processes() >= 0, dump.toString());
            AgentStage.Seen seen = new AgentStage.Seen(null, any, any);
            assertTrue(seen.residentBytes() >= -1 && seen.freeBytes() >= -1, seen.toString());
            AgentStage.Freeze freeze = new AgentStage.Freeze(null, any, any, (int) any, any, true, null, false);
            assertTrue(freeze.residentBytes() >= 0 && freeze.processes() >= 0, freeze.toString());
            assertEquals("", freeze.handOverWhy());
        }
    }

    @Test
    @SuppressWarnings({"unchecked", "rawtypes"})
    void listsMayHoldAnything() {
        List odd = Arrays.asList(1, null, "a\u0000b", new int[0]);
        assertEquals(List.of("a b"), new AgentStage.Refusal("x", "x", true, odd).criuLines());
        assertEquals(List.of("a b"), new AgentStage.Restore(null, "x", ENTER, 0, 0, 0, odd).warnings());
        List<String> endless = Collections.nCopies(Integer.MAX_VALUE, "x");
        assertTrue(new AgentStage.Refusal("x", "x", true, endless).criuLines().size() < 100);
        assertEquals(List.of(), new AgentStage.Refusal(null, null, true, null).criuLines());
    }

    @Test
    void longTextsAreCut() {
        String longest = "x".repeat(1_000_000);
        assertEquals(
                PlainText.LONGEST, new AgentStage.Seen(longest, 0, 0).leak().length());
        assertEquals(
                PlainText.LONGEST, AgentStage.Refusal.of(longest).sentence().length());
        assertNull(new AgentStage.Seen(null, 0, 0).leak());
    }

    @Test
    void neitherBothNorNothing() {
        assertThrows(IllegalArgumentException.class, () -> new AgentStage.Sandbox(null, null, false));
        assertThrows(IllegalArgumentException.class, () -> new AgentStage.Sandbox(ENTER, "refused", false));
        assertThrows(IllegalArgumentException.class, () -> new AgentStage.Restore(null, "x", null, 0, 0, 0, List.of()));
    }

    @Test
    void anEnterCommandIsCheckedInsideOfAnAnswer() {
        byte[] sent = sent(new AgentStage.Sandbox(ENTER, null, false));
        byte[] forged = new String(sent, StandardCharsets.ISO_8859_1)
                .replace("/usr/bin/sudo", "/usr/bin/rm -r")
                .getBytes(StandardCharsets.ISO_8859_1);
        // The length stands before the text.
        int at = new String(forged, StandardCharsets.ISO_8859_1).indexOf("/usr/bin/rm -r");
        forged[at - 1]++;
        assertThrows(InvalidObjectException.class, () -> received(forged));
    }

    private static Object forged(Serializable answer, byte[] odd) throws Exception {
        assertEquals(PLACE.length(), odd.length);
        String text = new String(sent(answer), StandardCharsets.ISO_8859_1);
        assertTrue(text.contains(PLACE));
        return received(text.replace(PLACE, new String(odd, StandardCharsets.ISO_8859_1))
                .getBytes(StandardCharsets.ISO_8859_1));
    }

    private static byte[] sent(Serializable answer) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(answer);
        } catch (IOException x) {
            throw new AssertionError(x);
        }
        return bytes.toByteArray();
    }

    private static Object received(byte[] bytes) throws IOException, ClassNotFoundException {
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
            return in.readObject();
        }
    }
}
