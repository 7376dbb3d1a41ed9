package io.jenkins.plugins.preemptible.engine.home;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.Leftover;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("host")
class CleanUpTest {

    @TempDir
    Path home;

    // Without removing anything: among the groups of this host are others'.
    private static boolean wouldGo(Path group, Stages stages, Duration later) {
        Clock clock = Clock.offset(Clock.systemUTC(), later);
        List<Leftover> left = new CleanUp(List::of, id -> {}, Optional.of(stages), clock).clean(true, null);
        return left.stream().anyMatch(l -> l.path().equals(group));
    }

    /** A group as a start in another home makes it: empty, and this home knows nothing of it. */
    @Test
    void anEmptyGroupOfAnotherHomeStaysUntilNobodyCanBeAboutToUseIt() throws Exception {
        Freezer group = FreezerKind.create(StageId.create("test"), null);
        assumeTrue(group.cgroup().isPresent(), "a control group is needed");
        try {
            Path folder = group.cgroup().orElseThrow();
            Stages stages = new Stages(home, null, null, null, true);
            assertFalse(wouldGo(folder, stages, Duration.ZERO), "just made");
            assertFalse(wouldGo(folder, stages, Duration.ofMinutes(5)), "a slow start");
            assertTrue(wouldGo(folder, stages, Duration.ofMinutes(11)), "left behind");
        } finally {
            group.remove();
        }
    }
}
