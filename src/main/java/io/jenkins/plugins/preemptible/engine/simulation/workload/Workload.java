package io.jenkins.plugins.preemptible.engine.simulation.workload;

import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * Jobs and the agents for them.
 *
 * <ol>
 *   <li>Jobs are sorted by their arrival.
 *   <li>Every job fits an agent: else it would wait for ever, and the figures would say nothing.
 *   <li>The same workload is given to every discipline that is compared.
 * </ol>
 *
 * @throws IllegalArgumentException when there are no agents, two have one name, or a job's label is that of none; the
 *     message is a sentence for people
 */
public record Workload(List<SimJob> jobs, List<SimAgent> agents) {

    public Workload {
        jobs = jobs.stream()
                .sorted(Comparator.comparingLong(SimJob::arrivalMillis))
                .toList();
        agents = List.copyOf(agents);
        if (agents.isEmpty()) {
            throw new IllegalArgumentException("There is no agent to run anything on");
        }
        Set<String> names = new HashSet<>();
        for (SimAgent agent : agents) {
            if (!names.add(agent.name())) {
                throw new IllegalArgumentException("Two agents are called " + agent.name());
            }
        }
        Set<String> labels = new HashSet<>();
        for (SimJob job : jobs) {
            if (labels.add(job.label()) && agents.stream().noneMatch(agent -> agent.takes(job.label()))) {
                throw new IllegalArgumentException(
                        "No agent carries the label '" + job.label() + "', which a job wants");
            }
        }
    }

    /**
     * The same, where part of the preemptible jobs can only be frozen: all runs of one name alike.
     *
     * @param share 0 to 1
     * @throws IllegalArgumentException when it is out of its range
     */
    public Workload withUndumpable(double share) {
        if (!(share >= 0 && share <= 1)) {
            throw new IllegalArgumentException("The share of stages that cannot be dumped must be from 0 to 1");
        }
        return new Workload(
                jobs.stream()
                        .map(job -> job.preemptible() && spread(job.name()) < share ? job.onlyFrozen() : job)
                        .toList(),
                agents);
    }

    /** 0 to 1, evenly spread over the names. */
    private static double spread(String name) {
        return new SplittableRandom(name.hashCode()).nextDouble();
    }

    public int executors() {
        return agents.stream().mapToInt(SimAgent::executors).sum();
    }

    /** All executor time that the jobs need, in milliseconds. */
    public long workMillis() {
        return jobs.stream().mapToLong(SimJob::durationMillis).sum();
    }
}
