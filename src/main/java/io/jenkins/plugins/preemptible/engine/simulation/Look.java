package io.jenkins.plugins.preemptible.engine.simulation;

import io.jenkins.plugins.preemptible.engine.policy.Cost;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import io.jenkins.plugins.preemptible.engine.policy.Undisturbed;
import java.time.Instant;
import java.time.LocalTime;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * What the policy is shown of the simulation, and when it has to be asked again though nothing happens.
 *
 * <ol>
 *   <li>A snapshot is made of hosts, running and suspended stages, and the waiting jobs.
 *   <li>Only a preemptible job is a running stage; one that is being restored or taken is none.
 *   <li>The end of a slice, of an exempt time, of undisturbed hours, a step of ageing, and an expected end that has
 *       passed may change the answer by themselves; a clock of {@value #CLOCK_MILLIS} ms notices them.
 * </ol>
 */
final class Look {

    /** As the plugin's own clock. */
    static final long CLOCK_MILLIS = 5_000;

    private final Limits limits;
    private final Rates rates;
    private final Discipline discipline;
    private final Estimates estimates;

    Look(Limits limits, Rates rates, Discipline discipline, Estimates estimates) {
        this.limits = limits;
        this.rates = rates;
        this.discipline = discipline;
        this.estimates = estimates;
    }

    Snapshot at(
            long now,
            List<Host> hosts,
            Iterable<Course> suspended,
            List<Course> waiting,
            Map<String, Long> usedMillis) {
        List<Snapshot.Agent> agents = new ArrayList<>(hosts.size());
        List<Snapshot.RunningStage> running = new ArrayList<>();
        for (Host host : hosts) {
            agents.add(agent(host, rates));
            if (limits.enabled()) {
                for (Course course : host.holders) {
                    if (course.isRunningStage()) {
                        running.add(stage(course));
                    }
                }
            }
        }
        List<Snapshot.SuspendedStage> stages = new ArrayList<>();
        for (Course course : suspended) {
            stages.add(new Snapshot.SuspendedStage(
                    course.id,
                    course.host.alone,
                    course.priority,
                    course.owner,
                    course.sinceMillis,
                    null,
                    false,
                    name(course.reserved),
                    false));
        }
        List<Snapshot.WaitingItem> items = new ArrayList<>(waiting.size());
        for (Course course : waiting) {
            items.add(new Snapshot.WaitingItem(
                    course.id,
                    course.priority,
                    course.owner,
                    course.sinceMillis,
                    course.fitting,
                    name(course.reserved),
                    discipline.kills() ? 0 : estimates.of(course.job)));
        }
        return new Snapshot(now, limits, agents, running, stages, items, usedMillis);
    }

    private static String name(Host host) {
        return host == null ? null : host.agent.name();
    }

    static Snapshot.Agent agent(Host host, Rates rates) {
        return new Snapshot.Agent(
                host.agent.name(),
                host.agent.labels(),
                host.idle(),
                true,
                Snapshot.AgentState.THERE,
                host.freeBytes(),
                rates.dumpBytesPerSecond(),
                rates.restoreBytesPerSecond(),
                host.suspended);
    }

    private Snapshot.RunningStage stage(Course course) {
        return discipline.kills()
                ? stage(course, 0, 0)
                : stage(course, course.job.memoryBytes(), expectedEnd(course));
    }

    static Snapshot.RunningStage stage(Course course, long residentBytes, long expectedEndMillis) {
        return new Snapshot.RunningStage(
                course.id,
                course.host.agent.name(),
                course.priority,
                course.owner,
                course.startedMillis,
                course.runningSinceMillis,
                course.suspensions,
                0,
                null,
                0,
                residentBytes,
                0,
                expectedEndMillis,
                course.job.rerun(),
                false);
    }

    private long expectedEnd(Course course) {
        long expected = estimates.of(course.job);
        return expected == 0 ? 0 : course.runningSinceMillis + expected - course.doneMillis;
    }

    /**
     * When to ask again at the latest if nothing happens; {@link Long#MAX_VALUE} = never.
     *
     * @param best the highest priority (the lowest number) of all that wait or are suspended
     */
    long next(long now, int best, List<Host> hosts, Iterable<Course> suspended) {
        if (!limits.enabled()) {
            return Long.MAX_VALUE;
        }
        long next = Long.MAX_VALUE;
        for (Host host : hosts) {
            for (Course course : host.holders) {
                // Nobody's victim: nothing that comes to an end for it changes anything.
                boolean spared = course.priority < best || (course.priority == best && slice(course) == 0);
                if (course.isRunningStage() && !spared) {
                    next = Math.min(next, after(now, course));
                }
            }
        }
        if (limits.ageingMillis() > 0) {
            for (Course course : suspended) {
                if (course.reserved != null) {
                    continue;
                }
                long steps = (now - course.sinceMillis) / limits.ageingMillis();
                next = Math.min(next, course.sinceMillis + (steps + 1) * limits.ageingMillis());
            }
        }
        if (limits.undisturbed() != null) {
            next = Math.min(next, boundary(now, limits.undisturbed()));
        }
        return next == Long.MAX_VALUE ? next : (next + CLOCK_MILLIS - 1) / CLOCK_MILLIS * CLOCK_MILLIS;
    }

    private long after(long now, Course course) {
        long next = later(now, course.runningSinceMillis + limits.exemptMillis());
        long slice = slice(course);
        if (slice > 0) {
            next = Math.min(next, later(now, course.runningSinceMillis + slice));
        }
        long end = discipline.kills() ? 0 : expectedEnd(course);
        if (end > 0) {
            Cost cost = course.cost(rates);
            next = Math.min(next, later(now, end + cost.totalMillis() + 1));
        }
        return next;
    }

    private long slice(Course course) {
        return limits.slices().of(course.host.agent.labels(), course.priority, 0);
    }

    private static long later(long now, long then) {
        return then > now ? then : Long.MAX_VALUE;
    }

    private static long boundary(long now, Undisturbed hours) {
        ZonedDateTime there = Instant.ofEpochMilli(now).atZone(hours.zone());
        return Math.min(next(there, hours.from()), next(there, hours.to()));
    }

    private static long next(ZonedDateTime now, LocalTime time) {
        ZonedDateTime today = now.with(time);
        return (today.isAfter(now) ? today : today.plusDays(1)).toInstant().toEpochMilli();
    }
}
