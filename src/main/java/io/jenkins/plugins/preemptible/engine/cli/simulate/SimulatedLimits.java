package io.jenkins.plugins.preemptible.engine.cli.simulate;

import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.cli.text.RefusedException;
import io.jenkins.plugins.preemptible.engine.policy.Cost;
import io.jenkins.plugins.preemptible.engine.policy.FreezeOnly;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.policy.MovePace;
import io.jenkins.plugins.preemptible.engine.policy.UndumpableStages;
import io.jenkins.plugins.preemptible.engine.simulation.Rates;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Option;

/**
 * The options that say what an administrator allows, and how fast the agents are.
 *
 * <ol>
 *   <li>Units, ranges and defaults are those of the configuration page.
 *   <li>Rates have the policy's own defaults.
 *   <li>What is out of its range is refused with the range.
 * </ol>
 */
public final class SimulatedLimits {

    private static final int MOST_MINUTES = 10_080;
    private static final int MOST_SECONDS = 86_400;
    private static final int MOST_COUNT = 1_000;
    private static final int MOST_MEGABYTES = 1_048_576;
    private static final int MOST_TAKEOVER_MILLIS = 600_000;
    private static final int MEGABYTE = 1_000_000;
    private static final int LEAST_FROZEN = 30;
    private static final int MOST_FROZEN = 7_200;
    private static final int WHOLE = 100;

    @Option(names = "--slice", paramLabel = "MIN", description = "Time slice; default 0 = none.")
    private int sliceMinutes;

    @Option(names = "--exempt", paramLabel = "SEC", description = "Shortest undisturbed run; default 0.")
    private int exemptSeconds;

    @Option(names = "--most-suspensions", paramLabel = "N", description = "Of one stage; default 0 = no limit.")
    private int mostSuspensions;

    @Option(names = "--most-suspended-per-agent", paramLabel = "N", description = "At a time; default 0 = no limit.")
    private int mostSuspendedPerAgent;

    @Option(names = "--most-suspended", paramLabel = "N", description = "At a time, in all; default 0 = no limit.")
    private int mostSuspended;

    @Option(
            names = "--ageing",
            paramLabel = "MIN",
            description =
                    "After each, a suspended stage's claim counts as one" + " priority higher; default 10, 0 = never.")
    private int ageingMinutes = 10;

    @Option(
            names = "--image-limit",
            paramLabel = "MB",
            description = "Larger stages are not suspended; default 0 =" + " no limit.")
    private int imageMegabytes;

    @Option(names = "--memory-floor", paramLabel = "MB", description = "Stays free beside frozen stages; default 1024.")
    private int floorMegabytes = (int) (FreezeRequest.DEFAULT_MEMORY_FLOOR >> 20);

    @Option(
            names = "--freeze-only",
            description = "Stages that cannot be dumped are frozen for a time; otherwise they are left alone.")
    private boolean freezeOnly;

    @Option(names = "--longest-frozen", paramLabel = "SEC", description = "Of such a stage; default 600.")
    private int frozenSeconds = (int) TimeUnit.MILLISECONDS.toSeconds(FreezeOnly.DEFAULT.longestMillis());

    @Option(
            names = "--frozen-share",
            paramLabel = "PERCENT",
            description = "Of an agent's memory, for all such stages together; default 25.")
    private int frozenPercent = FreezeOnly.DEFAULT.memoryPercent();

    @Option(
            names = "--dump-rate",
            paramLabel = "MB/S",
            description = "Dump, archive and seal, in 10^6 bytes a second;" + " default 200.")
    private int dumpRate = (int) (Cost.DEFAULT_DUMP_RATE / MEGABYTE);

    @Option(names = "--restore-rate", paramLabel = "MB/S", description = "Default 600.")
    private int restoreRate = (int) (Cost.DEFAULT_RESTORE_RATE / MEGABYTE);

    @Option(
            names = "--takeover",
            paramLabel = "MS",
            description = "From a shortage to the free executor; default" + " 1000.")
    private int takeoverMillis = (int) Rates.DEFAULT.takeoverMillis();

    @Option(
            names = "--moves",
            description =
                    "Suspended stages resume on other agents, too, where that is sooner; at the pace that is expected before"
                            + " the first move.")
    private boolean moves;

    public Limits limits() {
        return new Limits(
                        true,
                        TimeUnit.MINUTES.toMillis(inRange("--slice", sliceMinutes, 0, MOST_MINUTES)),
                        TimeUnit.SECONDS.toMillis(inRange("--exempt", exemptSeconds, 0, MOST_SECONDS)),
                        inRange("--most-suspensions", mostSuspensions, 0, MOST_COUNT))
                .withMostSuspended(
                        inRange("--most-suspended-per-agent", mostSuspendedPerAgent, 0, MOST_COUNT),
                        inRange("--most-suspended", mostSuspended, 0, MOST_COUNT))
                .withAgeing(TimeUnit.MINUTES.toMillis(inRange("--ageing", ageingMinutes, 0, MOST_MINUTES)))
                .withMemory(
                        (long) inRange("--image-limit", imageMegabytes, 0, MOST_MEGABYTES) << 20,
                        (long) inRange("--memory-floor", floorMegabytes, 0, MOST_MEGABYTES) << 20)
                .withUndumpable(freezeOnly ? UndumpableStages.FREEZE_ONLY : UndumpableStages.WAIT)
                .withFreezeOnly(new FreezeOnly(
                        TimeUnit.SECONDS.toMillis(
                                inRange("--longest-frozen", frozenSeconds, LEAST_FROZEN, MOST_FROZEN)),
                        inRange("--frozen-share", frozenPercent, 0, WHOLE)));
    }

    public Rates rates() {
        return new Rates(
                (long) inRange("--dump-rate", dumpRate, 1, MOST_MEGABYTES) * MEGABYTE,
                (long) inRange("--restore-rate", restoreRate, 1, MOST_MEGABYTES) * MEGABYTE,
                inRange("--takeover", takeoverMillis, 0, MOST_TAKEOVER_MILLIS),
                moves ? MovePace.DEFAULT : null);
    }

    private static int inRange(String option, int value, int least, int most) {
        if (value < least || value > most) {
            throw new RefusedException(option + " must be from " + least + " to " + most + ", but is " + value);
        }
        return value;
    }

    /** What they are, for a page. */
    public String sentence() {
        return "slice " + (sliceMinutes == 0 ? "none" : sliceMinutes + " min") + ", exempt time " + exemptSeconds
                + " s, ageing " + ageingMinutes + " min, memory floor " + floorMegabytes + " MB, dump " + dumpRate
                + " MB/s, restore " + restoreRate + " MB/s, takeover " + takeoverMillis + " ms"
                + (moves ? ", with moves." : ".");
    }
}
