package io.jenkins.plugins.preemptible.queue.snapshot;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Label;
import hudson.model.Node;
import hudson.model.Queue;
import io.jenkins.plugins.preemptible.lifecycle.agents.OtherPlugins;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Where other plugins keep items off, as they said when they were asked last.
 *
 * <ol>
 *   <li>Nobody tells when such an answer changes. So before anything is done for an item it is asked about anew, by
 *       {@link #ask}; what is known here is for the reasons of those that keep waiting.
 *   <li>A veto is believed for {@value #VETO_SECONDS} s, a permission for {@value #PERMISSION_SECONDS} s. Then it is asked
 *       for again: the one never asked about first, then the oldest, for at most {@value #BUDGET_MILLIS} ms an
 *       evaluation.
 *   <li>What could not be asked again within {@value #FORGOTTEN_SECONDS} s is forgotten. An item of which nothing is known
 *       counts as fitting.
 *   <li>Where all plugins look at tasks only, builds of one job with the same label share their answer.
 * </ol>
 *
 * For one thread, off the queue's lock.
 */
final class Vetoes {

    private static final long VETO_SECONDS = 5;
    private static final long PERMISSION_SECONDS = 30;
    private static final long FORGOTTEN_SECONDS = 60;
    private static final long BUDGET_MILLIS = 10;

    /** @param who the task, or the item's number where the item matters */
    private record Key(Object who, @CheckForNull Label label) {}

    /** @param busy a busy agent that lets the item in, where no other one does */
    private record Verdict(Set<String> kept, @CheckForNull String busy, long atNanos) {
        boolean isOlderThan(long seconds, long nowNanos) {
            return nowNanos - atNanos > TimeUnit.SECONDS.toNanos(seconds);
        }

        boolean isStale(long nowNanos) {
            return isOlderThan(kept.isEmpty() ? PERMISSION_SECONDS : VETO_SECONDS, nowNanos);
        }
    }

    /** One item as it may be asked about. */
    private record Question(
            Queue.BuildableItem item, @CheckForNull Label label, FittingAgents.Candidates candidates) {}

    /** In the order in which they were asked for. */
    private LinkedHashMap<Key, Verdict> verdicts = new LinkedHashMap<>();

    private OtherPlugins others;
    private FittingAgents fitting;
    private final Map<Key, Question> questions = new LinkedHashMap<>();
    private final Map<Set<String>, Set<String>> shared = new HashMap<>();

    /** Begins an evaluation. */
    void begin(FittingAgents now) {
        others = OtherPlugins.now();
        fitting = now;
        questions.clear();
        shared.clear();
    }

    /** Names an item of this evaluation, before {@link #askSome}. */
    void add(Queue.BuildableItem item, @CheckForNull Label label, FittingAgents.Candidates candidates) {
        if (matters(candidates)) {
            questions.putIfAbsent(key(item, label), new Question(item, label, candidates));
        }
    }

    private boolean matters(FittingAgents.Candidates candidates) {
        return !others.none() || candidates.giving().stream().anyMatch(fitting::asks);
    }

    private Key key(Queue.BuildableItem item, @CheckForNull Label label) {
        return new Key(others.ofTaskOnly() ? item.task : item.getId(), label);
    }

    /** Asks about as many of the items that were named as the time allows, and forgets all others. */
    void askSome() {
        long now = System.nanoTime();
        LinkedHashMap<Key, Verdict> kept = new LinkedHashMap<>();
        List<Key> due = new ArrayList<>();
        for (Key key : questions.keySet()) {
            if (!verdicts.containsKey(key)) {
                due.add(key);
            }
        }
        verdicts.forEach((key, verdict) -> {
            if (questions.containsKey(key) && !verdict.isOlderThan(FORGOTTEN_SECONDS, now)) {
                kept.put(key, verdict);
                if (verdict.isStale(now)) {
                    due.add(key);
                }
            }
        });
        verdicts = kept;
        for (Key key : due) {
            ask(key, questions.get(key));
            // After the first one at least: on a machine that is slow for a while, too.
            if (System.nanoTime() - now > TimeUnit.MILLISECONDS.toNanos(BUDGET_MILLIS)) {
                return;
            }
        }
    }

    /** The agents that the item fits, as far as it is known. */
    Set<String> known(Queue.BuildableItem item, @CheckForNull Label label, FittingAgents.Candidates candidates) {
        return matters(candidates) ? without(verdicts.get(key(item, label)), candidates) : candidates.names();
    }

    /** The same, asked for now. */
    Set<String> ask(Queue.BuildableItem item, @CheckForNull Label label, FittingAgents.Candidates candidates) {
        if (!matters(candidates)) {
            return candidates.names();
        }
        return without(ask(key(item, label), new Question(item, label, candidates)), candidates);
    }

    private Verdict ask(Key key, Question question) {
        Set<String> kept = new HashSet<>();
        for (Node node : question.candidates.giving()) {
            boolean lets =
                    (!fitting.asks(node) || node.canTake(question.item) == null) && others.letTake(node, question.item);
            if (!lets) {
                kept.add(node.getNodeName());
            }
        }
        boolean nowhere = kept.size() == question.candidates.giving().size()
                && question.candidates.arriving().isEmpty();
        String busy = nowhere ? fitting.busyFor(question.item, question.label, others) : null;
        Verdict verdict = new Verdict(Set.copyOf(kept), busy, System.nanoTime());
        verdicts.remove(key);
        verdicts.put(key, verdict);
        return verdict;
    }

    private Set<String> without(@CheckForNull Verdict verdict, FittingAgents.Candidates candidates) {
        if (verdict == null || verdict.kept.isEmpty() && !candidates.giving().isEmpty()) {
            return candidates.names();
        }
        Set<String> names = new HashSet<>(candidates.names());
        if (candidates.giving().isEmpty() && candidates.arriving().isEmpty()) {
            names.clear();
        }
        names.removeAll(verdict.kept);
        if (names.isEmpty() && verdict.busy != null) {
            names.add(verdict.busy);
        }
        return shared.computeIfAbsent(names, Set::copyOf);
    }
}
