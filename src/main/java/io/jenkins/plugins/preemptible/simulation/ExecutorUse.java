package io.jenkins.plugins.preemptible.simulation;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Util;
import hudson.model.AbstractBuild;
import hudson.model.Queue;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.config.BestPriority;
import io.jenkins.plugins.preemptible.config.Owners;
import io.jenkins.plugins.preemptible.engine.simulation.workload.PastJob;
import io.jenkins.plugins.preemptible.priority.Priorities;
import io.jenkins.plugins.preemptible.view.ResumedStageAction;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jenkinsci.plugins.workflow.actions.ArgumentsAction;
import org.jenkinsci.plugins.workflow.actions.BodyInvocationAction;
import org.jenkinsci.plugins.workflow.actions.TimingAction;
import org.jenkinsci.plugins.workflow.actions.WorkspaceAction;
import org.jenkinsci.plugins.workflow.flow.FlowExecution;
import org.jenkinsci.plugins.workflow.flow.FlowExecutionOwner;
import org.jenkinsci.plugins.workflow.graph.BlockEndNode;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.graph.StepNode;
import org.jenkinsci.plugins.workflow.graphanalysis.DepthFirstScanner;
import org.jenkinsci.plugins.workflow.steps.StepDescriptor;

/**
 * What of a build that has ended held an executor, when, and since when it had waited for it.
 *
 * <ol>
 *   <li>Of a Pipeline, each {@code node} block and each {@code preemptible} one with an executor of its own: it waited
 *       from its step's start to its body's.
 *   <li>Of a build of another kind the whole build. Jenkins keeps no record of how long it waited, so it counts as one
 *       that did not.
 *   <li>The time of a stage's last suspension is taken off; of earlier ones nothing is kept.
 * </ol>
 */
final class ExecutorUse {

    private static final Logger LOGGER = Logger.getLogger(ExecutorUse.class.getName());
    private static final String NODE = "node";
    private static final String PREEMPTIBLE = "preemptible";

    private final Run<?, ?> run;
    private final String owner;
    private final List<FlowNode> blocks = new ArrayList<>();
    private final Map<String, Long> bodyStarts = new HashMap<>();
    private final Map<String, Long> ends = new HashMap<>();
    private final Set<String> aroundStages = new HashSet<>();
    private final Map<String, Long> suspendedMillis = new HashMap<>();

    private ExecutorUse(Run<?, ?> run, Owners owners) {
        this.run = run;
        this.owner = owners.ofRun(run);
    }

    static List<PastJob> of(Run<?, ?> run, Owners owners) {
        ExecutorUse use = new ExecutorUse(run, owners);
        if (run instanceof FlowExecutionOwner.Executable pipeline) {
            return use.ofPipeline(pipeline.asFlowExecutionOwner());
        }
        boolean holdsOne = run instanceof AbstractBuild && !(run.getParent() instanceof Queue.FlyweightTask);
        return holdsOne ? List.of(use.whole((AbstractBuild<?, ?>) run)) : List.of();
    }

    private PastJob whole(AbstractBuild<?, ?> build) {
        long started = build.getStartTimeInMillis();
        String label = Util.fixNull(build.getParent().getAssignedLabelString());
        return past(label, started, started, started + Math.max(0, build.getDuration()), false, ofBuild());
    }

    private List<PastJob> ofPipeline(@CheckForNull FlowExecutionOwner pipeline) {
        FlowExecution execution;
        try {
            // Loads it: one that nobody has asked for since Jenkins started is not in memory.
            execution = pipeline == null ? null : pipeline.get();
        } catch (IOException e) {
            LOGGER.log(Level.FINE, e, () -> run + " cannot be replayed: nothing of its blocks can be read");
            return List.of();
        }
        if (execution == null) {
            return List.of();
        }
        new DepthFirstScanner().allNodes(execution).forEach(this::note);
        List<PastJob> jobs = new ArrayList<>();
        for (FlowNode block : blocks) {
            Long started = bodyStarts.get(block.getId());
            Long ended = ends.get(block.getId());
            long queued = TimingAction.getStartTime(block);
            if (started != null && ended != null && queued > 0 && queued <= started && started <= ended) {
                jobs.add(ofBlock(block, queued, started, ended));
            }
        }
        return jobs;
    }

    private PastJob ofBlock(FlowNode block, long queued, long started, long ended) {
        Map<String, Object> arguments = ArgumentsAction.getArguments(block);
        boolean own = is(block, PREEMPTIBLE);
        long withoutSuspension = Math.max(started, ended - suspendedMillis.getOrDefault(block.getId(), 0L));
        return past(
                arguments.get("label") instanceof String label ? label.trim() : "",
                queued,
                started,
                withoutSuspension,
                own || aroundStages.contains(block.getId()),
                own
                        ? BestPriority.ofStage(
                                Priorities.get(),
                                run,
                                arguments.get("priority") instanceof Integer given ? given : null)
                        : ofBuild());
    }

    private void note(FlowNode node) {
        if (node instanceof BlockEndNode<?> end) {
            ends.put(end.getStartNode().getId(), TimingAction.getStartTime(node));
            return;
        }
        if (node.getPersistentAction(BodyInvocationAction.class) != null) {
            node.getParents().forEach(step -> bodyStarts.put(step.getId(), TimingAction.getStartTime(node)));
            return;
        }
        boolean stage = is(node, PREEMPTIBLE);
        if ((stage || is(node, NODE)) && node.getPersistentAction(WorkspaceAction.class) != null) {
            blocks.add(node);
        } else if (stage) {
            aroundStages.addAll(node.getAllEnclosingIds());
        }
        ResumedStageAction resumed = node.getPersistentAction(ResumedStageAction.class);
        if (resumed != null) {
            long away = Math.max(0, resumed.getResumedMillis() - resumed.getSuspendedMillis());
            suspendedMillis.merge(node.getId(), away, Long::sum);
            node.getAllEnclosingIds().forEach(around -> suspendedMillis.merge(around, away, Long::sum));
        }
    }

    private static boolean is(FlowNode node, String function) {
        StepDescriptor step = node instanceof StepNode ? ((StepNode) node).getDescriptor() : null;
        return step != null && step.getFunctionName().equals(function);
    }

    private int ofBuild() {
        return Priorities.get().ofBuild(run);
    }

    private PastJob past(String label, long queued, long started, long ended, boolean preemptible, int priority) {
        String name = run.getParent().getFullName() + "/" + label;
        return new PastJob(name, queued, started, ended, label, priority, owner, preemptible, -1);
    }
}
