package io.jenkins.plugins.preemptible.engine.compat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.compat.CompatibilityRow.Result;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class CompatibilityTableTest {

    private static CompatibilityRow row(Part part, String subject, Result result, String remark) {
        return new CompatibilityRow(part, subject, "1.0", "counting", 2, 2, result, 12, 3_450_000, remark);
    }

    private static final List<CompatibilityRow> ROWS = List.of(
            row(Part.PROGRAMS, "a", Result.YES, ""),
            row(Part.PROGRAMS, "B", Result.NO, "first line\nsecond | line"),
            new CompatibilityRow(
                    Part.PROGRAMS, "c", "", "counting", 0, 0, Result.NOT_TRIED, -1, -1, "c is not installed"),
            row(Part.KERNEL_RESOURCES, "a", Result.YES, ""));

    @Test
    void theOrderOfTheTestsDoesNotShow() {
        List<CompatibilityRow> reversed = new ArrayList<>(ROWS);
        Collections.reverse(reversed);
        assertEquals(
                CompatibilityTable.markdown(ROWS, List.of("m")), CompatibilityTable.markdown(reversed, List.of("m")));
    }

    @Test
    void aFailureIsNotHidden() {
        String text = CompatibilityTable.markdown(ROWS, List.of("2 cores", "Linux 1"));
        assertTrue(text.contains("Machine: 2 cores, Linux 1."), text);
        assertTrue(text.contains("## Programs: 1 yes, 1 no, 1 not tried"), text);
        assertTrue(text.contains("| a | 1.0 | counting | 2 | 2 | yes | 12 | 3.5 |  |"), text);
        assertTrue(
                text.contains("| B | 1.0 | counting | 2 | 2 | **no** | 12 | 3.5 | first line second \\| line |"), text);
        assertTrue(text.contains("| c |  | counting |  |  | not tried |  |  | c is not installed |"), text);
    }
}
