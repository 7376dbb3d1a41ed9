package io.jenkins.plugins.preemptible.lifecycle.stage;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.ExtensionList;
import hudson.init.InitMilestone;
import hudson.init.Initializer;
import hudson.model.Item;
import hudson.model.Run;
import hudson.model.Saveable;
import hudson.model.listeners.ItemListener;
import hudson.model.listeners.RunListener;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.steps.StepContext;

/**
 * All preemptible stages of this controller that have started and not ended.
 *
 * <ol>
 *   <li>Loaded from one file a stage ({@link StageFiles}) on first use; the first user is the queue's dispatcher, so it
 *       is there before the queue dispatches anything.
 *   <li>{@link #update} changes a copy, saves it, then publishes it: what cannot be saved nobody sees, and it concerns
 *       that stage alone. A stage that ended is kept apart, among the {@link #leftovers}, until nothing of it is left on
 *       its agent.
 *   <li>Look-ups are lock-free and O(1): they are made under the queue's lock.
 * </ol>
 */
@Extension
public final class StageRegistry implements Saveable, StageStore {

    private static final Logger LOGGER = Logger.getLogger(StageRegistry.class.getName());

    private final Map<String, StageRecord> stages = new ConcurrentHashMap<>();
    private final Map<StepContext, String> placeholders = new ConcurrentHashMap<>();
    private final Map<String, StageRecord> leftovers = new ConcurrentHashMap<>();
    /** Ended stages whose images and keys are kept, since they could not be restored. */
    private final Map<String, StageRecord> kept = new ConcurrentHashMap<>();
    /**
     * Stages from before the controller's restart that nobody may be dispatched ahead of: suspended nested ones until
     * their first turn, those with an executor of their own until their workspace is leased again. With their nodes.
     */
    private final Map<String, String> firstTurns = new ConcurrentHashMap<>();
    /** How many of them each node has, at least 1. */
    private final Map<String, Integer> firstTurnsByNode = new ConcurrentHashMap<>();

    /** Stages of which more is known than their files say, since the disk was full. */
    private final Set<String> unsaved = new HashSet<>();

    private final StageFiles files = new StageFiles(Jenkins.get().getRootDir());

    public StageRegistry() {
        // A controller that was stopped and started again in one JVM must not find the old one's live stages.
        LiveStage.forgetAll();
        for (StageFiles.Kept one : files.read()) {
            if (one.leftover != null) {
                leftovers.put(one.leftover.id, one.leftover);
            }
            if (one.kept != null) {
                kept.put(one.kept.id, one.kept);
            }
            if (one.stage != null) {
                publish(one.stage);
                if (one.stage.form == StageRecord.Form.OWN || one.stage.suspended()) {
                    firstTurns.put(one.stage.id, one.stage.node);
                    firstTurnsByNode.merge(one.stage.node, 1, Integer::sum);
                }
            }
        }
    }

    /** Before any job is loaded: the first look-up may come under the queue's lock, which is no place to read a file. */
    @Initializer(after = InitMilestone.EXTENSIONS_AUGMENTED, before = InitMilestone.JOB_LOADED)
    public static void load() {
        get();
    }

    public static StageRegistry get() {
        return ExtensionList.lookupSingleton(StageRegistry.class);
    }

    /**
     * Adds a stage: it is on disk before anybody sees it.
     *
     * @throws UncheckedIOException when it cannot be saved; then it is not known
     */
    public synchronized void add(StageRecord stage) {
        stage.clean();
        // What an opening that was cut off left on that agent is removed by this one.
        StageRecord left = leftovers.get(stage.id);
        boolean removed = left != null && left.node.equals(stage.node);
        write(stage.id, stage, removed ? null : left);
        if (removed) {
            leftovers.remove(stage.id);
        }
        publish(stage);
    }

    /**
     * Changes one stage: the change is on disk before anybody sees it.
     *
     * @return the changed stage, or null when it has ended meanwhile
     * @throws UncheckedIOException when it cannot be saved; then it is as it was
     */
    @CheckForNull
    @Override
    public synchronized StageRecord update(String id, Consumer<StageRecord> change) {
        StageRecord current = stages.get(id);
        if (current == null) {
            return null;
        }
        StageRecord changed = changed(current, change);
        write(id, changed, leftovers.get(id));
        publish(changed);
        toldOf(current, changed);
        return changed;
    }

    /**
     * Changes one stage to what is true already: shown also when the disk does not take it, which is logged then.
     *
     * @return the changed stage, or null when it has ended meanwhile
     */
    @CheckForNull
    @Override
    public synchronized StageRecord settle(String id, Consumer<StageRecord> change) {
        StageRecord current = stages.get(id);
        if (current == null) {
            return null;
        }
        StageRecord changed = changed(current, change);
        publish(changed);
        toldOf(current, changed);
        saveOrWarn(id);
        return changed;
    }

    private static void toldOf(StageRecord before, StageRecord now) {
        if (before.state != now.state || before.luggage != now.luggage) {
            StageStateListener.tell(now.node);
            if (!before.node.equals(now.node)) {
                StageStateListener.tell(before.node);
            }
        }
    }

    private static StageRecord changed(StageRecord current, Consumer<StageRecord> change) {
        StageRecord changed = current.clone();
        change.accept(changed);
        changed.clean();
        return changed;
    }

    /**
     * Takes an ended stage out, drops its key, and remembers until {@link #cleaned} that its agent has to be cleaned of
     * it. The key of an image that is kept goes to {@link #keptKey}.
     */
    public synchronized void ended(String id) {
        StageRecord stage = stages.remove(id);
        firstTurnDone(id);
        if (stage == null) {
            return;
        }
        if (stage.placeholder != null) {
            placeholders.remove(stage.placeholder, id);
        }
        StageRecord left = stage.clone();
        left.state = StageState.ENDED;
        left.placeholder = null;
        if (left.imageKept) {
            kept.put(id, left.clone());
        }
        left.imageKey = null;
        left.luggage = null;
        // They have keys of their own.
        left.checkpoints = null;
        leftovers.put(id, left);
        saveOrWarn(id);
        StageStateListener.tell(stage.node);
    }

    /** Nothing of an ended stage is left on its agent, or ever will be looked for again. */
    public synchronized void cleaned(String id) {
        if (leftovers.remove(id) != null) {
            saveOrWarn(id);
        }
    }

    /**
     * The key of a stage that could not be restored, whose image is still among its build's artifacts; null when there
     * is none. For administrators, who read it in the script console; no page shows it.
     */
    @CheckForNull
    public Secret keptKey(String id) {
        StageRecord stage = kept.get(id);
        return stage == null ? null : stage.imageKey;
    }

    /** Ended stages whose images and keys are kept. */
    Collection<StageRecord> kept() {
        return List.copyOf(kept.values());
    }

    /** Their builds are gone, and the artifacts with them. */
    synchronized void dropKept(Predicate<StageRecord> gone) {
        for (StageRecord stage : kept.values()) {
            if (gone.test(stage) && kept.remove(stage.id) != null) {
                saveOrWarn(stage.id);
            }
        }
    }

    /** Drops keys with the images that they belong to. */
    @Extension
    public static final class OfDeletedBuilds extends RunListener<Run<?, ?>> {
        @Override
        public void onDeleted(Run<?, ?> run) {
            String id = run.getExternalizableId();
            get().dropKept(stage -> stage.runId.equals(id));
        }
    }

    /** Of the builds that go with their job nothing is told. */
    @Extension
    public static final class OfDeletedJobs extends ItemListener {
        @Override
        public void onDeleted(Item item) {
            String job = item.getFullName();
            get().dropKept(stage -> stage.job().equals(job));
        }
    }

    /** Another full name for a job, whose builds may run: all that is kept by their ids follows. */
    public synchronized void jobMoved(String from, String to) {
        Set<String> moved = new HashSet<>();
        for (Map<String, StageRecord> records : List.of(stages, leftovers, kept)) {
            records.replaceAll((id, stage) -> {
                if (!stage.job().equals(from)) {
                    return stage;
                }
                moved.add(id);
                return stage.withJob(to);
            });
        }
        moved.forEach(this::saveOrWarn);
    }

    /** Another name for an agent: stages that are there, are to go there, or have left something there, follow. */
    public synchronized void agentRenamed(String from, String to) {
        Set<String> renamed = new HashSet<>();
        for (Map<String, StageRecord> records : List.of(stages, leftovers)) {
            records.replaceAll((id, stage) -> {
                StageRecord now = stage.withRenamed(from, to);
                if (now != stage) {
                    renamed.add(id);
                }
                return now;
            });
        }
        firstTurns.replaceAll((id, node) -> node.equals(from) ? to : node);
        Integer turns = firstTurnsByNode.remove(from);
        if (turns != null) {
            firstTurnsByNode.merge(to, turns, Integer::sum);
        }
        renamed.forEach(this::saveOrWarn);
    }

    /** Ended stages of which something may be left on their agents. */
    public Collection<StageRecord> leftovers() {
        return List.copyOf(leftovers.values());
    }

    @CheckForNull
    @Override
    public StageRecord find(@CheckForNull String id) {
        return id == null ? null : stages.get(id);
    }

    /** The nested stage inside the {@code node} block with this context. */
    @CheckForNull
    public StageRecord ofPlaceholder(@CheckForNull StepContext placeholder) {
        return placeholder == null ? null : find(placeholders.get(placeholder));
    }

    /** Whether no stage is known. For callers under the queue's lock, to whom {@link #all} is too long. */
    public boolean isEmpty() {
        return stages.isEmpty();
    }

    public Collection<StageRecord> all() {
        return List.copyOf(stages.values());
    }

    /** Suspended stages of one build, none of them loaded from disk for the asking. */
    public List<StageRecord> suspendedOf(String runId) {
        return stages.values().stream()
                .filter(stage -> stage.runId.equals(runId) && stage.state == StageState.SUSPENDED)
                .collect(Collectors.toList());
    }

    /** Whether the stage was not taken up yet after a restart of the controller. */
    public boolean awaitsFirstTurn(String id) {
        return firstTurns.containsKey(id);
    }

    /** Whether any stage on this node was not taken up yet after a restart of the controller. */
    public boolean firstTurnsOn(String node) {
        return firstTurnsByNode.containsKey(node);
    }

    public void firstTurnDone(String id) {
        String node = firstTurns.remove(id);
        if (node != null) {
            firstTurnsByNode.computeIfPresent(node, (name, count) -> count == 1 ? null : count - 1);
        }
    }

    private void publish(StageRecord stage) {
        stages.put(stage.id, stage);
        if (stage.placeholder != null) {
            placeholders.put(stage.placeholder, stage.id);
        }
    }

    private void saveOrWarn(String id) {
        try {
            write(id, stages.get(id), leftovers.get(id));
        } catch (UncheckedIOException x) {
            // Once for each: it is tried again until the disk takes it.
            if (unsaved.add(id)) {
                LOGGER.log(
                        Level.SEVERE, x, () -> "what is known of stage " + id + " is newer than its file in " + files);
            }
        }
    }

    /** Saves what the disk did not take before. */
    synchronized void saveUnsaved() {
        List.copyOf(unsaved).forEach(this::saveOrWarn);
    }

    @Override
    public synchronized void save() {
        Set<String> ids = new HashSet<>(stages.keySet());
        ids.addAll(leftovers.keySet());
        ids.addAll(kept.keySet());
        ids.forEach(this::saveOrWarn);
    }

    private void write(String id, @CheckForNull StageRecord stage, @CheckForNull StageRecord leftover) {
        StageFiles.Kept now = new StageFiles.Kept();
        now.stage = stage;
        now.leftover = leftover;
        now.kept = kept.get(id);
        try {
            files.write(id, now);
            unsaved.remove(id);
        } catch (IOException x) {
            throw new UncheckedIOException(
                    "cannot save what is known of stage " + id + "; is the controller's disk full?", x);
        }
    }
}
