package io.jenkins.plugins.preemptible.engine.simulation.workload;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A history is read whole or not at all. */
class HistoryTest {

    private static final String GOOD =
            "{\"queued\":\"2026-01-05T08:00:00Z\",\"started\":\"2026-01-05T09:00:10+01:00\",\"ended\":1767600070000}";

    @Test
    void momentsAreIsoOrMillisAndTheRestMayBeMissing() throws Exception {
        String full = "{\"queued\":0,\"started\":5,\"ended\":9,\"label\":\"linux\",\"priority\":1,\"owner\":\"anna\","
                + "\"job\":\"nightly\",\"preemptible\":false,\"memory_mb\":2}";
        List<PastJob> jobs = History.read(new StringReader(GOOD + "\r\n\n" + full + "\n"));
        assertEquals(new PastJob("", 1767600000000L, 1767600010000L, 1767600070000L, "", 3, "", true, -1), jobs.get(0));
        assertEquals(new PastJob("nightly", 0, 5, 9, "linux", 1, "anna", false, 2 << 20), jobs.get(1));
        assertEquals(2, jobs.size());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"queued\":1 | it is no JSON",
                "[1] | no JSON object",
                "{} trailing | it is no JSON",
                "{\"queued\":1,\"queued\":2,\"started\":3,\"ended\":4} | Duplicate",
                "{\"queued\":1,\"started\":2} | 'ended' is missing",
                "{\"queued\":5,\"started\":2,\"ended\":9} | started before it was queued",
                "{\"queued\":1,\"started\":9,\"ended\":5} | ended before it was started",
                "{\"queued\":\"yesterday\",\"started\":2,\"ended\":3} | 'queued' must be milliseconds",
                "{\"queued\":1.5,\"started\":2,\"ended\":3} | 'queued' must be milliseconds",
                "{\"queued\":-1,\"started\":2,\"ended\":3} | not between 1970 and 2200",
                "{\"queued\":1,\"started\":2,\"ended\":99999999999999999999} | 'ended' must be milliseconds",
                "{\"queued\":1,\"started\":2,\"ended\":3,\"priority\":\"high\"} | 'priority' must be a whole number",
                "{\"queued\":1,\"started\":2,\"ended\":3,\"prio\":1} | 'prio' is not known",
                "{\"queued\":1,\"started\":2,\"ended\":3,\"label\":7} | 'label' must be a string",
                "{\"queued\":1,\"started\":2,\"ended\":3,\"preemptible\":1} | 'preemptible' must be true or false",
                "{\"queued\":1,\"started\":2,\"ended\":3,\"memory_mb\":-4} | 'memory_mb' must be a whole number"
            })
    void aBrokenLineIsRefusedWithItsNumberAndWhatIsWrong(String line, String what) {
        HistoryException refused = assertThrows(
                HistoryException.class, () -> History.read(new StringReader(GOOD + "\n\n" + line + "\n" + GOOD)));
        assertEquals(3, refused.line());
        assertTrue(refused.getMessage().startsWith("line 3: "), refused.getMessage());
        assertTrue(refused.getMessage().contains(what), refused.getMessage());
    }

    @Test
    void noJobAtAllIsRefused() {
        assertThrows(HistoryException.class, () -> History.read(new StringReader("\n")));
    }

    @Test
    void whatIsNotUtf8IsRefusedWithItsLine(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("history.jsonl");
        byte[] good = (GOOD + "\n").getBytes(StandardCharsets.UTF_8);
        byte[] bytes = java.util.Arrays.copyOf(good, good.length + 3);
        bytes[good.length] = (byte) 0xff;
        bytes[good.length + 1] = 'x';
        bytes[good.length + 2] = '\n';
        Files.write(file, bytes);
        HistoryException refused = assertThrows(HistoryException.class, () -> History.read(file));
        assertEquals(2, refused.line());
    }
}
