package io.jenkins.plugins.preemptible.engine.home;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.contained.Bystanders;
import io.jenkins.plugins.preemptible.engine.criu.CriuRun;
import io.jenkins.plugins.preemptible.engine.criu.SilentClose;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import io.jenkins.plugins.preemptible.engine.trial.ImageTrial;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Finishes or undoes a step that was cut off: a commit, a dump or a resume, of this process or another.
 *
 * Each method can be repeated, and blocks until the processes are gone. The caller holds the stage's lock, except for
 * {@link #clear}, which takes it.
 */
public final class InterruptedSteps {

    private static final Duration DUMPER_LIMIT = TimeLimits.of(Duration.ofSeconds(30));
    private static final Logger LOG = Logger.getLogger(InterruptedSteps.class.getName());

    private InterruptedSteps() {}

    /**
     * Kills what a commit has to kill, once the record says SUSPENDED; the caller holds the lock. It can be repeated,
     * by any process that finds it cut off.
     *
     * @return the record, which has no freezer any more
     * @throws IOException when processes are left after {@code limit}; their freezer stays in the record
     */
    public static StageJson finishCommit(Stages stages, StageFolder folder, StageJson record, Duration limit)
            throws IOException {
        if (record.options().tcpEstablished() && record.dumped() != null) {
            SilentClose.prepare(record.dumped());
        }
        Stages.killWhole(Stages.freezer(record).orElseThrow(), record.init(), limit);
        if (!stages.localImages().keeps(folder.images())) {
            StageFolder.delete(folder.images());
        }
        StageJson end = folder.change(r -> r.state() == State.KILLED
                        ? r
                        : r.withInit(null).withFreezer(null).withArchive(r.archive(), null))
                .orElse(record);
        if (end.state() == State.KILLED) {
            StageFolder.delete(folder.images());
        }
        return end;
    }

    /** Ends the criu and the trial of a process that died during a dump; the caller holds the lock. */
    public static void endDumper(StageFolder folder, StageJson record) throws IOException {
        ImageTrial.clear(folder.trial());
        if (record.freezing() != null && record.freezing().dumper() != null) {
            CriuRun.endGently(record.freezing().dumper(), DUMPER_LIMIT);
        }
        release(record);
        if (record.archive() != null && record.dumped() == null) {
            Path archive = Path.of(record.archive());
            Files.deleteIfExists(archive.resolveSibling(archive.getFileName() + ".partial"));
        }
    }

    /** Lets the other processes of a stage's container run again, if a step that was cut off has held them. */
    static void release(StageJson record) throws IOException {
        if (record.container() != null) {
            Bystanders.release(StageId.parse(record.id()), record.container(), record.freezer());
        }
    }

    /** Ends the frozen or half restored processes of a commit or a resume that was cut off. */
    public static void finishKill(StageFolder folder) throws IOException {
        Optional<StageJson> known = folder.read();
        if (known.isPresent()) {
            release(known.get());
        }
        if (known.isPresent() && known.get().freezer() != null) {
            Stages.killWhole(
                    Stages.freezer(known.get()).orElseThrow(), known.get().init());
        }
    }

    /**
     * For a stage that was killed: ends a criu that was left, and removes the images. A step that still runs removes
     * them itself when it finds the stage killed.
     *
     * @param record as it was before
     */
    static void clear(Stages stages, StageFolder folder, StageJson record) throws IOException {
        try (StageFolder.Held lock = stages.lock(StageId.parse(record.id()))) {
            endDumper(folder, record);
            StageFolder.delete(folder.images());
        } catch (EngineException e) {
            LOG.log(Level.FINE, e, () -> "another process removes what is left of " + record.id());
        }
    }
}
