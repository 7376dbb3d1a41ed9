package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.model.Node;
import hudson.model.PeriodicWork;
import hudson.model.Run;
import hudson.model.TaskListener;
import hudson.security.ACL;
import hudson.security.ACLContext;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.agent.PausedOnAgent;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.PausedContainers;
import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.lifecycle.agents.LeftStages;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StageMarks;
import io.jenkins.plugins.preemptible.lifecycle.stage.LeftAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;

/**
 * The end of a stage, whatever the reason: nothing of it is left behind.
 *
 * <ol>
 *   <li>{@link #of} is called once, when the stage's body has ended; it marks the stage and returns at once.
 *   <li>Off that thread it waits for a suspension or restore in progress, drops the key, kills what is left on the agent, and
 *       removes all that is stored of the stage. Image and key of a stage that could not be restored are kept.
 *   <li>What cannot be done then is tried again, also by the next process of the controller: the stage's record is among the
 *       registry's leftovers until nothing is left, for a week where the agent was removed. A cloud's agent that was removed
 *       never comes back, and is forgotten. None is ever waited for.
 * </ol>
 */
public final class Ending {

    private static final Logger LOGGER = Logger.getLogger(Ending.class.getName());
    private static final long PERIOD_MILLIS = TimeUnit.SECONDS.toMillis(10);
    /** Of an agent that is there; an agent that is away is waited for, and so is the program of a container that is paused. */
    private static final int MOST_TRIES = 20;

    /** In the place of an agent's name, which has no such character. */
    private static final String ARTIFACTS = "/artifacts";

    private static final long LONGEST_PAUSE_MILLIS = TimeUnit.MINUTES.toMillis(10);

    /** An agent that was removed may be added again, with what is left on its host. */
    private static final long UNKNOWN_MILLIS = TimeUnit.DAYS.toMillis(7);

    /** How often the cleaning of an ended stage failed on an agent, in this process of the controller. */
    private static final Map<String, Integer> FAILURES = new ConcurrentHashMap<>();
    /** When an artifact store that could not remove an ended stage's files is asked again. */
    private static final Map<String, Long> LATER = new ConcurrentHashMap<>();
    /** Where something that is paused with an ended stage cannot be reached: said once, and no failure of a try. */
    private static final Set<String> UNREACHABLE = ConcurrentHashMap.newKeySet();
    /** Agents that are clean of an ended stage, of which another one is not yet. */
    private static final Set<String> CLEANED = ConcurrentHashMap.newKeySet();
    /** Ended stages that are being cleaned away at this moment; apart from it, those whose artifacts are. */
    private static final Set<String> CLEANING = ConcurrentHashMap.newKeySet();

    private Ending() {}

    /**
     * Ends the stage.
     *
     * @param run the stage's build, whose artifacts may hold an image; null when it has none yet
     */
    public static void of(LiveStage live, @CheckForNull Run<?, ?> run) {
        live.markEnding();
        StageRecord stage = StageRegistry.get().find(live.id());
        if (stage == null) {
            live.forget();
            return;
        }
        live.hold().withdraw(stage);
        StageThreads.submitFor(stage.node(), "ending stage " + live.id(), () -> {
            live.operation().lock();
            try {
                StageRecord last = StageRegistry.get().find(live.id());
                if (last == null) {
                    return;
                }
                if (last.suspended()) {
                    StageMarks.resumed(live, List.of());
                }
                StageRegistry.get().ended(last.id());
                live.forget();
                tellEnded(last);
                clean(last, run);
            } finally {
                live.operation().unlock();
            }
        });
    }

    /** Ends a stage that no step of this controller process stands for. */
    static void ofLost(StageRecord stage, @CheckForNull Run<?, ?> run) {
        StageRegistry.get().ended(stage.id());
        tellEnded(stage);
        StageThreads.submitFor(stage.node(), "removing lost " + stage, () -> clean(stage, run));
    }

    private static void tellEnded(StageRecord stage) {
        StageListener.fire(listener -> listener.onEnded(
                new StageEnded(stage.ref(), System.currentTimeMillis(), stage.suspended(), stage.imageKept())));
    }

    private static void clean(StageRecord stage, @CheckForNull Run<?, ?> run) throws InterruptedException {
        clean(stage, run, false);
    }

    /**
     * Removes what is left of an ended stage, from its build's artifacts and from those of its agents that are there.
     *
     * @param forgotten whether its agent does not come back
     */
    private static void clean(StageRecord stage, @CheckForNull Run<?, ?> run, boolean forgotten)
            throws InterruptedException {
        if (!CLEANING.add(stage.id())) {
            return;
        }
        boolean agents = forgotten;
        try {
            boolean own = cleaned(stage, stage.node());
            boolean others = true;
            for (String agent : others(stage)) {
                others &= cleaned(stage, agent);
            }
            agents |= own && others;
        } finally {
            CLEANING.remove(stage.id());
        }
        boolean clean = agents;
        String artifacts = key(stage, ARTIFACTS);
        if (CLEANING.add(artifacts)) {
            // A store may take long to answer: it gets threads that no agent waits for.
            StageThreads.submitFor(ARTIFACTS, "removing what is stored of " + stage, () -> {
                try {
                    if (removed(stage, run) && clean) {
                        done(stage);
                    }
                } finally {
                    CLEANING.remove(artifacts);
                }
            });
        }
    }

    /** Agents that it has left, and one that was asked to restore it: it may run there. */
    private static Set<String> others(StageRecord stage) {
        Set<String> others = new HashSet<>(LeftAgents.of(stage).keySet());
        if (stage.restoringOn() != null) {
            others.add(stage.restoringOn());
        }
        return others;
    }

    /** @return whether nothing of it is left among its build's artifacts that is not kept, or nothing more can be done about it */
    private static boolean removed(StageRecord stage, @CheckForNull Run<?, ?> run) {
        String key = key(stage, ARTIFACTS);
        if (run == null || stage.imageKept() || CLEANED.contains(key)) {
            return true;
        }
        long now = System.currentTimeMillis();
        if (now < LATER.getOrDefault(key, 0L)) {
            return false;
        }
        if (!StageImages.deleteOrEmpty(run, stage.id())) {
            int tries = FAILURES.merge(key, 1, Integer::sum);
            if (tries < MOST_TRIES) {
                LATER.put(key, now + Math.min(PERIOD_MILLIS << tries, LONGEST_PAUSE_MILLIS));
                return false;
            }
            LOGGER.log(
                    Level.WARNING,
                    "gave up removing what is stored of {0} among the artifacts of {1}; nobody has its key any more",
                    new Object[] {stage, run});
        }
        return CLEANED.add(key);
    }

    /** @return whether nothing of it is left there, or nothing more can be done about it */
    private static boolean cleaned(StageRecord stage, String agent) throws InterruptedException {
        String key = key(stage, agent);
        boolean own = agent.equals(stage.node());
        Node node = Nodes.named(agent);
        if (CLEANED.contains(key) || node == null && !own) {
            // What comes back under another name is an unknown stage's, of a build that has ended.
            return true;
        }
        if (Nodes.rootOf(agent) == null) {
            return false;
        }
        try {
            boolean done = true;
            if (own) {
                remove(stage, node);
            } else {
                done = LeftStages.clean(stage, node);
            }
            return done && CLEANED.add(key);
        } catch (IOException | RuntimeException x) {
            PausedContainers paused = Nodes.rootOf(agent) == null ? PausedContainers.NONE : paused(stage, node);
            if (!paused.reachable()) {
                if (UNREACHABLE.add(key)) {
                    LOGGER.log(
                            Level.WARNING,
                            x,
                            () -> "cannot let run again what may be paused with " + stage + " on the agent '" + agent
                                    + "' until that is to be reached: " + words(paused));
                }
                return false;
            }
            if (Nodes.rootOf(agent) != null && FAILURES.merge(key, 1, Integer::sum) >= MOST_TRIES) {
                LOGGER.log(
                        Level.WARNING,
                        x,
                        () -> "gave up removing what is left of " + stage + "; the folder preemptible/stages/"
                                + stage.id() + " in the root of the agent '" + agent + "' may be removed manually"
                                + (paused.containers().isEmpty()
                                        ? ""
                                        : ", once these run again, which may be paused: " + words(paused)));
                CLEANED.add(key);
                return true;
            }
            LOGGER.log(Level.FINE, x, () -> "cannot remove what is left of " + stage + " yet");
            return false;
        }
    }

    /** What nobody else lets run again. Where the agent does not tell, something may be: it is not to be reached for now. */
    private static PausedContainers paused(StageRecord stage, Node agent) throws InterruptedException {
        try {
            return PausedOnAgent.of(agent, stage.id());
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "cannot tell what is paused with " + stage);
            return PausedContainers.UNTOLD;
        }
    }

    private static String words(PausedContainers paused) {
        return paused.containers().isEmpty()
                ? "the agent does not tell what"
                : paused.containers().stream().map(ContainerRef::shown).collect(Collectors.joining(", "));
    }

    private static void remove(StageRecord stage, Node node) throws IOException, InterruptedException {
        AgentStage.on(node, stage.id()).remove();
        if (stage.cookie() != null) {
            // What left the sandbox's reach, or never was in one, as the node step does at its end.
            node.createLauncher(TaskListener.NULL).kill(Map.of(StageRecord.COOKIE, stage.cookie()));
        }
    }

    private static String key(StageRecord stage, String agent) {
        return stage.id() + "/" + agent;
    }

    private static void done(StageRecord stage) {
        LATER.remove(key(stage, ARTIFACTS));
        FAILURES.keySet().removeIf(key -> key.startsWith(key(stage, "")));
        UNREACHABLE.removeIf(key -> key.startsWith(key(stage, "")));
        CLEANED.removeIf(key -> key.startsWith(key(stage, "")));
        StageRegistry.get().cleaned(stage.id());
    }

    /** Cleans agents and stores that were away when a stage ended, also where the controller stopped at that moment. */
    @Extension
    public static final class Leftovers extends PeriodicWork {

        /** When a leftover's agent was first seen to be unknown, by the stage's id. */
        private final Map<String, Long> unknownSince = new ConcurrentHashMap<>();

        @Override
        public long getRecurrencePeriod() {
            return PERIOD_MILLIS;
        }

        @Override
        public long getInitialDelay() {
            return PERIOD_MILLIS;
        }

        @Override
        protected void doRun() {
            long now = System.currentTimeMillis();
            for (StageRecord stage : StageRegistry.get().leftovers()) {
                boolean forgotten = false;
                if (Nodes.named(stage.node()) == null) {
                    long since = unknownSince.computeIfAbsent(stage.id(), id -> now);
                    forgotten = stage.onCloud() || now - since > UNKNOWN_MILLIS;
                } else {
                    unknownSince.remove(stage.id());
                }
                boolean gone = forgotten;
                StageThreads.submitFor(stage.node(), "removing " + stage, () -> clean(stage, runOf(stage), gone));
            }
            unknownSince
                    .keySet()
                    .retainAll(StageRegistry.get().leftovers().stream()
                            .map(StageRecord::id)
                            .toList());
        }

        @CheckForNull
        private static Run<?, ?> runOf(StageRecord stage) {
            try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
                return Run.fromExternalizableId(stage.runId());
            } catch (IllegalArgumentException x) {
                LOGGER.log(Level.FINE, x, () -> "no build of " + stage);
                return null;
            }
        }
    }
}
