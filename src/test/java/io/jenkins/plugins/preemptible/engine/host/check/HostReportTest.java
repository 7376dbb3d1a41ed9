package io.jenkins.plugins.preemptible.engine.host.check;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.host.check.HostReport.Item;
import java.util.List;
import org.junit.jupiter.api.Test;

class HostReportTest {

    @Test
    void whatIsMissingIsNamedAndNothingElse() {
        Item there = new Item("linux", true, "Linux", "");
        HostReport report = new HostReport(List.of(
                there,
                new Item("rights", false, "user u", "be root"),
                new Item("criu", false, "not found", ".ci/setup")));
        assertFalse(report.ok());
        assertEquals("rights: user u; criu: not found", report.missing());
        assertTrue(new HostReport(List.of(there)).ok());
        assertEquals("", new HostReport(List.of(there)).missing());
    }
}
