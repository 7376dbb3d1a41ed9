package io.jenkins.plugins.preemptible.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageRef;
import io.jenkins.plugins.preemptible.event.StageResumed;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import io.jenkins.plugins.preemptible.history.Timeline.Bar;
import io.jenkins.plugins.preemptible.history.Timeline.Kind;
import java.util.List;
import org.junit.jupiter.api.Test;

class TimelineTest {

    private static final StageRef STAGE = new StageRef("id", "fuzz", "job#1", "agent");
    private static final long BEGIN = 1_000_000;

    private static StageSuspended suspended(long atMillis) {
        return new StageSuspended(
                STAGE, BEGIN, atMillis, 20, "HIGHER_PRIORITY_WAITS", "Why.", null, null, 2, 1 << 20, false);
    }

    private static List<Kind> kinds(Timeline timeline) {
        return timeline.getRows().get(0).bars().stream().map(Bar::kind).toList();
    }

    @Test
    void aSealedSuspensionHasAllItsPhases() {
        PastSuspension one = new PastSuspension(suspended(BEGIN + 100))
                .with(new StageSealed(STAGE, BEGIN + 200, 30, 20, 1, 1))
                .with(new StageResumed(STAGE, BEGIN + 400, 50, 300, "LOCAL_IMAGE"));
        PastStage stage =
                PastStage.begun(suspended(BEGIN + 100)).with(one).with(new StageEnded(STAGE, BEGIN + 1_000, false));
        Timeline timeline = new Timeline(BEGIN, BEGIN + 1_000);
        timeline.row("fuzz");
        SuspensionBars.add(timeline, stage, "fuzz", BEGIN + 2_000);
        assertEquals(
                List.of(Kind.RUNNING, Kind.FROZEN, Kind.SEALING, Kind.IMAGE, Kind.RESTORING, Kind.RUNNING),
                kinds(timeline));
        assertEquals(
                List.of(0, 100, 150, 200, 350, 400),
                timeline.getRows().get(0).bars().stream().map(Bar::x).toList());
        assertEquals(
                List.of(100, 50, 50, 150, 50, 600),
                timeline.getRows().get(0).bars().stream().map(Bar::width).toList());
    }

    @Test
    void whatIsNotOverLastsUntilNow() {
        PastStage stage = PastStage.begun(suspended(BEGIN + 100)).with(new PastSuspension(suspended(BEGIN + 100)));
        Timeline timeline = new Timeline(BEGIN, BEGIN + 1_000);
        timeline.row("fuzz");
        SuspensionBars.add(timeline, stage, "fuzz", BEGIN + 1_000);
        assertEquals(List.of(Kind.RUNNING, Kind.FROZEN), kinds(timeline));
        assertEquals(900, timeline.getRows().get(0).bars().get(1).width());
        assertEquals(900, stage.withoutExecutorMillis(BEGIN + 1_000));
    }

    @Test
    void aStageThatEndsWhileItIsSuspendedRunsNoMore() {
        PastStage stage = PastStage.begun(suspended(BEGIN + 100))
                .with(new PastSuspension(suspended(BEGIN + 100)))
                .with(new StageEnded(STAGE, BEGIN + 300, true));
        Timeline timeline = new Timeline(BEGIN, BEGIN + 1_000);
        timeline.row("fuzz");
        SuspensionBars.add(timeline, stage, "fuzz", BEGIN + 1_000);
        assertEquals(List.of(Kind.RUNNING, Kind.FROZEN), kinds(timeline));
        assertEquals(200, stage.withoutExecutorMillis(BEGIN + 1_000));
    }

    @Test
    void onlyTheNewestAreListedAndAllAreCounted() {
        PastStage stage = PastStage.begun(suspended(BEGIN));
        int all = PastStage.MOST + 5;
        for (int i = 0; i < all; i++) {
            long at = BEGIN + 100L * i;
            stage = stage.with(new PastSuspension(suspended(at)));
            StageResumed resumed = new StageResumed(STAGE, at + 10, 1, 10, "FROZEN");
            stage = stage.withNewest(suspension -> suspension.with(resumed));
        }
        assertEquals(PastStage.MOST, stage.getSuspensions().size());
        assertEquals(all, stage.getCount());
        assertEquals(10L * all, stage.withoutExecutorMillis(BEGIN + 1_000_000));
    }

    @Test
    void aBarOutsideOfTheAxisIsLeftOutAndATinyOneIsSeen() {
        Timeline timeline = new Timeline(BEGIN, BEGIN + 1_000_000);
        timeline.row("executor");
        timeline.bar(Kind.OTHER, BEGIN - 500, BEGIN - 1, "before");
        timeline.bar(Kind.OTHER, 0, BEGIN + 10, "no beginning");
        timeline.bar(Kind.OTHER, BEGIN + 20, BEGIN + 10, "backwards");
        assertFalse(timeline.isDrawn());
        timeline.bar(Kind.OTHER, BEGIN + 1_000_000, BEGIN + 1_000_000, "last moment");
        assertEquals(1, timeline.getRows().get(0).bars().get(0).width());
        assertEquals(999, timeline.getRows().get(0).bars().get(0).x());
    }

    @Test
    void anAxisDoesNotEndBeforeItBegins() {
        assertThrows(IllegalArgumentException.class, () -> new Timeline(2, 1));
    }
}
