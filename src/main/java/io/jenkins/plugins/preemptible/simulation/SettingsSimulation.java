package io.jenkins.plugins.preemptible.simulation;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.config.Messages;
import io.jenkins.plugins.preemptible.config.Owners;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.config.Setting;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.simulation.Comparison;
import io.jenkins.plugins.preemptible.engine.simulation.Discipline;
import io.jenkins.plugins.preemptible.engine.simulation.Rates;
import io.jenkins.plugins.preemptible.engine.simulation.WhatIf;
import io.jenkins.plugins.preemptible.move.MoveCosts;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * One simulation: what some settings would have made of this controller's own builds.
 *
 * <ol>
 *   <li>Reads the {@value #MOST_BUILDS} newest builds that have ended in those days, as many as can be read in
 *       {@value #MOST_SECONDS} s, with the rights of the user who started it.
 *   <li>Replays them on the agents of now, under each {@link Discipline} in turn.
 *   <li>Keeps the result, or the sentence that says why there is none.
 * </ol>
 *
 * <p>{@link #run} is called once; everything else by any thread at any time.
 */
public final class SettingsSimulation {

    /** Where all simulations are shown, below Jenkins' own address. */
    public static final String ALL_URL = "preemptible/simulation/";

    static final int MOST_BUILDS = 5_000;
    static final int MOST_SECONDS = 10;

    private static final Logger LOGGER = Logger.getLogger(SettingsSimulation.class.getName());

    /** A setting that was not the saved one. @param effect false where no simulation asks for it */
    public record Change(String setting, String saved, String used, boolean effect) {}

    /**
     * What was replayed and what came of it.
     *
     * @param builds that were read
     * @param cut there were more, too many or too slow to be read
     * @param withoutAgent uses of executors that no agent of now fits
     */
    public record Result(int builds, boolean cut, int withoutAgent, Comparison comparison) {}

    private final String id = UUID.randomUUID().toString();
    private final long startedMillis = System.currentTimeMillis();
    private final String startedBy;
    private final int days;
    private final List<Change> changes;
    private final Limits limits;
    private final Owners owners;
    private final Rates rates;

    /** 0 = it has not begun; reading builds is the first step. */
    private final AtomicInteger step = new AtomicInteger();

    private volatile String doing = Messages.SettingsSimulation_ToBegin();

    @CheckForNull
    private volatile Result result;

    @CheckForNull
    private volatile String failure;

    /**
     * @param startedBy for people
     * @param saved the settings that are saved
     * @param used those to be simulated, which may be the same
     */
    SettingsSimulation(String startedBy, int days, PreemptibleConfiguration saved, PreemptibleConfiguration used) {
        this.startedBy = startedBy;
        this.days = days;
        this.changes = Setting.differences(saved, used).stream()
                .map(setting -> new Change(
                        setting.title(), setting.value(saved), setting.value(used), setting.hasEffectOnSimulations()))
                .toList();
        this.limits = used.limits();
        this.owners = new Owners(used.ownerBy());
        this.rates = used.isMoveStages() ? Rates.DEFAULT.moving(MoveCosts.pace()) : Rates.DEFAULT;
    }

    /** Takes up to half a minute. */
    void run() {
        try {
            simulate();
        } catch (RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "the simulation " + id + " of preemptible stages failed");
            failure = Messages.SettingsSimulation_Failed(String.valueOf(x.getMessage()));
        } finally {
            // An error, such as that of no memory, must not leave it running for ever.
            if (isRunning()) {
                failure = Messages.SettingsSimulation_Failed("");
            }
        }
    }

    private void simulate() {
        next(Messages.SettingsSimulation_Reads());
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(MOST_SECONDS);
        FinishedBuilds read = FinishedBuilds.read(
                System.currentTimeMillis() - TimeUnit.DAYS.toMillis(days),
                MOST_BUILDS,
                owners,
                () -> System.nanoTime() > end);
        AgentsNow now = AgentsNow.of(read.jobs());
        int withoutAgent = read.jobs().size() - now.jobs().size();
        if (now.jobs().isEmpty()) {
            failure = Messages.SettingsSimulation_Nothing(days, withoutAgent);
            return;
        }
        Comparison comparison = WhatIf.compare(
                now.jobs(),
                now.agents(),
                limits,
                rates,
                ZoneId.systemDefault(),
                discipline -> next(Messages.SettingsSimulation_Replays(Disciplines.title(discipline))));
        result = new Result(read.builds(), read.cut(), withoutAgent, comparison);
    }

    private void next(String what) {
        doing = what;
        step.incrementAndGet();
    }

    /** Users who know it still need the permission to see the simulation. */
    public String getId() {
        return id;
    }

    /** Below Jenkins' own address. */
    public String getUrl() {
        return ALL_URL + id + "/";
    }

    public long getStartedMillis() {
        return startedMillis;
    }

    public String getStartedBy() {
        return startedBy;
    }

    public int getDays() {
        return days;
    }

    /** Empty when the saved settings were simulated. */
    public List<Change> getChanges() {
        return changes;
    }

    public boolean isRunning() {
        return result == null && failure == null;
    }

    /** What it does, for people; makes sense while it runs. */
    public String getDoing() {
        return doing;
    }

    /** How many steps are done of {@link #getSteps}. */
    public int getDone() {
        return Math.max(0, step.get() - 1);
    }

    public int getSteps() {
        return 1 + Discipline.values().length;
    }

    /** Null while it runs, and when there is none. */
    @CheckForNull
    public Result getResult() {
        return result;
    }

    /** Why there is no result, as a sentence for people. */
    @CheckForNull
    public String getFailure() {
        return failure;
    }

    /** What was replayed and what was left out, as sentences for people. */
    public List<String> getSentences() {
        Result of = result;
        if (of == null) {
            return List.of();
        }
        Comparison comparison = of.comparison();
        List<String> sentences = new ArrayList<>();
        sentences.add(Messages.SettingsSimulation_Read(
                of.builds(), comparison.jobs(), comparison.executors(), of.withoutAgent()));
        if (rates.moves() != null) {
            sentences.add(Messages.SettingsSimulation_Moves());
        }
        if (comparison.leftOut() > 0) {
            sentences.add(Messages.SettingsSimulation_Older(comparison.leftOut()));
        }
        if (of.cut()) {
            sentences.add(Messages.SettingsSimulation_Cut(MOST_BUILDS, MOST_SECONDS));
        }
        return sentences;
    }
}
