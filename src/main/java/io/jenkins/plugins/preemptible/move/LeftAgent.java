package io.jenkins.plugins.preemptible.move;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Node;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.agent.MovingStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.lifecycle.stage.LuggageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Cleans the agent that a stage has left: its image, and the temporary folder, which may hold secrets of its steps.
 *
 * <p>Not at once: a step that was just looking for its log there must still find it. Until then the workspace of that agent
 * is leased, so that nobody else's temporary folder is removed; what it holds stays, as that of any build that has ended. An
 * agent that is away is cleaned when it is back, see {@code ReturnedHosts}.
 */
final class LeftAgent {

    /** More than a step's own look at its agent may take (DurableTaskStep.REMOTE_TIMEOUT). */
    private static final long DELAY_MILLIS =
            Long.getLong(LeftAgent.class.getName() + ".delayMillis", TimeUnit.SECONDS.toMillis(60));

    private LeftAgent() {}

    static void clean(StageRecord before, @CheckForNull WorkspaceList.Lease lease, List<String> temporary) {
        StageThreads.scheduleFor(before.node(), "cleaning what " + before + " has left", DELAY_MILLIS, () -> {
            try {
                StageRecord now = StageRegistry.get().find(before.id());
                Node node = Nodes.named(before.node());
                if (node != null && (now == null || !now.node().equals(before.node()))) {
                    MovingStage.on(node, before.id()).leave(temporary);
                    HostTraits host =
                            before.luggage() == null ? null : before.luggage().host();
                    if (host != null) {
                        StageRegistry.get().update(before.id(), LuggageChanges.cleanedOn(host.token()));
                    }
                }
            } finally {
                if (lease != null) {
                    lease.release();
                }
            }
        });
    }
}
