package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.model.Node;
import hudson.model.Result;
import java.util.concurrent.TimeUnit;
import jenkins.model.CauseOfInterruption;
import jenkins.model.Jenkins;
import jenkins.model.NodeListener;
import org.jenkinsci.plugins.workflow.steps.BodyExecution;
import org.jenkinsci.plugins.workflow.steps.FlowInterruptedException;

/**
 * Ends suspended stages whose agent was removed.
 *
 * <ol>
 *   <li>Pipeline's own listener walks executors, and a suspended stage has none.
 *   <li>After as long as Pipeline waits, five minutes, an agent that has not come back is taken for gone.
 *   <li>The stage's body is cancelled with that reason; the image goes with it, since nobody else has its key.
 * </ol>
 */
@Extension
public final class RemovedAgent extends NodeListener {

    private static final long GRACE_MILLIS =
            Long.getLong(RemovedAgent.class.getName() + ".graceMillis", TimeUnit.MINUTES.toMillis(5));

    /** How long a stage waits for a removed agent to be added again, in milliseconds. */
    public static long graceMillis() {
        return GRACE_MILLIS;
    }

    @Override
    protected void onDeleted(@NonNull Node node) {
        String name = node.getNodeName();
        for (StageRecord stage : StageRegistry.get().all()) {
            if (stage.suspended() && stage.node.equals(name)) {
                // Its steps, which may have missed the agent for a while, must not end before this does.
                SuspendedSteps.waitForAgent(stage);
            }
        }
        StageThreads.schedule("looking for agent " + name, GRACE_MILLIS, () -> {
            if (Jenkins.get().getNode(name) != null) {
                return;
            }
            for (StageRecord stage : StageRegistry.get().all()) {
                LiveStage live = LiveStage.find(stage.id);
                BodyExecution body = live == null ? null : live.body();
                if (stage.suspended() && stage.node.equals(name) && body != null) {
                    live.markAborting();
                    body.cancel(new FlowInterruptedException(Result.ABORTED, false, new AgentRemoved(name)));
                }
            }
        });
    }

    /** Why a stage whose agent was removed ended. */
    public static final class AgentRemoved extends CauseOfInterruption {
        private static final long serialVersionUID = 1L;
        private final String node;

        AgentRemoved(String node) {
            this.node = node;
        }

        @Override
        public String getShortDescription() {
            return "The agent '" + node + "' was removed while the stage was suspended on it";
        }
    }
}
