package io.jenkins.plugins.preemptible.engine.cli.simulate;

import io.jenkins.plugins.preemptible.engine.cli.text.Printable;
import io.jenkins.plugins.preemptible.engine.cli.text.RefusedException;
import io.jenkins.plugins.preemptible.engine.simulation.WhatIf;
import io.jenkins.plugins.preemptible.engine.simulation.workload.PastJob;
import io.jenkins.plugins.preemptible.engine.simulation.workload.SimAgent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import picocli.CommandLine.Option;

/**
 * The options that say which agents a simulation has.
 *
 * <ol>
 *   <li>Some alike ones, without labels.
 *   <li>Or each by itself, with executors and labels.
 *   <li>A history for which none are given gets as many as it must have had.
 * </ol>
 */
public final class SimulatedAgents {

    private static final int MOST_AGENTS = 1_000;
    private static final int MOST_EXECUTORS = 2_000;
    private static final int MOST_GIGABYTES = 1_048_576;

    @Option(names = "--agents", paramLabel = "N", description = "How many alike; default 10.")
    private Integer agents;

    @Option(names = "--executors", paramLabel = "N", description = "Of each of those; default 2.")
    private Integer executors;

    @Option(names = "--agent-memory", paramLabel = "GB", description = "Of each agent, 0 = without end; default 16.")
    private int gigabytes = 16;

    @Option(
            names = "--agent",
            paramLabel = "NAME=N[:LABEL,LABEL]",
            description = "One agent with its executors and labels; may be given more than once.")
    private List<String> single = new ArrayList<>();

    /** @throws RefusedException when they are out of their ranges */
    public List<SimAgent> made() {
        inRange("--agent-memory", gigabytes, 0, MOST_GIGABYTES);
        List<SimAgent> made =
                single.isEmpty() ? alike() : single.stream().map(this::agent).toList();
        int all = made.stream().mapToInt(SimAgent::executors).sum();
        if (all > MOST_EXECUTORS) {
            throw new RefusedException(
                    "The agents have " + all + " executors in all, but a simulation takes at most " + MOST_EXECUTORS);
        }
        return made;
    }

    public List<SimAgent> madeFor(List<PastJob> history) {
        boolean none = single.isEmpty() && agents == null && executors == null;
        inRange("--agent-memory", gigabytes, 0, MOST_GIGABYTES);
        return none ? WhatIf.agentsOf(history, bytes()) : made();
    }

    private List<SimAgent> alike() {
        int count = agents == null ? 10 : agents;
        int each = executors == null ? 2 : executors;
        inRange("--agents", count, 1, MOST_AGENTS);
        inRange("--executors", each, 1, MOST_EXECUTORS);
        List<SimAgent> made = new ArrayList<>();
        for (int number = 1; number <= count; number++) {
            made.add(new SimAgent("agent-" + number, Set.of(), each, bytes()));
        }
        return made;
    }

    private SimAgent agent(String text) {
        if (agents != null || executors != null) {
            throw new RefusedException("--agent names every agent; leave out --agents and --executors");
        }
        if (!text.matches("[^=:,\\s]+=[0-9]{1,6}(:[^=:\\s]+)?")) {
            throw new RefusedException("--agent must be like linux-1=2:linux,docker, but is " + Printable.of(text));
        }
        String[] parts = text.split("[=:]");
        Set<String> labels =
                parts.length < 3 ? Set.of() : Arrays.stream(parts[2].split(",")).collect(Collectors.toSet());
        return new SimAgent(parts[0], labels, Integer.parseInt(parts[1]), bytes());
    }

    private long bytes() {
        return (long) gigabytes << 30;
    }

    private static void inRange(String option, int value, int least, int most) {
        if (value < least || value > most) {
            throw new RefusedException(option + " must be from " + least + " to " + most + ", but is " + value);
        }
    }
}
