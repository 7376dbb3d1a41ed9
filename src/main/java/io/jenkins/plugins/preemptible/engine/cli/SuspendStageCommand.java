package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.Extent;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.SuspendReport;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.api.TrialResult;
import io.jenkins.plugins.preemptible.engine.api.TrialVerdict;
import io.jenkins.plugins.preemptible.engine.cli.text.RefusedException;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * Suspends a stage into a file, or in memory.
 *
 * <ol>
 *   <li>With a file: its place is checked first; only an older image of the same stage is ever replaced. The engine
 *       freezes, dumps, seals, and kills the tree once its image is safe.
 *   <li>Without one: the engine freezes the tree, which stays in the host's memory.
 *   <li>One JSON object tells how long each took, or why the stage keeps running.
 * </ol>
 */
@Command(
        name = "suspend",
        description =
                "Suspends the stage: freezes and dumps it, seals its image into FILE, ends its processes. Without "
                        + "--to it stays frozen in this host's memory, which a restart of the host loses. "
                        + "Prints one JSON object; on failure it has 'reason' and 'criu', and the stage keeps running.")
final class SuspendStageCommand implements Callable<Integer> {

    private static final Set<FailureReason> NOTHING_TO_SUSPEND = Set.of(
            FailureReason.UNKNOWN_STAGE,
            FailureReason.STAGE_ENDED,
            FailureReason.STAGE_SUSPENDED,
            FailureReason.KILLED);

    private final Context context;

    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "ID", description = "The stage's id.")
    private StageId id;

    @Option(
            names = "--to",
            paramLabel = "FILE",
            description = "Where the image goes; an older image of the same stage is replaced, any other file is not.")
    private Path to;

    @Option(
            names = "--key-file",
            paramLabel = "KEY",
            description = "The key that seals the image, made on first use; by default image.key beside the stages.")
    private Path keyFile;

    @Option(
            names = "--difference",
            description =
                    "Seal only what changed since the stage's last full image, which must stay in the same folder.")
    private boolean difference;

    SuspendStageCommand(Context context) {
        this.context = context;
    }

    @Override
    public Integer call() throws ImageException {
        context.engine().status(id);
        try {
            if (to == null) {
                print(context.engine().freeze(id, FreezeRequest.plain()));
            } else {
                suspend(context.resolve(to));
            }
            return ExitStatus.OK;
        } catch (SuspendFailedException e) {
            if (NOTHING_TO_SUSPEND.contains(e.reason())) {
                throw e;
            }
            spec.commandLine().getErr().println("preempt: " + Preempt.words(e));
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("id", id.value());
            json.put("reason", Preempt.words(e));
            json.put("criu", e.criuLines());
            context.printJson(json);
            return ExitStatus.SUSPEND_FAILED;
        }
    }

    private void suspend(Path archive) throws ImageException {
        requireFolder(archive);
        ImageKey key = context.sealingKey(keyFile);
        requireReplaceable(archive, key);
        print(context.engine().suspend(id, archive, key, difference ? Extent.DIFFERENCE : Extent.FULL));
    }

    private static void requireFolder(Path archive) {
        if (Files.isDirectory(archive)) {
            throw new RefusedException(archive + " is a folder; give the name of a file by --to");
        }
        Path folder = archive.getParent();
        if (folder == null || !Files.isDirectory(folder)) {
            throw new RefusedException("The folder " + folder + " does not exist; make it, or give another by --to");
        }
        if (!Files.isWritable(folder)) {
            throw new RefusedException("The folder " + folder + " may not be written to; give another by --to");
        }
    }

    private void requireReplaceable(Path archive, ImageKey key) {
        if (!Files.exists(archive)) {
            return;
        }
        try {
            if (id.value().equals(ImageArchive.manifestOf(archive, key).stageId())) {
                return;
            }
        } catch (ImageException e) {
            // In any case it is no image of this stage.
        }
        throw new RefusedException(
                archive + " exists and is no image of " + id + ", so it is not replaced; give another name by --to");
    }

    private void print(Frozen frozen) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("id", frozen.id().value());
        json.put("processes", frozen.processes());
        json.put("preflight_ms", frozen.preflightMillis());
        json.put("freeze_ms", frozen.freezeMillis());
        json.put("resident_bytes", frozen.residentBytes());
        json.put("tier", Tier.FROZEN);
        context.printJson(json);
    }

    private void print(SuspendReport report) {
        Checkpoint checkpoint = report.checkpoint();
        Frozen frozen = report.frozen();
        TrialResult trial = checkpoint.trial();
        spec.commandLine()
                .getErr()
                .println("preempt: " + Preempt.sentence(frozen.handover().sentence()));
        if (trial.verdict() != TrialVerdict.PASSED) {
            String verdict = trial.verdict().sentence() + ": " + trial.why();
            spec.commandLine().getErr().println("preempt: " + Preempt.sentence(verdict));
        }
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("id", checkpoint.id().value());
        json.put("frozen_ms", checkpoint.frozenMillis());
        json.put("dump_ms", checkpoint.dumpMillis());
        json.put("archive_ms", checkpoint.archiveMillis());
        json.put("image_bytes", checkpoint.imageBytes());
        json.put("archive_bytes", checkpoint.archiveBytes());
        json.put("processes", checkpoint.processes());
        json.put("preflight_ms", frozen.preflightMillis());
        json.put("freeze_ms", frozen.freezeMillis());
        json.put("kill_ms", report.killMillis());
        json.put("total_ms", report.totalMillis());
        json.put("resident_bytes", frozen.residentBytes());
        json.put("handover", frozen.handover());
        json.put("handover_reason", frozen.handover().sentence());
        json.put("extent", checkpoint.extent());
        json.put("image_id", checkpoint.imageId());
        json.put("parent_id", checkpoint.parentId());
        json.put("skipped", checkpoint.skipped());
        json.put("trial", trial.verdict());
        json.put("trial_ms", trial.millis());
        json.put("trial_reason", trial.why());
        context.printJson(json);
    }
}
