package io.jenkins.plugins.preemptible.lifecycle.pipeline;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

class OutageClockTest {

    @Test
    void thisVersionOfPipelineHasTheClock() {
        assertNull(OutageClock.problem());
    }

    @Test
    void anotherVersionMayHaveNone() {
        assertThat(OutageClock.Probe.make("java.lang.String").problem(), containsString("removedNodeDiscovered"));
        assertThat(OutageClock.Probe.make("no.such.Step").problem(), containsString("no.such.Step"));
    }
}
