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
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Makes the policy's snapshot of a simulation, and says when to ask the policy again although nothing happens.
 *
 * <ol>
 *   <li>A snapshot is made of hosts, running and suspended stages, and the waiting jobs.
 *   <li>Only a preemptible job is a running stage; one that is being restored or taken is none.
 *   <li>The end of a slice, of an exempt time, of undisturbed hours, a step of ageing, and an expected end that has
 *       passed may change the answer by themselves; a clock of {@value #CLOCK_MILLIS} ms notices them.
 * </ol>
 */
final class PolicyView {

    /** As the plugin's own clock. */
    static final long CLOCK_MILLIS = 5_000;

    private static final String NOT_DUMPABLE = "it cannot be dumped";

    private final Limits limits;
    private final Rates rates;
    private final Discipline discipline;
    private final Estimates estimates;

    PolicyView(Limits limits, Rates rates, Discipline discipline, Estimates estimates) {
        this.limits = limits;
        this.rates = rates;
        this.discipline = discipline;
        this.estimates = estimates;
    }

    Snapshot at(
            long now,
            List<Host> hosts,
            Iterable<JobProgress> suspended,
            List<JobProgress> waiting,
            Map<String, Long> usedMillis) {
        List<Snapshot.Agent> agents = new ArrayList<>(hosts.size());
        List<Snapshot.RunningStage> running = new ArrayList<>();
        List<Snapshot.BusyExecutor> busy = new ArrayList<>();
        for (Host host : hosts) {
            agents.add(agent(host, rates));
            for (JobProgress progress : host.holders) {
                if (limits.enabled() && progress.isRunningStage()) {
                    running.add(stage(progress));
                } else if (progress.state == JobProgress.State.RUNNING && isHomeOfMovable(host)) {
                    busy.add(new Snapshot.BusyExecutor(host.agent.name(), Math.max(0, knownEnd(progress))));
                }
            }
        }
        List<Snapshot.SuspendedStage> stages = new ArrayList<>();
        for (JobProgress progress : suspended) {
            stages.add(new Snapshot.SuspendedStage(
                    progress.id,
                    progress.host.alone,
                    progress.priority,
                    progress.owner,
                    progress.sinceMillis,
                    null,
                    false,
                    name(progress.reserved),
                    false,
                    progress.thawByMillis,
                    elsewhere(progress),
                    rates.moves() == null ? 0 : rates.moves().expectedMillis(progress.job.memoryBytes())));
        }
        List<Snapshot.WaitingItem> items = new ArrayList<>(waiting.size());
        for (JobProgress progress : waiting) {
            items.add(new Snapshot.WaitingItem(
                    progress.id,
                    progress.priority,
                    progress.owner,
                    progress.sinceMillis,
                    progress.fitting,
                    name(progress.reserved),
                    discipline.kills() ? 0 : estimates.of(progress.job)));
        }
        return new Snapshot(now, limits, agents, running, stages, items, usedMillis, true, busy);
    }

    private boolean isHomeOfMovable(Host host) {
        return rates.moves() != null && host.suspended > 0;
    }

    // With its image sealed.
    private Set<String> elsewhere(JobProgress progress) {
        return rates.moves() == null || progress.frozen
                ? Set.of()
                : progress.fitting.stream()
                        .filter(name -> !progress.host.alone.contains(name))
                        .collect(Collectors.toSet());
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
                host.suspended,
                false,
                host.totalBytes(),
                host.frozenOnlyBytes);
    }

    private Snapshot.RunningStage stage(JobProgress progress) {
        return discipline.kills()
                ? stage(progress, 0, 0, true)
                : stage(progress, progress.job.memoryBytes(), expectedEnd(progress), false);
    }

    private long knownEnd(JobProgress progress) {
        return discipline.kills() ? 0 : expectedEnd(progress);
    }

    static Snapshot.RunningStage stage(
            JobProgress progress, long residentBytes, long expectedEndMillis, boolean kills) {
        return new Snapshot.RunningStage(
                progress.id,
                progress.host.agent.name(),
                progress.priority,
                progress.owner,
                progress.startedMillis,
                progress.runningSinceMillis,
                progress.suspensions,
                0,
                // A kill asks for no dump.
                progress.job.dumpable() || kills ? null : NOT_DUMPABLE,
                0,
                residentBytes,
                0,
                expectedEndMillis,
                progress.job.rerun(),
                false,
                true,
                progress.lastFrozenMillis);
    }

    private long expectedEnd(JobProgress progress) {
        long expected = estimates.of(progress.job);
        return expected == 0 ? 0 : progress.runningSinceMillis + expected - progress.doneMillis;
    }

    /**
     * When to ask again at the latest if nothing happens; {@link Long#MAX_VALUE} = never.
     *
     * @param best the highest priority (the lowest number) of all that wait or are suspended
     */
    long next(long now, int best, List<Host> hosts, Iterable<JobProgress> suspended) {
        if (!limits.enabled()) {
            return Long.MAX_VALUE;
        }
        long next = Long.MAX_VALUE;
        for (Host host : hosts) {
            for (JobProgress progress : host.holders) {
                // Never a victim: the end of any of its times changes nothing.
                boolean spared = progress.priority < best || (progress.priority == best && slice(progress) == 0);
                if (progress.isRunningStage() && !spared) {
                    next = Math.min(next, after(now, progress));
                }
                // A stage that has waited for that end moves when it has passed.
                if (progress.state == JobProgress.State.RUNNING && isHomeOfMovable(host)) {
                    next = Math.min(next, later(now, knownEnd(progress)));
                }
            }
        }
        if (limits.ageingMillis() > 0) {
            for (JobProgress progress : suspended) {
                if (progress.reserved != null) {
                    continue;
                }
                long steps = (now - progress.sinceMillis) / limits.ageingMillis();
                next = Math.min(next, progress.sinceMillis + (steps + 1) * limits.ageingMillis());
            }
        }
        for (JobProgress progress : suspended) {
            if (progress.thawByMillis > 0 && progress.reserved == null) {
                next = Math.min(
                        next,
                        later(now, progress.thawByMillis - limits.freezeOnly().leadMillis()));
            }
        }
        if (limits.undisturbed() != null) {
            next = Math.min(next, boundary(now, limits.undisturbed()));
        }
        return next == Long.MAX_VALUE ? next : (next + CLOCK_MILLIS - 1) / CLOCK_MILLIS * CLOCK_MILLIS;
    }

    private long after(long now, JobProgress progress) {
        long next = later(now, progress.runningSinceMillis + limits.exemptMillis());
        next = Math.min(next, later(now, progress.runningSinceMillis + progress.lastFrozenMillis));
        long slice = slice(progress);
        if (slice > 0) {
            next = Math.min(next, later(now, progress.runningSinceMillis + slice));
        }
        long end = knownEnd(progress);
        if (end > 0) {
            Cost cost = progress.cost(rates);
            next = Math.min(next, later(now, end + cost.totalMillis() + 1));
        }
        return next;
    }

    private long slice(JobProgress progress) {
        return limits.slices().of(progress.host.agent.labels(), progress.priority, 0);
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
