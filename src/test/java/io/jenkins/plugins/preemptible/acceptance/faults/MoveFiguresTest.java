package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.acceptance.faults.MoveFigures.Line;
import java.nio.file.Files;
import java.util.List;
import org.junit.jupiter.api.Test;

class MoveFiguresTest {

    private static final String PAGE = "before\n<!-- figures -->\nold\n<!-- end of figures -->\nafter\n";

    private static Line round(int number, String verdict, String mended) {
        return new Line(
                "c0ffee0",
                1,
                number,
                number,
                1000,
                MoveFault.LINK_CUT.name(),
                "SEALED",
                "SUSPENDED, sealed",
                true,
                false,
                2,
                10,
                verdict,
                verdict.equals("WHOLE") ? null : "why",
                mended);
    }

    /** What the page says is what the rounds say that are kept beside it. */
    @Test
    void pageIsOfTheRoundsThatAreKept() throws Exception {
        String page = Files.readString(MoveFigures.PAGE);
        assertEquals(MoveFigures.withFigures(page, MoveFigures.ROUNDS.read()), page);
    }

    @Test
    void countsByFaultAndState() {
        String page = MoveFigures.withFigures(
                PAGE,
                List.of(
                        round(1, "WHOLE", null),
                        round(2, "LOST", "Mend it"),
                        round(3, "TOLD", null),
                        round(4, "RIG", "it was slow")));
        assertTrue(page.startsWith("before\n<!-- figures -->\n"), page);
        assertTrue(page.endsWith("<!-- end of figures -->\nafter\n"), page);
        assertTrue(page.contains("4 rounds: 1 lost, 0 of the last 2. 8 moves, 40 lines of output."), page);
        assertTrue(page.contains("| Mend it | 1 |"), page);
        assertTrue(page.contains("| it was slow | 1 |"), page);
        assertTrue(page.contains("| " + MoveFault.LINK_CUT.words() + " | 4 | 1 | 1 | 1 | 1 |"), page);
        assertTrue(page.contains("| SUSPENDED, sealed | 4 | 1 | 1 | 1 | 1 |"), page);
    }
}
