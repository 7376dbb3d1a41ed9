package io.jenkins.plugins.preemptible.engine.simulation;

import io.jenkins.plugins.preemptible.engine.policy.Action;
import io.jenkins.plugins.preemptible.engine.policy.FairShares;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.policy.PreemptionPolicy;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Runs a workload in virtual time, with the policy of the plugin deciding.
 *
 * <ol>
 *   <li>Time jumps from event to event; when all of one moment are through, the policy is asked, if its answer can
 *       matter.
 *   <li>A suspended stage's executor is free at the freeze; its dump runs beside whoever got it. It is thawed for
 *       nothing as long as it has no image, else it holds its executor for the restore.
 *   <li>All of it is a function of workload, limits, rates and discipline: no chance, no clock of the machine.
 * </ol>
 *
 * One run on one thread. Source: discrete event simulation, Law and Kelton, Simulation Modeling and Analysis, chapter 1.
 */
final class Simulation {

    private enum What {
        ARRIVES,
        ENDS,
        YIELDED,
        DUMPED,
        RESTORED,
        LOOK
    }

    /** @param plan that of the course when it was planned; void when the course has another by then */
    private record Event(long atMillis, int number, What what, Course course, int plan) {}

    private final Workload workload;
    private final Rates rates;
    private final Discipline discipline;
    private final Limits limits;
    private final Estimates estimates = new Estimates();
    private final Look look;
    private final List<Host> hosts;
    private final Map<String, Host> hostsByName = new HashMap<>();
    private final List<Course> courses = new ArrayList<>();
    private final Map<String, Course> coursesById = new HashMap<>();
    private final WaitingJobs waiting = new WaitingJobs();
    private final Set<Course> suspended = new TreeSet<>(Comparator.comparing((Course course) -> course.id));
    private final FairShares shares = new FairShares();
    private final Map<String, Integer> held = new TreeMap<>();
    private final PriorityQueue<Event> events =
            new PriorityQueue<>(Comparator.comparingLong(Event::atMillis).thenComparingInt(Event::number));
    private final BusyTime busy;
    private int eventNumber;
    private int idle;
    private long now;
    private long nextLook = Long.MAX_VALUE;
    /** Something happened since the last decision that may lead to another. */
    private boolean changed;

    private Simulation(Workload workload, Limits ours, Rates rates, Discipline discipline) {
        this.workload = workload;
        this.rates = rates;
        this.discipline = discipline;
        this.limits = discipline.limits(ours);
        this.look = new Look(limits, rates, discipline, estimates);
        this.hosts = workload.agents().stream().map(Host::new).toList();
        hosts.forEach(host -> hostsByName.put(host.agent.name(), host));
        this.idle = workload.executors();
        Map<String, Set<String>> fitting = new HashMap<>();
        for (SimJob job : workload.jobs()) {
            Course course = new Course(
                    courses.size(), job, discipline, fitting.computeIfAbsent(job.label(), this::fitting));
            courses.add(course);
            coursesById.put(course.id, course);
            plan(job.arrivalMillis(), What.ARRIVES, course);
        }
        long last = courses.isEmpty() ? 0 : courses.get(courses.size() - 1).job.arrivalMillis();
        this.busy = new BusyTime(courses.isEmpty() ? 0 : courses.get(0).job.arrivalMillis(), last);
    }

    private Set<String> fitting(String label) {
        // Two labels of the same agents have equal sets, and are alike to the policy.
        return workload.agents().stream()
                .filter(agent -> agent.takes(label))
                .map(SimAgent::name)
                .collect(Collectors.toUnmodifiableSet());
    }

    /**
     * Runs all jobs to their ends.
     *
     * @param ours the limits; a discipline takes of them what it knows
     */
    static Outcome run(Workload workload, Limits ours, Rates rates, Discipline discipline) {
        return new Simulation(workload, ours, rates, discipline).run();
    }

    private Outcome run() {
        while (!events.isEmpty()) {
            advanceTo(events.peek().atMillis());
            while (!events.isEmpty() && events.peek().atMillis() == now) {
                Event event = events.poll();
                if (event.course() == null || event.plan() == event.course().plan) {
                    happen(event);
                }
            }
            if (canMatter()) {
                decide();
            }
        }
        courses.stream().filter(course -> course.state != Course.State.ENDED).findFirst().ifPresent(course -> {
            throw new IllegalStateException(course.id + " never ended: it is " + course.state);
        });
        return new Outcome(discipline, workload, courses, busy.share(workload.executors()));
    }

    private void advanceTo(long millis) {
        if (courses.isEmpty() || millis == now) {
            return;
        }
        busy.add(now, millis, workload.executors() - idle);
        if (discipline.shares()) {
            Set<String> wanting = new TreeSet<>(waiting.owners());
            suspended.forEach(course -> wanting.add(course.owner));
            shares.advance(millis - now, held, wanting);
        }
        now = millis;
    }

    private void plan(long atMillis, What what, Course course) {
        events.add(new Event(atMillis, eventNumber++, what, course, course == null ? 0 : course.plan));
    }

    private void happen(Event event) {
        Course course = event.course();
        switch (event.what()) {
            case ARRIVES -> waits(course, now);
            case ENDS -> ends(course);
            case YIELDED -> yielded(course);
            case DUMPED -> dumped(course);
            case RESTORED -> runs(course);
            case LOOK -> {
                nextLook = Long.MAX_VALUE;
                changed = true;
            }
        }
    }

    private void waits(Course course, long since) {
        course.state = Course.State.WAITING;
        course.sinceMillis = since;
        waiting.add(course);
        changed = true;
    }

    private void runs(Course course) {
        course.runs(now);
        isCandidate(course);
        plan(now + course.remainingMillis(), What.ENDS, course);
    }

    // Under an exempt time it becomes one later, and the clock says so.
    private void isCandidate(Course course) {
        changed |= course.job.preemptible() && limits.exemptMillis() == 0;
    }

    private void ends(Course course) {
        course.stopsRunning(now);
        course.state = Course.State.ENDED;
        course.endMillis = now;
        course.host.forget(course.job.memoryBytes());
        estimates.ended(course.job);
        Course heir = course.heir;
        course.heir = null;
        release(course, heir);
    }

    private void yielded(Course course) {
        course.stopsRunning(now);
        Course heir = course.heir;
        course.heir = null;
        if (course.losesItsWork) {
            course.losesAllWork();
            course.reruns++;
            // Counted, so that the most suspensions of a stage bound its kills too.
            course.suspensions++;
            course.host.forget(course.job.memoryBytes());
            release(course, heir);
            // It keeps its place in the queue: kinder to it than most that requeue are.
            waits(course, course.job.arrivalMillis());
            return;
        }
        course.suspensions++;
        course.frozen = true;
        long free = course.host.freeBytes();
        boolean room = free < 0 || free >= limits.memoryFloorBytes();
        course.host.suspended++;
        course.dumpFromMillis = room ? now + course.sealAfterMillis : now;
        plan(course.dumpFromMillis + course.cost(rates).dumpMillis(), What.DUMPED, course);
        if (room) {
            isSuspended(course, heir);
        } else {
            course.state = Course.State.DUMPED_FIRST;
            course.heir = heir;
        }
    }

    private void isSuspended(Course course, Course heir) {
        course.state = Course.State.SUSPENDED;
        course.sinceMillis = now;
        suspended.add(course);
        release(course, heir);
    }

    private void dumped(Course course) {
        course.frozen = false;
        course.dumpMillis += course.cost(rates).dumpMillis();
        course.host.forget(course.job.memoryBytes());
        if (course.state == Course.State.DUMPED_FIRST) {
            Course heir = course.heir;
            course.heir = null;
            isSuspended(course, heir);
        }
    }

    private void release(Course course, Course heir) {
        course.releases(now);
        idle++;
        held.computeIfPresent(course.owner, (owner, count) -> count == 1 ? null : count - 1);
        if (heir != null && heir.reserved == course.host) {
            heir.reserved = null;
            if (heir.waits()) {
                start(heir, course.host);
            } else if (heir.isSuspended()) {
                resume(heir);
            }
        }
    }

    private void start(Course course, Host host) {
        waiting.remove(course);
        takesExecutor(course, host);
        course.starts(now);
        isCandidate(course);
        plan(now + course.remainingMillis(), What.ENDS, course);
    }

    private void resume(Course course) {
        suspended.remove(course);
        course.reserved = null;
        course.host.suspended--;
        takesExecutor(course, course.host);
        if (course.frozen) {
            course.frozen = false;
            course.dumpMillis += Math.max(0, now - course.dumpFromMillis);
            runs(course);
            return;
        }
        course.state = Course.State.RESTORING;
        course.plan++;
        long millis = course.cost(rates).restoreMillis();
        course.restoreMillis += millis;
        course.host.remember(course.job.memoryBytes());
        plan(now + millis, What.RESTORED, course);
    }

    private void takesExecutor(Course course, Host host) {
        course.holds(host, now);
        idle--;
        held.merge(course.owner, 1, Integer::sum);
    }

    private boolean canMatter() {
        boolean somebodyWants = !waiting.isEmpty() || !suspended.isEmpty();
        return somebodyWants && (idle > 0 || (limits.enabled() && changed));
    }

    private void decide() {
        changed = false;
        Map<String, Long> used = discipline.shares() ? shares.usedMillis() : Map.of();
        List<Course> shown = waiting.shown(this::couldBeServed, used);
        Snapshot snapshot = look.at(now, hosts, suspended, shown, used);
        List<Action> actions = PreemptionPolicy.decide(snapshot);
        Map<Course, Host> reserved = new LinkedHashMap<>();
        actions.forEach(action -> carryOut(action, reserved));
        reserved.forEach((course, host) -> course.reserved = host);
        // Last: what goes on has its place, a job may have the choice.
        for (Action action : actions) {
            if (action.reason() == Reason.EXECUTOR_FREE_ALREADY) {
                dispatch(coursesById.get(action.claimant()));
            }
        }
        lookAgain();
    }

    /** How many claims of that priority could get an executor at best. */
    private int couldBeServed(int priority) {
        int most = idle;
        if (limits.enabled()) {
            for (Host host : hosts) {
                for (Course course : host.holders) {
                    // Equals too: they may have slices.
                    if (course.isRunningStage() && course.priority >= priority) {
                        most++;
                    }
                }
            }
        }
        return most;
    }

    private void carryOut(Action action, Map<Course, Host> reserved) {
        if (action instanceof Action.Resume resume) {
            resume(coursesById.get(resume.stageId()));
        } else if (action instanceof Action.Reserve reserve) {
            reserved.put(coursesById.get(reserve.stageId()), hostsByName.get(reserve.agent()));
        } else if (action instanceof Action.Freeing freeing) {
            free(freeing);
        }
    }

    private void free(Action.Freeing action) {
        Course victim = coursesById.get(action.stageId());
        Course heir = coursesById.get(action.forItem());
        heir.reserved = victim.host;
        if (heir.waits()) {
            waiting.becomesHeir(heir);
        }
        victim.state = Course.State.YIELDING;
        victim.heir = heir;
        victim.losesItsWork = discipline.kills() || action instanceof Action.Rerun;
        victim.sealAfterMillis = action.sealAfterMillis();
        plan(now + rates.takeoverMillis(), What.YIELDED, victim);
    }

    /** As Jenkins does: one after the other, wherever there is room; here first where the fewest others fit. */
    private void dispatch(Course course) {
        Predicate<Host> fits = host -> host.idle() > 0 && course.fitting.contains(host.agent.name());
        hosts.stream()
                .filter(fits)
                .min(Comparator.comparingInt((Host host) -> host.agent.labels().size())
                        .thenComparing(Host::idle, Comparator.reverseOrder())
                        .thenComparing(host -> host.agent.name()))
                .ifPresent(host -> start(course, host));
    }

    private void lookAgain() {
        if (waiting.isEmpty() && suspended.isEmpty()) {
            return;
        }
        int best = suspended.stream().mapToInt(course -> course.priority).reduce(waiting.best(), Math::min);
        long next = look.next(now, best, hosts, suspended);
        if (next < nextLook && next > now) {
            nextLook = next;
            plan(next, What.LOOK, null);
        }
    }
}
