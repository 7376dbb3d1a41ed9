package io.jenkins.plugins.preemptible.overview;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Computer;
import hudson.model.Item;
import hudson.model.Node;
import hudson.model.Queue;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Action;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.hand.NeverPreemptAction;
import io.jenkins.plugins.preemptible.lifecycle.RemovedAgent;
import io.jenkins.plugins.preemptible.lifecycle.agents.HowSuspended;
import io.jenkins.plugins.preemptible.lifecycle.stage.CurrentObstacle;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.overview.parts.StatePage;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import io.jenkins.plugins.preemptible.view.ReadableJobs;
import io.jenkins.plugins.preemptible.view.ShownSentence;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import jenkins.model.Jenkins;
import org.kohsuke.stapler.Stapler;
import org.kohsuke.stapler.StaplerRequest2;
import org.kohsuke.stapler.export.Exported;
import org.kohsuke.stapler.export.ExportedBean;

/**
 * What {@link PreemptibleRootAction} exports, as far as the looking user may know.
 *
 * <ol>
 *   <li>Stages and limits are those of this moment.
 *   <li>The last decision about an item or a stage, and what was measured of an agent, is from {@link LastDecision}: some seconds
 *       old, and missing before the first one.
 *   <li>Jobs that the user may not read are left out, and so is the name of such a job where it is a preemptor.
 * </ol>
 *
 * Times are milliseconds since 1970, durations milliseconds, sizes bytes; 0 stands for "no limit" and for "unknown" as
 * in {@link Limits} and {@link Snapshot}.
 */
final class SchedulerState {

    private SchedulerState() {}

    /** What the administrator allows. */
    @ExportedBean(defaultVisibility = 2)
    public record LimitsState(
            @Exported boolean enabled,
            @Exported long timeSliceMillis,
            @Exported long exemptMillis,
            @Exported int mostSuspensions,
            @Exported int mostSuspendedPerAgent,
            @Exported int mostSuspended,
            @Exported long ageingMillis,
            @Exported long imageBytes,
            @Exported long memoryFloorBytes,
            @Exported String undumpable) {}

    /**
     * A machine with executors.
     *
     * @param name empty for the built-in node
     * @param accepting it is online and takes builds
     * @param drainedBy id of the user who drains it; null when nobody does
     * @param suspends how stages are suspended there: CHECKPOINTS, MEMORY_ONLY, NOT, or UNKNOWN before the first one
     * @param whyNot for people; null unless none can be suspended there
     * @param freeBytes -1 = unknown
     */
    @ExportedBean(defaultVisibility = 2)
    public record AgentState(
            @Exported String name,
            @Exported String displayName,
            @Exported int executors,
            @Exported int idle,
            @Exported boolean accepting,
            @Exported boolean drained,
            @Exported String drainedBy,
            @Exported long drainedSinceMillis,
            @Exported String suspends,
            @Exported String whyNot,
            @Exported long freeBytes,
            @Exported long dumpBytesPerSecond,
            @Exported long restoreBytesPerSecond,
            @Exported long suspended) {}

    /**
     * A stage that has an executor.
     *
     * @param byHand a user has suspended it
     * @param owner among whose equals executor time is shared; empty = nobody's
     * @param whyNotPreemptible null when it can be suspended
     */
    @ExportedBean(defaultVisibility = 2)
    public record RunningState(
            @Exported String id,
            @Exported String stage,
            @Exported String job,
            @Exported String build,
            @Exported String state,
            @Exported int priority,
            @Exported String owner,
            @Exported String node,
            @Exported long startedMillis,
            @Exported long runningSinceMillis,
            @Exported int suspensions,
            @Exported String whyNotPreemptible,
            @Exported boolean neverPreempt,
            @Exported boolean byHand,
            @Exported String canOnlyBeFrozen) {}

    /**
     * A stage that has none.
     *
     * @param reason why it was suspended, in one sentence
     * @param preemptor for whom; null when for nobody in particular
     * @param preemptorUrl of its job, below Jenkins' own address; null when it has none that the looking user may read
     * @param frozen its processes are in the agent's memory, and it has no image yet
     * @param memoryOnly none will be made: a restart of the agent's host loses it
     * @param byHand a user has suspended it: it stays suspended until someone resumes it
     * @param byHandUser id of that user; null when there is none or they are not known
     * @param whyNotResumed why its resume failed as often as it is tried; null unless it waits for a decision about that
     * @param endsMillis when it ends, since its agent was removed, unless that is added again; 0 = its agent is known
     * @param moveTo name of the agent that a user wants it to be resumed on; null when there is none
     * @param thawByMillis by when it is to run again, since it cannot be dumped and is frozen only; 0 = it may stay suspended
     * @param decision why it is not resumed; null when nothing was decided about it yet
     */
    @ExportedBean(defaultVisibility = 2)
    public record SuspendedState(
            @Exported String id,
            @Exported String stage,
            @Exported String job,
            @Exported String build,
            @Exported String state,
            @Exported int priority,
            @Exported String owner,
            @Exported String node,
            @Exported long startedMillis,
            @Exported long sinceMillis,
            @Exported int suspensions,
            @Exported String reason,
            @Exported String preemptor,
            @Exported String preemptorUrl,
            @Exported boolean frozen,
            @Exported boolean memoryOnly,
            @Exported long imageBytes,
            @Exported boolean neverPreempt,
            @Exported boolean byHand,
            @Exported String byHandUser,
            @Exported String whyNotResumed,
            @Exported long endsMillis,
            @Exported long thawByMillis,
            @Exported String moveTo,
            @Exported(inline = true) DecisionState decision) {}

    /**
     * An item of the queue that could run if it had an executor.
     *
     * @param sinceMillis when it became buildable
     * @param priority null when nothing was decided about it yet
     * @param decision as above
     */
    @ExportedBean(defaultVisibility = 2)
    public record WaitingState(
            @Exported long id,
            @Exported String name,
            @Exported long sinceMillis,
            @Exported Integer priority,
            @Exported(inline = true) DecisionState decision) {}

    /**
     * The last decision about an item or a stage.
     *
     * @param action the name of an {@link Action}: Suspend, EndSlice, Rerun, Resume, Reserve or Wait
     * @param reason a constant of {@link io.jenkins.plugins.preemptible.engine.policy.Reason}
     * @param sentence the same for people
     */
    @ExportedBean(defaultVisibility = 2)
    public record DecisionState(
            @Exported String action,
            @Exported String reason,
            @Exported String sentence) {

        @CheckForNull
        static DecisionState of(LastDecision decision, String claimant) {
            Action action = decision.of(claimant);
            return action == null
                    ? null
                    : new DecisionState(
                            action.getClass().getSimpleName(),
                            action.reason().name(),
                            ShownSentence.of(action.reason()));
        }
    }

    static LimitsState limits() {
        Limits limits = PreemptibleConfiguration.get().limits();
        return new LimitsState(
                limits.enabled(),
                limits.slices().defaultMillis(),
                limits.exemptMillis(),
                limits.mostSuspensions(),
                limits.mostSuspendedPerAgent(),
                limits.mostSuspended(),
                limits.ageingMillis(),
                limits.imageBytes(),
                PreemptibleConfiguration.get().memoryFloorBytes(),
                limits.undumpable().name());
    }

    static List<AgentState> agents() {
        Map<String, Snapshot.Agent> measured = new HashMap<>();
        Snapshot snapshot = LastDecision.get().snapshot();
        if (snapshot != null) {
            snapshot.agents().forEach(agent -> measured.put(agent.name(), agent));
        }
        Map<String, Long> suspended = new HashMap<>();
        StageRegistry.get().all().stream()
                .filter(StageRecord::suspended)
                .forEach(stage -> suspended.merge(stage.node(), 1L, Long::sum));
        List<AgentState> agents = new ArrayList<>();
        for (Computer computer : Jenkins.get().getComputers()) {
            Node node = computer.getNode();
            if (node == null) {
                continue;
            }
            String name = node.getNodeName();
            DrainedAgents.Drain drain = DrainedAgents.get().of(name);
            Snapshot.Agent seen = measured.getOrDefault(name, new Snapshot.Agent(name, 0, false));
            HowSuspended how = HowSuspended.on(name);
            agents.add(new AgentState(
                    name,
                    computer.getDisplayName(),
                    computer.countExecutors(),
                    computer.countIdle(),
                    computer.isOnline() && computer.isAcceptingTasks() && node.isAcceptingTasks(),
                    drain != null,
                    drain == null ? null : drain.by(),
                    drain == null ? 0 : drain.sinceMillis(),
                    how.way().name(),
                    how.whyNot(),
                    seen.freeBytes(),
                    seen.dumpBytesPerSecond(),
                    seen.restoreBytesPerSecond(),
                    suspended.getOrDefault(name, 0L)));
        }
        return agents;
    }

    /** How many stages the looking user may know of. */
    static int count(boolean suspended) {
        return StageRows.stages(suspended).size();
    }

    static List<RunningState> running(StatePage page) {
        return page.of(StageRows.stages(false)).stream()
                .map(stage -> new RunningState(
                        stage.id(),
                        stage.name(),
                        stage.job(),
                        stage.build(),
                        stage.state().name(),
                        stage.priority(),
                        stage.owner(),
                        stage.node(),
                        stage.startedMillis(),
                        stage.runningSinceMillis(),
                        stage.suspensions(),
                        CurrentObstacle.whyNot(stage),
                        NeverPreemptAction.holds(stage.runId()),
                        stage.byHand(),
                        stage.canOnlyBeFrozen() ? stage.tie() : null))
                .toList();
    }

    static List<SuspendedState> suspended(StatePage page) {
        return page.of(StageRows.stages(true)).stream()
                .map(stage -> new SuspendedState(
                        stage.id(),
                        stage.name(),
                        stage.job(),
                        stage.build(),
                        stage.state().name(),
                        stage.priority(),
                        stage.owner(),
                        stage.node(),
                        stage.startedMillis(),
                        stage.suspendedSinceMillis(),
                        stage.suspensions(),
                        stage.reason(),
                        stage.shownPreemptor(),
                        url(stage.preemptorJob()),
                        stage.frozen(),
                        stage.memoryOnly(),
                        stage.archiveBytes(),
                        NeverPreemptAction.holds(stage.runId()),
                        stage.byHand(),
                        stage.byHandUser(),
                        stage.whyNotResumed(),
                        RemovedAgent.waitsUntilMillis(stage),
                        stage.thawByMillis(),
                        stage.moveTo(),
                        DecisionState.of(LastDecision.get(), stage.id())))
                .toList();
    }

    @CheckForNull
    private static String url(@CheckForNull String job) {
        Item item = job == null ? null : ReadableJobs.get().find(job);
        return item == null ? null : item.getUrl();
    }

    /** Of one request, which asks for the items and for how many there are. */
    private record Buildable(List<Queue.BuildableItem> items) {}

    /**
     * Those items only that the looking user may see, the one that was queued first at the beginning. Found once a request:
     * permissions are checked for each item.
     */
    static List<Queue.BuildableItem> buildable() {
        StaplerRequest2 request = Stapler.getCurrentRequest2();
        String key = Buildable.class.getName();
        if (request != null && request.getAttribute(key) instanceof Buildable known) {
            return known.items;
        }
        Buildable found = new Buildable(Stream.of(Queue.getInstance().getItems())
                .filter(Queue.BuildableItem.class::isInstance)
                .map(Queue.BuildableItem.class::cast)
                .sorted(Comparator.comparingLong(Queue.Item::getId))
                .toList());
        if (request != null) {
            request.setAttribute(key, found);
        }
        return found.items;
    }

    static List<WaitingState> waiting(List<Queue.BuildableItem> items) {
        return items.stream().map(SchedulerState::waiting).toList();
    }

    private static WaitingState waiting(Queue.BuildableItem item) {
        String id = String.valueOf(item.getId());
        // One, not the next one for the second thing: else an item has a decision and no priority.
        LastDecision last = LastDecision.get();
        return new WaitingState(
                item.getId(),
                item.task.getFullDisplayName(),
                item.buildableStartMilliseconds,
                last.priority(id),
                DecisionState.of(last, id));
    }
}
