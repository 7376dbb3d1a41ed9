package io.jenkins.plugins.preemptible.queue.snapshot;

import hudson.Extension;
import hudson.XmlFile;
import hudson.model.Descriptor;
import hudson.model.Item;
import hudson.model.Queue;
import hudson.model.Saveable;
import hudson.model.listeners.SaveableListener;
import io.jenkins.plugins.preemptible.config.Owners;
import io.jenkins.plugins.preemptible.priority.Priorities;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import jenkins.model.Jenkins;
import org.springframework.security.core.Authentication;

/**
 * What the policy has to know of waiting items and what costs time to find out: it may load builds.
 *
 * <ol>
 *   <li>Found once an item, and again after 30 to 60 s: the causes of an item may grow while it waits.
 *   <li>Found again at once for all items when a setting of Jenkins or of a plugin is saved, and for the items of a job when
 *       that is saved. Nothing of it depends on an agent: clouds save one after the other.
 *   <li>What left the queue is forgotten.
 * </ol>
 *
 * For the one thread that evaluates, off the queue's lock.
 */
final class ItemFacts {

    private static final long KEPT_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** Counts the settings that were saved. */
    private static final AtomicLong SETTINGS = new AtomicLong();

    /** Jobs and folders that were saved since the last evaluation. */
    private static final Set<Object> SAVED = ConcurrentHashMap.newKeySet();

    private static final int MOST_SAVED = 1_000;

    /**
     * One item.
     *
     * @param id its number, as the policy calls it
     * @param job whose item it is, as Jenkins tells
     * @param identity as whom it will run
     * @param expectedMillis how long it will run; 0 = unknown
     */
    record Facts(
            String id,
            Queue.Task job,
            int priority,
            String owner,
            Authentication identity,
            long expectedMillis,
            long untilNanos) {}

    private Map<Long, Facts> known = new HashMap<>();
    private Map<Long, Facts> now = new HashMap<>();
    private Priorities priorities;
    private Owners owners;
    private long settings;
    private Set<Object> saved = Set.of();

    /** Begins an evaluation. */
    void begin() {
        long settingsNow = SETTINGS.get();
        Owners ownersNow = Owners.get();
        Priorities prioritiesNow = Priorities.get();
        if (settingsNow != settings || !ownersNow.equals(owners) || prioritiesNow != priorities) {
            known.clear();
        }
        settings = settingsNow;
        owners = ownersNow;
        priorities = prioritiesNow;
        saved = Set.copyOf(SAVED);
        SAVED.removeAll(saved);
        now = new HashMap<>(known.size() * 2);
    }

    Facts of(Queue.BuildableItem item) {
        Facts facts = known.get(item.getId());
        if (facts == null || System.nanoTime() - facts.untilNanos > 0 || saved.contains(facts.job)) {
            facts = find(item);
        }
        now.put(item.getId(), facts);
        return facts;
    }

    /** Ends it: whatever was not asked for is forgotten. */
    void end() {
        known = now;
    }

    private Facts find(Queue.BuildableItem item) {
        // Not all at once again: a controller that was just started reads all items in one evaluation.
        long spread = Math.floorMod(item.getId() * 7919, 1000) * KEPT_NANOS / 1000;
        return new Facts(
                String.valueOf(item.getId()),
                item.task.getOwnerTask(),
                priorities.ofItem(item),
                owners.ofItem(item),
                item.authenticate2(),
                Durations.of(item.task),
                System.nanoTime() + KEPT_NANOS + spread);
    }

    /** Hears what may change them. */
    @Extension
    public static final class Watch extends SaveableListener {
        @Override
        public void onChange(Saveable saveable, XmlFile file) {
            if (saveable instanceof Descriptor || saveable instanceof Jenkins) {
                SETTINGS.incrementAndGet();
            } else if (saveable instanceof Item) {
                SAVED.add(saveable);
            }
        }
    }
}
