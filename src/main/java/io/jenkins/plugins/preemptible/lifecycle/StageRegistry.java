package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.ExtensionList;
import hudson.XmlFile;
import hudson.init.InitMilestone;
import hudson.init.Initializer;
import hudson.model.Item;
import hudson.model.Run;
import hudson.model.Saveable;
import hudson.model.listeners.ItemListener;
import hudson.model.listeners.RunListener;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.Event;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
 *   <li>Loaded from {@code preemptible-stages.xml} on first use; the first user is the queue's dispatcher, so it is
 *       there before the queue dispatches anything.
 *   <li>{@link #update} changes a copy, saves everything, then publishes the copy. A stage that ended is kept apart,
 *       among the {@link #leftovers}, until nothing of it is left on its agent.
 *   <li>Look-ups are lock-free and O(1): they are made under the queue's lock.
 * </ol>
 */
@Extension
public final class StageRegistry implements Saveable {

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

    public StageRegistry() {
        // A controller that was stopped and started again in one JVM must not find the old one's live stages.
        LiveStage.forgetAll();
        XmlFile file = file();
        if (!file.exists()) {
            return;
        }
        try {
            Stored stored = (Stored) file.read();
            for (StageRecord stage : stored.leftovers == null ? new StageRecord[0] : stored.leftovers) {
                leftovers.put(stage.id, stage);
            }
            for (StageRecord stage : stored.kept == null ? new StageRecord[0] : stored.kept) {
                kept.put(stage.id, stage);
            }
            for (StageRecord stage : stored.stages) {
                publish(stage);
                if (stage.form == StageRecord.Form.OWN || stage.suspended()) {
                    firstTurns.put(stage.id, stage.node);
                    firstTurnsByNode.merge(stage.node, 1, Integer::sum);
                }
            }
        } catch (IOException | RuntimeException x) {
            File aside = new File(file.getFile() + ".unreadable-" + System.currentTimeMillis());
            boolean moved = file.getFile().renameTo(aside);
            LOGGER.log(
                    Level.SEVERE,
                    x,
                    () -> "Cannot read " + file + ": suspended stages are unknown and their builds will wait for ever."
                            + " Repair " + (moved ? aside : file) + ", put it back with Jenkins stopped, and start"
                            + " Jenkins again; or abort those builds");
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

    /** Adds a stage and saves. */
    public synchronized void add(StageRecord stage) {
        // What an opening that was cut off left on that agent is removed by this one.
        leftovers.computeIfPresent(stage.id, (id, left) -> left.node.equals(stage.node) ? null : left);
        publish(stage);
        save();
    }

    /**
     * Changes one stage: the change is on disk before anybody sees it.
     *
     * @return the changed stage, or null when it has ended meanwhile
     */
    @CheckForNull
    public synchronized StageRecord update(String id, Consumer<StageRecord> change) {
        StageRecord current = stages.get(id);
        if (current == null) {
            return null;
        }
        StageRecord changed = current.clone();
        change.accept(changed);
        Map<String, StageRecord> all = new LinkedHashMap<>(stages);
        all.put(id, changed);
        write(all.values(), leftovers.values());
        publish(changed);
        return changed;
    }

    /**
     * Changes one stage to what is true already: shown also when it cannot be saved, which is logged then.
     *
     * @return the changed stage, or null when it has ended meanwhile
     */
    @CheckForNull
    public synchronized StageRecord settle(String id, Consumer<StageRecord> change) {
        StageRecord current = stages.get(id);
        if (current == null) {
            return null;
        }
        StageRecord changed = current.clone();
        change.accept(changed);
        publish(changed);
        saveOrWarn();
        return changed;
    }

    /** Puts a stage whose suspension or restore was cut off by a restart back to where it was before. */
    @CheckForNull
    public StageRecord cutOff(String id) {
        return settle(id, stage -> {
            if (stage.state == StageState.SUSPENDING) {
                stage.state = StageLifecycle.next(stage.state, Event.DUMP_FAILED);
            } else if (stage.state == StageState.RESUMING) {
                stage.state = StageLifecycle.next(stage.state, Event.RESTORE_FAILED);
            }
        });
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
        leftovers.put(id, left);
        saveOrWarn();
    }

    /** Nothing of an ended stage is left on its agent, or ever will be looked for again. */
    public synchronized void cleaned(String id) {
        if (leftovers.remove(id) != null) {
            saveOrWarn();
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

    /** Their builds are gone, and the artifacts with them. */
    private synchronized void dropKept(Predicate<StageRecord> gone) {
        if (kept.values().removeIf(gone)) {
            saveOrWarn();
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
        for (Map<String, StageRecord> records : List.of(stages, leftovers, kept)) {
            records.replaceAll((id, stage) -> stage.job().equals(from) ? stage.withJob(to) : stage);
        }
        saveOrWarn();
    }

    /** Ended stages of which something may be left on their agents. */
    public Collection<StageRecord> leftovers() {
        return List.copyOf(leftovers.values());
    }

    @CheckForNull
    public StageRecord find(@CheckForNull String id) {
        return id == null ? null : stages.get(id);
    }

    /** The nested stage inside the {@code node} block with this context. */
    @CheckForNull
    public StageRecord ofPlaceholder(@CheckForNull StepContext placeholder) {
        return placeholder == null ? null : find(placeholders.get(placeholder));
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

    private void saveOrWarn() {
        try {
            save();
        } catch (UncheckedIOException x) {
            LOGGER.log(Level.SEVERE, x, () -> "what is known of preemptible stages is newer than " + file());
        }
    }

    @Override
    public synchronized void save() {
        write(stages.values(), leftovers.values());
    }

    private void write(Collection<StageRecord> all, Collection<StageRecord> left) {
        Stored stored = new Stored();
        stored.stages = List.copyOf(all).toArray(new StageRecord[0]);
        stored.leftovers = List.copyOf(left).toArray(new StageRecord[0]);
        stored.kept = kept.values().toArray(new StageRecord[0]);
        try {
            file().write(stored);
        } catch (IOException x) {
            throw new UncheckedIOException("cannot save the preemptible stages; is the controller's disk full?", x);
        }
    }

    private static XmlFile file() {
        return new XmlFile(Jenkins.XSTREAM2, new File(Jenkins.get().getRootDir(), "preemptible-stages.xml"));
    }

    /** The file's root element. */
    private static final class Stored {
        StageRecord[] stages = {};
        StageRecord[] leftovers = {};
        StageRecord[] kept = {};
    }
}
