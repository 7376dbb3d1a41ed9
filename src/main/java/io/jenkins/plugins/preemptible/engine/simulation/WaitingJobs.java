package io.jenkins.plugins.preemptible.engine.simulation;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.IntUnaryOperator;

/**
 * The jobs that wait for an executor.
 *
 * <ol>
 *   <li>Kept by where they fit, priority and owner, each the longest waiting first.
 *   <li>The policy is shown only the first of each such line, one more than can be served. Claims that fit the same
 *       agents and have the same priority are alike to it: each takes one idle executor or one running stage for
 *       itself, or gets the answer that all behind it get. So the decision is the same as if it saw all.
 *   <li>A job for which an executor is just being freed is out of its line and always shown.
 * </ol>
 */
final class WaitingJobs {

    private static final Comparator<JobProgress> OLDEST_FIRST = Comparator.comparingLong(
                    (JobProgress progress) -> progress.sinceMillis)
            .thenComparing(progress -> progress.id);

    private record Place(Set<String> fitting, int priority) {}

    private final Map<Place, Map<String, TreeSet<JobProgress>>> lines = new HashMap<>();
    private final Set<JobProgress> heirs = new TreeSet<>(OLDEST_FIRST);
    private final Map<String, Integer> byOwner = new TreeMap<>();

    void add(JobProgress progress) {
        lines.computeIfAbsent(new Place(progress.fitting, progress.priority), line -> new TreeMap<>())
                .computeIfAbsent(progress.owner, owner -> new TreeSet<>(OLDEST_FIRST))
                .add(progress);
        byOwner.merge(progress.owner, 1, Integer::sum);
    }

    void becomesHeir(JobProgress progress) {
        removeFromLine(progress);
        heirs.add(progress);
    }

    void remove(JobProgress progress) {
        if (!heirs.remove(progress)) {
            removeFromLine(progress);
        }
        byOwner.computeIfPresent(progress.owner, (owner, count) -> count == 1 ? null : count - 1);
    }

    private void removeFromLine(JobProgress progress) {
        Place place = new Place(progress.fitting, progress.priority);
        Map<String, TreeSet<JobProgress>> owners = lines.get(place);
        TreeSet<JobProgress> own = owners.get(progress.owner);
        own.remove(progress);
        if (own.isEmpty()) {
            owners.remove(progress.owner);
        }
        if (owners.isEmpty()) {
            lines.remove(place);
        }
    }

    boolean isEmpty() {
        return byOwner.isEmpty();
    }

    /** The highest priority (the lowest number) of all. */
    int best() {
        int best = Integer.MAX_VALUE;
        for (Place place : lines.keySet()) {
            best = Math.min(best, place.priority);
        }
        return best;
    }

    Set<String> owners() {
        return byOwner.keySet();
    }

    /**
     * Those that the policy has to see.
     *
     * @param servable how many of a priority can be served at best
     * @param usedMillis by owner, as the policy orders equals
     */
    List<JobProgress> shown(IntUnaryOperator servable, Map<String, Long> usedMillis) {
        List<JobProgress> shown = new ArrayList<>(heirs);
        lines.forEach((place, owners) -> addFirst(owners, servable.applyAsInt(place.priority) + 1, usedMillis, shown));
        return shown;
    }

    private static void addFirst(
            Map<String, TreeSet<JobProgress>> owners, int most, Map<String, Long> usedMillis, List<JobProgress> shown) {
        Map<Long, List<TreeSet<JobProgress>>> byUse = new TreeMap<>();
        owners.forEach((owner, progresses) -> byUse.computeIfAbsent(
                        usedMillis.getOrDefault(owner, 0L), used -> new ArrayList<>())
                .add(progresses));
        int room = most;
        for (List<TreeSet<JobProgress>> alike : byUse.values()) {
            List<JobProgress> next = new ArrayList<>();
            for (TreeSet<JobProgress> progresses : alike) {
                Iterator<JobProgress> each = progresses.iterator();
                for (int i = 0; i < room && each.hasNext(); i++) {
                    next.add(each.next());
                }
            }
            next.sort(OLDEST_FIRST);
            List<JobProgress> first = next.subList(0, Math.min(room, next.size()));
            shown.addAll(first);
            room -= first.size();
            if (room == 0) {
                return;
            }
        }
    }
}
