package io.jenkins.plugins.preemptible.queue.snapshot;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Label;
import hudson.model.Queue;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.WaitingItem;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.PlaceholderAccess;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.step.StageTask;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The items that wait for an executor, as the policy has to know them.
 *
 * <ol>
 *   <li>What is true of many items is found once: {@link FittingAgents} for those that are alike, {@link ItemFacts} and
 *       {@link Vetoes} from one evaluation to the next.
 *   <li>Items that bring a stage back are left out: the stage itself stands for them.
 *   <li>{@link #check} tells of one item where it may really run, for {@link
 *       io.jenkins.plugins.preemptible.engine.policy.CheckedDecision}.
 * </ol>
 *
 * For the one thread that evaluates, off the queue's lock: builds may be loaded, and other plugins are asked.
 */
public final class WaitingItems {

    private static final Logger LOGGER = Logger.getLogger(WaitingItems.class.getName());

    private record Known(
            Queue.BuildableItem item,
            ItemFacts.Facts facts,
            @CheckForNull Label label,
            FittingAgents.Candidates candidates) {}

    private final ItemFacts facts = new ItemFacts();
    private final Vetoes vetoes = new Vetoes();
    /** Those of the last evaluation by the names that the policy knows them by. */
    private Map<String, Known> items = new HashMap<>();

    /** @param freedOn names the agent where an executor is kept for the item of that name; null when none is */
    List<WaitingItem> read(
            List<Queue.BuildableItem> buildable, FittingAgents fitting, Function<String, String> freedOn) {
        items = new HashMap<>(buildable.size() * 2);
        List<Known> order = new ArrayList<>(buildable.size());
        facts.begin();
        vetoes.begin(fitting);
        for (Queue.BuildableItem item : buildable) {
            if (item.isPending() || item.task instanceof Queue.FlyweightTask || returning(item)) {
                continue;
            }
            try {
                ItemFacts.Facts found = facts.of(item);
                Label label = item.getAssignedLabel();
                Known known = new Known(item, found, label, fitting.of(item, label, found.identity()));
                vetoes.add(item, label, known.candidates);
                order.add(known);
                items.put(found.id(), known);
            } catch (RuntimeException | LinkageError x) {
                // Other plugins are asked about each item; one that fails must not stop the evaluation of all others.
                LOGGER.log(Level.WARNING, x, () -> "cannot tell where " + item + " may run");
            }
        }
        facts.end();
        vetoes.askSome();
        List<WaitingItem> waiting = new ArrayList<>(order.size());
        for (Known known : order) {
            waiting.add(new WaitingItem(
                    known.facts.id(),
                    known.facts.priority(),
                    known.facts.owner(),
                    known.item.buildableStartMilliseconds,
                    vetoes.known(known.item, known.label, known.candidates),
                    freedOn.apply(known.facts.id()),
                    known.facts.expectedMillis()));
        }
        return waiting;
    }

    /** Nothing waits, or nothing is to be known of it. */
    public void forget() {
        items = new HashMap<>();
        facts.begin();
        facts.end();
    }

    /** Where the item may run, asked for now. */
    public Set<String> check(WaitingItem waiting) {
        Known known = items.get(waiting.id());
        return known == null ? Set.of() : vetoes.ask(known.item, known.label, known.candidates);
    }

    /** The item that the policy calls by this name; null when there was none in the last evaluation. */
    @CheckForNull
    public Queue.BuildableItem item(String name) {
        Known known = items.get(name);
        return known == null ? null : known.item;
    }

    /** Whether the item brings back a stage, or a block that has run, rather than starting something. */
    private static boolean returning(Queue.BuildableItem item) {
        return item.task instanceof StageTask && ((StageTask) item.task).resumes()
                || StageRegistry.get().ofPlaceholder(PlaceholderAccess.context(item.task)) != null;
    }
}
