package io.jenkins.plugins.preemptible.lifecycle.agents;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.model.Computer;
import hudson.model.Job;
import hudson.model.Node;
import hudson.model.Run;
import hudson.model.TaskListener;
import hudson.remoting.VirtualChannel;
import hudson.slaves.ComputerListener;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.agent.PresentStages;
import io.jenkins.plugins.preemptible.agent.StageOrigin;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.File;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.flow.FlowExecutionList;

/**
 * Ends stages that an agent still has when it connects, and that this controller began and knows no more: its record of
 * them was lost, or its agent was removed and its host is another agent's now.
 *
 * <ol>
 *   <li>Looks once for each connection, when Pipeline has loaded all builds of before the controller's restart.
 *   <li>A stage that {@link StageRegistry} knows is left alone. So is, named in the agent's log, what another
 *       controller began and whatever is in doubt: a stage of no known origin, or of a build that runs, or is of no known
 *       job.
 *   <li>Agents may share a host and a root folder: the same stage is then seen by each of them.
 * </ol>
 */
@Extension
public final class UnknownStages extends ComputerListener {

    private static final Logger LOGGER = Logger.getLogger(UnknownStages.class.getName());
    private static final long LOOK_MILLIS = TimeUnit.SECONDS.toMillis(5);

    /** By the clocks of two JVMs of one controller. */
    private static final long CLOCK_MILLIS = TimeUnit.MINUTES.toMillis(1);

    /** What the agent notes of a stage that is about to begin there. */
    public static StageOrigin originOf(StageRecord stage) {
        return new StageOrigin(Jenkins.get().getLegacyInstanceId(), stage.runId(), stage.startedMillis());
    }

    @Override
    public void onOnline(Computer computer, TaskListener listener) {
        if (computer.getNode() != null && Boolean.TRUE.equals(computer.isUnix())) {
            look(computer, computer.getChannel(), listener, 0);
        }
    }

    private static void look(Computer computer, VirtualChannel connection, TaskListener listener, long delayMillis) {
        String agent = computer.getName();
        StageThreads.askFor(agent, "looking for unknown stages on agent " + agent, delayMillis, () -> {
            Node node = computer.getNode();
            if (node == null || computer.getChannel() != connection) {
                return;
            }
            if (FlowExecutionList.get().isResumptionComplete()) {
                look(node, listener);
            } else {
                look(computer, connection, listener, LOOK_MILLIS);
            }
        });
    }

    private static void look(Node node, TaskListener listener) throws InterruptedException {
        try {
            // First the agent: a stage that begins there is in the registry before.
            for (PresentStages.Present present : PresentStages.on(node).stages()) {
                look(node, present, listener);
            }
        } catch (IOException x) {
            LOGGER.log(
                    Level.FINE,
                    x,
                    () -> "no look at the stages of " + node.getDisplayName() + ", which is most likely offline");
        }
    }

    private static void look(Node node, PresentStages.Present present, TaskListener listener)
            throws IOException, InterruptedException {
        StageRegistry registry = StageRegistry.get();
        Stream<StageRecord> ended =
                registry.leftovers().stream().filter(stage -> stage.id().equals(present.id()));
        StageRecord leftover = ended.findFirst().orElse(null);
        if (registry.find(present.id()) != null || leftover != null && Nodes.named(leftover.node()) != null) {
            return;
        }
        Verdict verdict = leftover == null
                ? verdict(present.origin())
                : Verdict.end("its agent '" + leftover.node() + "' was removed from Jenkins");
        if (!verdict.ended && !present.began()) {
            return;
        }
        if (verdict.ended) {
            AgentStage.on(node, present.id()).remove();
            registry.cleaned(present.id());
        }
        String words = verdict.ended
                ? (present.began() ? "Ended the stage " : "Removed what was brought here of the stage ") + present.id()
                        + ", which this controller had begun and knows no more: "
                        + verdict.why
                : "Left the stage " + present.id() + " as it is: " + verdict.why + ". If nobody needs it, end it on"
                        + " this host: PREEMPTIBLE_HOME=" + node.getRootPath() + "/preemptible preempt forget --kill "
                        + present.id();
        LOGGER.log(Level.INFO, "{0}: {1}", new Object[] {node.getDisplayName(), words});
        listener.getLogger().println(StageLog.marked(words + "."));
    }

    /**
     * @param why half a sentence
     */
    private record Verdict(boolean ended, String why) {
        static Verdict end(String why) {
            return new Verdict(true, why);
        }

        static Verdict leave(String why) {
            return new Verdict(false, why);
        }
    }

    private static Verdict verdict(@CheckForNull StageOrigin origin) {
        if (origin == null) {
            return Verdict.leave("no controller is noted that has begun it");
        }
        if (!origin.controller().equals(Jenkins.get().getLegacyInstanceId())) {
            return Verdict.leave("another controller has begun it");
        }
        String id = origin.runId();
        int hash = id.lastIndexOf('#');
        Job<?, ?> job = hash < 0 ? null : Jenkins.get().getItemByFullName(id.substring(0, hash), Job.class);
        if (job == null) {
            return Verdict.leave("its build " + id + " is of a job that is not known, or was moved");
        }
        Run<?, ?> run = Run.fromExternalizableId(id);
        if (run != null) {
            return ofKnown(run, origin.beganMillis());
        }
        String number = id.substring(hash + 1);
        // A copy of this controller, made before that build, has the same identity and has not come so far.
        boolean deleted = number.matches("[0-9]{1,9}")
                && Integer.parseInt(number) < job.getNextBuildNumber()
                && !new File(job.getBuildDir(), number).exists();
        return deleted
                ? Verdict.end("its build " + id + " was deleted")
                : Verdict.leave("its build " + id + " is not known");
    }

    private static Verdict ofKnown(Run<?, ?> run, long beganMillis) {
        long startMillis = run.getStartTimeInMillis();
        if (run.isBuilding()) {
            return Verdict.leave(
                    "its build " + run.getExternalizableId() + " runs, though nothing is known of this stage");
        }
        // Else it is the build of that number in a copy of this controller.
        boolean itsBuild = beganMillis > startMillis - CLOCK_MILLIS
                && beganMillis < startMillis + run.getDuration() + CLOCK_MILLIS;
        return itsBuild
                ? Verdict.end("its build " + run.getExternalizableId() + " has ended")
                : Verdict.leave("it did not begin while its build " + run.getExternalizableId() + " ran");
    }
}
