package io.jenkins.plugins.preemptible.engine.simulation;

import java.util.Comparator;
import java.util.Optional;
import java.util.PriorityQueue;

/** The planned events of a simulation, by time; events of one moment in the order in which they were planned. */
final class Agenda {

    enum What {
        ARRIVES,
        ENDS,
        YIELDED,
        DUMPED,
        RESTORED,
        EVALUATE
    }

    /**
     * @param progress null for {@link What#EVALUATE}
     * @param plan the job's plan number when it was planned; the event is void when the job has another one by then
     */
    record Event(long atMillis, int number, What what, JobProgress progress, int plan) {}

    private final PriorityQueue<Event> events =
            new PriorityQueue<>(Comparator.comparingLong(Event::atMillis).thenComparingInt(Event::number));
    private int number;

    void plan(long atMillis, What what, JobProgress progress) {
        events.add(new Event(atMillis, number++, what, progress, progress == null ? 0 : progress.plan));
    }

    boolean isEmpty() {
        return events.isEmpty();
    }

    long nextMillis() {
        return events.element().atMillis();
    }

    /** Takes the next event away; empty when it is void. */
    Optional<Event> take() {
        return Optional.of(events.remove())
                .filter(event -> event.progress() == null || event.plan() == event.progress().plan);
    }
}
