package io.jenkins.plugins.preemptible.engine.simulation;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The jobs that wait for an executor.
 *
 * <ol>
 *   <li>Kept by where they fit, priority and owner, each the longest waiting first.
 *   <li>The policy is shown only so many of each such line as there are executors: claims that fit the same agents and
 *       have the same priority are alike to it, and each is either served, or takes one running stage for itself, or
 *       gets the answer that all behind it get. The decision is the same as if it saw all.
 *   <li>A job for which an executor is just being freed is out of its line and always shown.
 * </ol>
 */
final class WaitingJobs {

    private static final Comparator<Course> OLDEST_FIRST =
            Comparator.comparingLong((Course course) -> course.sinceMillis).thenComparing(course -> course.id);

    private record Line(Set<String> fitting, int priority) {}

    private final Map<Line, Map<String, TreeSet<Course>>> lines = new HashMap<>();
    private final Set<Course> heirs = new TreeSet<>(OLDEST_FIRST);
    private final Map<String, Integer> byOwner = new TreeMap<>();
    private int size;

    void add(Course course) {
        lines.computeIfAbsent(new Line(course.fitting, course.priority), line -> new TreeMap<>())
                .computeIfAbsent(course.job.owner(), owner -> new TreeSet<>(OLDEST_FIRST))
                .add(course);
        size++;
        byOwner.merge(course.job.owner(), 1, Integer::sum);
    }

    void becomesHeir(Course course) {
        removeFromLine(course);
        heirs.add(course);
    }

    void remove(Course course) {
        if (!heirs.remove(course)) {
            removeFromLine(course);
        }
        size--;
        byOwner.computeIfPresent(course.job.owner(), (owner, count) -> count == 1 ? null : count - 1);
    }

    private void removeFromLine(Course course) {
        Line line = new Line(course.fitting, course.priority);
        Map<String, TreeSet<Course>> owners = lines.get(line);
        TreeSet<Course> own = owners.get(course.job.owner());
        own.remove(course);
        if (own.isEmpty()) {
            owners.remove(course.job.owner());
        }
        if (owners.isEmpty()) {
            lines.remove(line);
        }
    }

    boolean isEmpty() {
        return size == 0;
    }

    Set<String> owners() {
        return byOwner.keySet();
    }

    /**
     * Those that the policy has to see.
     *
     * @param most of each line
     * @param usedMillis by owner, as the policy orders equals
     */
    List<Course> shown(int most, Map<String, Long> usedMillis) {
        List<Course> shown = new ArrayList<>(heirs);
        lines.values().forEach(owners -> addFirst(owners, most, usedMillis, shown));
        return shown;
    }

    private static void addFirst(
            Map<String, TreeSet<Course>> owners, int most, Map<String, Long> usedMillis, List<Course> shown) {
        TreeMap<Long, List<TreeSet<Course>>> byUse = new TreeMap<>();
        owners.forEach((owner, courses) -> byUse.computeIfAbsent(
                        usedMillis.getOrDefault(owner, 0L), used -> new ArrayList<>())
                .add(courses));
        int room = most;
        for (List<TreeSet<Course>> alike : byUse.values()) {
            int left = room;
            List<Course> next = alike.stream()
                    .flatMap(courses -> courses.stream().limit(left))
                    .sorted(OLDEST_FIRST)
                    .limit(left)
                    .toList();
            shown.addAll(next);
            room -= next.size();
            if (room == 0) {
                return;
            }
        }
    }
}
