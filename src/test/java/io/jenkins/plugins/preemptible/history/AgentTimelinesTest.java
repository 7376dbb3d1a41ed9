package io.jenkins.plugins.preemptible.history;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageRef;
import io.jenkins.plugins.preemptible.event.StageResumed;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import io.jenkins.plugins.preemptible.history.Timeline.Bar;
import io.jenkins.plugins.preemptible.history.Timeline.Kind;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

@WithJenkins
class AgentTimelinesTest {

    private static final long NOW = System.currentTimeMillis();

    private static StageRef on(String agent) {
        return new StageRef("id", "fuzz", "job#1", agent);
    }

    private static StageSuspended suspended(String agent, long agoMillis) {
        return new StageSuspended(
                on(agent),
                NOW - 900_000,
                NOW - agoMillis,
                20,
                "HIGHER_PRIORITY_WAITS",
                "Why.",
                null,
                null,
                2,
                1 << 20,
                false);
    }

    private static StageResumed resumed(String agent, long agoMillis) {
        return new StageResumed(on(agent), NOW - agoMillis, 10, 1000, "ARCHIVE");
    }

    private static List<List<Kind>> rows(AgentTimelines timelines, String agent) {
        return timelines.of(agent).getRows().stream()
                .map(row -> row.bars().stream().map(Bar::kind).toList())
                .toList();
    }

    @Test
    void aStageThatMovesEndsHereAndBeginsThere(JenkinsRule j) {
        AgentTimelines timelines = AgentTimelines.get();
        timelines.onSuspended(suspended("a", 800_000));
        timelines.onResumed(resumed("b", 700_000));
        assertEquals(List.of(List.of(Kind.RUNNING, Kind.FROZEN)), rows(timelines, "a"));
        assertEquals(List.of(List.of(Kind.RUNNING)), rows(timelines, "b"));
    }

    @Test
    void aStageThatComesBackHasARowForEachStay(JenkinsRule j) {
        AgentTimelines timelines = AgentTimelines.get();
        timelines.onSuspended(suspended("a", 800_000));
        timelines.onResumed(resumed("b", 700_000));
        timelines.onSuspended(suspended("b", 600_000));
        timelines.onResumed(resumed("a", 500_000));
        timelines.onSuspended(suspended("a", 400_000));
        timelines.onResumed(resumed("a", 300_000));
        timelines.onEnded(new StageEnded(on("a"), NOW - 200_000, false));
        assertEquals(
                List.of(
                        List.of(Kind.RUNNING, Kind.FROZEN),
                        List.of(Kind.RUNNING, Kind.FROZEN, Kind.RESTORING, Kind.RUNNING)),
                rows(timelines, "a").stream()
                        .sorted((x, y) -> x.size() - y.size())
                        .toList());
        assertEquals(List.of(List.of(Kind.RUNNING, Kind.FROZEN)), rows(timelines, "b"));
    }
}
