package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.cli.simulate.MarkedSection;
import io.jenkins.plugins.preemptible.engine.cli.simulate.SimulatedAgents;
import io.jenkins.plugins.preemptible.engine.cli.simulate.SimulatedLimits;
import io.jenkins.plugins.preemptible.engine.cli.simulate.SimulationPlots;
import io.jenkins.plugins.preemptible.engine.cli.simulate.SimulationText;
import io.jenkins.plugins.preemptible.engine.cli.text.Printable;
import io.jenkins.plugins.preemptible.engine.cli.text.RefusedException;
import io.jenkins.plugins.preemptible.engine.cli.text.TextTable;
import io.jenkins.plugins.preemptible.engine.simulation.Comparison;
import io.jenkins.plugins.preemptible.engine.simulation.Sweep;
import io.jenkins.plugins.preemptible.engine.simulation.WhatIf;
import io.jenkins.plugins.preemptible.engine.simulation.workload.GitHubMix;
import io.jenkins.plugins.preemptible.engine.simulation.workload.History;
import io.jenkins.plugins.preemptible.engine.simulation.workload.HistoryException;
import io.jenkins.plugins.preemptible.engine.simulation.workload.PastJob;
import io.jenkins.plugins.preemptible.engine.simulation.workload.SimAgent;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Simulates the scheduler with a workload, in virtual time.
 *
 * <ol>
 *   <li>The workload is a made-up one with published figures, or a history of jobs that have run.
 *   <li>It runs under four disciplines, all through the decide() of the plugin; waits, waste and throughput are printed
 *       side by side.
 *   <li>With {@code --sweep} over loads, dump rates and limits, with several seeds; {@code --write-docs} writes that
 *       into a page.
 * </ol>
 *
 * Nothing of this host is touched but the files that are named.
 */
@Command(
        name = "simulate",
        description = {
            "Compares first come first served, priority order, kill and requeue, and suspending, on one workload in"
                    + " virtual time, with the same decide() as the plugin. See docs/scheduling.md.",
            "A history has one JSON object a line: queued, started, ended (ISO 8601 or milliseconds since 1970), and,"
                    + " where known, label, priority, owner, job, preemptible, memory_mb."
        })
final class SimulateCommand implements Callable<Integer> {

    /** Of the page that {@code --write-docs} names. */
    private static final String SECTION = "simulate";

    private static final int DEFAULT_JOBS = 10_000;
    private static final double DEFAULT_LOAD = 0.9;
    private static final int MOST_SEEDS = 50;

    private final Context context;

    @Option(
            names = "--load",
            paramLabel = "SHARE",
            description = "Work for each unit of executor time, 0.01 to 2;" + " default 0.9.")
    private Double load;

    @Option(names = "--seed", paramLabel = "N", description = "Another seed makes another workload; default 1.")
    private Long seed;

    @Option(names = "--jobs", paramLabel = "N", description = "How many; default 10000.")
    private Integer jobs;

    @Option(names = "--long-share", paramLabel = "SHARE", description = "Of long, preemptible stages; default 0.1.")
    private Double longShare;

    @Option(names = "--long-factor", paramLabel = "N", description = "How much longer those are; default 10.")
    private Double longFactor;

    @Option(
            names = "--undumpable-share",
            paramLabel = "SHARE",
            description = "Of the preemptible stages, those that cannot be dumped; default 0.")
    private Double undumpableShare;

    @Option(
            names = "--memory",
            paramLabel = "MB",
            description = "Median of a short job, half of a long one's;" + " default 512.")
    private Integer memoryMegabytes;

    @Option(
            names = "--history",
            paramLabel = "FILE",
            description = "Replays these jobs in place of a made-up" + " workload.")
    private Path history;

    @ArgGroup(exclusive = false, heading = "%nAgents:%n")
    private SimulatedAgents agents = new SimulatedAgents();

    @ArgGroup(exclusive = false, heading = "%nLimits, as on the configuration page:%n")
    private SimulatedLimits limits = new SimulatedLimits();

    @Option(names = "--sweep", description = "Loads 50 to 95 %%, dump rates 0.1 to 2 GB/s, slices; takes minutes.")
    private boolean sweep;

    @Option(names = "--seeds", paramLabel = "N", description = "Of a sweep; default 5.")
    private Integer seeds;

    @Option(
            names = "--write-docs",
            paramLabel = "PAGE",
            description = "Sweeps, and writes tables between the marks of"
                    + " that page, and plots into the folder 'plots' beside it.")
    private Path page;

    @Option(names = "--plots", paramLabel = "FOLDER", description = "Draws plots as SVG files there.")
    private Path plots;

    @Option(names = "--json", description = "One JSON object.")
    private boolean json;

    SimulateCommand(Context context) {
        this.context = context;
    }

    @Override
    public Integer call() {
        try {
            if (history != null) {
                replay();
            } else if (sweep || page != null) {
                sweep();
            } else {
                refuseUnless(seeds == null, "--seeds is of a sweep; add --sweep, or give one --seed");
                Comparison comparison = Comparison.of(
                        new GitHubMix(
                                        orElse(load, DEFAULT_LOAD),
                                        orElse(jobs, DEFAULT_JOBS),
                                        orElse(seed, 1L),
                                        longShare(),
                                        longFactor(),
                                        memoryBytes())
                                .on(agents.made())
                                .withUndumpable(orElse(undumpableShare, 0.0)),
                        limits.limits(),
                        limits.rates());
                show(comparison);
            }
            return ExitStatus.OK;
        } catch (IllegalArgumentException e) {
            throw new RefusedException(e.getMessage());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private double longShare() {
        return orElse(longShare, 0.1);
    }

    private double longFactor() {
        return orElse(longFactor, 10.0);
    }

    private long memoryBytes() {
        return (long) orElse(memoryMegabytes, 512) << 20;
    }

    private static <T> T orElse(T given, T otherwise) {
        return given == null ? otherwise : given;
    }

    private static void refuseUnless(boolean right, String sentence) {
        if (!right) {
            throw new RefusedException(sentence);
        }
    }

    private void replay() throws IOException {
        boolean alone = load == null
                && seed == null
                && jobs == null
                && longShare == null
                && longFactor == null
                && memoryMegabytes == null
                && undumpableShare == null
                && !sweep
                && seeds == null
                && page == null;
        refuseUnless(
                alone,
                "--history replays what it is given; leave out --load, --seed, --jobs, --long-share, --long-factor,"
                        + " --memory, --undumpable-share, --sweep, --seeds and --write-docs");
        Path file = context.resolve(history);
        List<PastJob> past;
        try {
            past = History.read(file);
        } catch (HistoryException e) {
            throw new RefusedException("The history " + file + " was refused, and nothing of it was taken: "
                    + Printable.of(e.getMessage()));
        } catch (IOException e) {
            throw new RefusedException("The history " + file + " cannot be read; check the path");
        }
        show(WhatIf.compare(past, agents.madeFor(past), limits.limits(), limits.rates()));
    }

    private void show(Comparison comparison) throws IOException {
        if (json) {
            context.printJson(comparison);
        } else {
            context.out()
                    .printf(
                            "%d jobs on %d executors, load %.2f%s%n%n",
                            comparison.jobs(),
                            comparison.executors(),
                            comparison.load(),
                            comparison.leftOut() == 0 ? "" : "; " + comparison.leftOut() + " older ones were left out");
            SimulationText.waits(comparison).text().forEach(context.out()::println);
            context.out().println();
            SimulationText.executors(comparison).text().forEach(context.out()::println);
            context.out().println();
            context.out()
                    .println("Wait: from arrival to the first start. Delay: all time without progress that counts.");
            context.out()
                    .println("Wasted: lost work, dumps and restores. Utilisation and jobs an hour: while jobs arrive.");
        }
        if (plots != null) {
            SimulationPlots drawn = new SimulationPlots(context.resolve(plots));
            drawn.draw(comparison);
            tell(drawn);
        }
    }

    private void sweep() throws IOException {
        refuseUnless(load == null && seed == null, "A sweep has its own loads and seeds; leave out --load and --seed");
        int many = orElse(seeds, 5);
        refuseUnless(many >= 1 && many <= MOST_SEEDS, "--seeds must be from 1 to " + MOST_SEEDS + ", but is " + many);
        MarkedSection section = page == null ? null : new MarkedSection(context.resolve(page), SECTION);
        List<SimAgent> made = agents.made();
        Sweep.Tables tables = new Sweep(
                        orElse(jobs, DEFAULT_JOBS),
                        many,
                        longShare(),
                        longFactor(),
                        memoryBytes(),
                        made,
                        limits.limits(),
                        limits.rates())
                .run();
        if (json) {
            context.printJson(tables);
        } else {
            lines(tables, made, many, false).forEach(context.out()::println);
        }
        if (plots != null) {
            SimulationPlots drawn = new SimulationPlots(context.resolve(plots));
            drawn.draw(tables);
            tell(drawn);
        }
        if (section != null) {
            SimulationPlots drawn = new SimulationPlots(context.resolve(page).resolveSibling("plots"));
            drawn.draw(tables);
            List<String> lines = lines(tables, made, many, true);
            for (Path plot : drawn.written()) {
                lines.add("![" + plot.getFileName() + "](plots/" + plot.getFileName() + ")");
                lines.add("");
            }
            section.replace(lines);
        }
    }

    private void tell(SimulationPlots drawn) {
        if (!json) {
            drawn.written().forEach(file -> context.out().println("plot: " + file));
        }
    }

    private List<String> lines(Sweep.Tables tables, List<SimAgent> made, int many, boolean markdown) {
        List<String> lines = new ArrayList<>();
        lines.add("");
        lines.add("Written by `./preempt simulate --write-docs`. " + many + " seeds, "
                + orElse(jobs, DEFAULT_JOBS) + " jobs each, "
                + made.stream().mapToInt(SimAgent::executors).sum() + " executors on " + made.size() + " agents;");
        lines.add(limits.sentence());
        lines.add("Median (least–most) of the seeds.");
        add(lines, "Goals, at 90 % load; met when every seed meets it", SimulationText.goals(tables.goals()), markdown);
        add(lines, "Loads", SimulationText.sweep("load", tables.loads()), markdown);
        add(lines, "Dump rates, at 90 % load", SimulationText.sweep("dump rate", tables.dumpRates()), markdown);
        add(lines, "Time slices, at 90 % load", SimulationText.sweep("slice", tables.slices()), markdown);
        add(
                lines,
                "A stage gives way three times at most, at 90 % load",
                SimulationText.sweep("gives way", tables.bounded()),
                markdown);
        lines.add("");
        return lines;
    }

    private static void add(List<String> lines, String title, TextTable table, boolean markdown) {
        lines.add("");
        lines.add((markdown ? "### " : "") + title);
        lines.add("");
        lines.addAll(markdown ? table.markdown() : table.text());
    }
}
