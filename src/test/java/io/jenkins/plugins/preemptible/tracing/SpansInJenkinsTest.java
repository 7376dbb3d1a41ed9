package io.jenkins.plugins.preemptible.tracing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import hudson.ExtensionList;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRef;
import io.jenkins.plugins.preemptible.event.StageResumed;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** With the plugin that has the library, which exports nothing until it is configured. */
@WithJenkins
class SpansInJenkinsTest {

    @Test
    void theListenerIsThereAndTheUnconfiguredLibraryTakesItsSpans(JenkinsRule j) {
        assertFalse(j.jenkins.getPluginManager().getPlugin("opentelemetry-api") == null, "the plugin is there");
        List<SuspensionSpans> listeners = ExtensionList.lookup(StageListener.class).stream()
                .filter(SuspensionSpans.class::isInstance)
                .map(SuspensionSpans.class::cast)
                .toList();
        assertEquals(1, listeners.size());
        StageRef stage = new StageRef("tests-1a2b3c4d", "tests", "job#1", "agent");
        listeners.get(0).onResumed(new StageResumed(stage, 2_000, 10, 500, "FROZEN"));
    }
}
