package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.acceptance.faults.FaultFigures.Line;
import java.nio.file.Files;
import java.util.List;
import org.junit.jupiter.api.Test;

class FaultFiguresTest {

    private static final String PAGE = "before\n<!-- figures -->\nold\n<!-- end of figures -->\nafter\n";

    private static Line round(int number, String loss, String mended) {
        return new Line(
                "c0ffee0",
                1,
                number,
                number,
                1000,
                Fault.NETWORK_CUT.name(),
                "SUSPENDING",
                "SUSPENDING",
                true,
                10,
                2,
                1,
                loss,
                mended);
    }

    /** What the page says is what the rounds say that are kept beside it. */
    @Test
    void pageIsOfTheRoundsThatAreKept() throws Exception {
        String page = Files.readString(FaultFigures.PAGE);
        assertEquals(FaultFigures.withFigures(page, FaultFigures.ROUNDS.read()), page);
    }

    @Test
    void countsSinceTheLastLoss() {
        String page = FaultFigures.withFigures(
                PAGE,
                List.of(
                        round(1, null, null),
                        round(2, "it was lost", "Mend it"),
                        round(3, "it was lost", null),
                        round(4, null, null)));
        assertTrue(page.startsWith("before\n<!-- figures -->\n"), page);
        assertTrue(page.endsWith("<!-- end of figures -->\nafter\n"), page);
        assertTrue(page.contains("4 rounds with two stages each: 2 lost, 0 of the last 1."), page);
        assertTrue(page.contains("| Mend it | 1 |"), page);
        assertTrue(page.contains("| not known, nothing yet | 1 |"), page);
        assertTrue(page.contains("| " + Fault.NETWORK_CUT.words() + " | 4 | 2 |"), page);
        assertTrue(page.contains("| SUSPENDING | 4 |"), page);
        assertTrue(page.contains("Of 40 lines in build logs, 8 stood there twice and 4 were missing."), page);
    }
}
