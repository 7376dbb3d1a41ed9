package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.cli.text.RefusedException;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * Resumes a suspended stage under its own id.
 *
 * <ol>
 *   <li>The image is the given file, or the one that the stage of the given id was suspended into; what is still on
 *       this host of the same suspension, a frozen tree or CRIU's own files, serves without unpacking it.
 *   <li>Otherwise the engine authenticates the whole of it before CRIU sees a byte.
 *   <li>One JSON object tells how long it took, or why the stage stays suspended.
 * </ol>
 */
@Command(
        name = "resume",
        description = "Restores a suspended stage under the same id. Prints one JSON object; on failure it has "
                + "'reason' and 'criu', nothing runs, and the image is kept.")
final class ResumeStageCommand implements Callable<Integer> {

    private static final Set<FailureReason> WRONG_IMAGE = Set.of(
            FailureReason.IMAGE_MISSING,
            FailureReason.IMAGE_UNUSABLE,
            FailureReason.IMAGE_OUTDATED,
            FailureReason.ELSEWHERE,
            FailureReason.STAGE_RUNS,
            FailureReason.STAGE_ENDED,
            FailureReason.KILLED);

    private final Context context;

    @Spec
    private CommandSpec spec;

    @ArgGroup(exclusive = true, multiplicity = "1")
    private Source source;

    @Option(
            names = "--key-file",
            paramLabel = "KEY",
            description = "The key that sealed the image; by default image.key beside the stages.")
    private Path keyFile;

    /** One of the two. */
    static final class Source {
        @Option(names = "--from", paramLabel = "FILE", description = "The image.")
        private Path from;

        @Parameters(paramLabel = "ID", arity = "0..1", description = "The id of a stage that was suspended here.")
        private StageId id;
    }

    ResumeStageCommand(Context context) {
        this.context = context;
    }

    @Override
    public Integer call() throws ImageException {
        try {
            print(resume());
            return ExitStatus.OK;
        } catch (ResumeFailedException e) {
            spec.commandLine().getErr().println("preempt: " + Preempt.words(e));
            if (WRONG_IMAGE.contains(e.reason())) {
                return ExitStatus.USAGE;
            }
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("reason", Preempt.words(e));
            json.put("criu", e.criuLines());
            context.printJson(json);
            return ExitStatus.RESUME_FAILED;
        }
    }

    private ResumeReport resume() throws ImageException {
        if (source.from == null) {
            StageStatus stage = context.engine().status(source.id);
            // Its archive, if it is there, has the last word on whether the stage is the one that was suspended.
            if (stage.state() == StageStatus.State.SUSPENDING
                    || (stage.archive() != null && !Files.isRegularFile(stage.archive()))) {
                Optional<ResumeReport> near = context.engine().resumeHere(source.id);
                if (near.isPresent()) {
                    return near.get();
                }
            }
        }
        Path archive = source.from != null ? context.resolve(source.from) : archiveOf(source.id);
        if (!Files.isRegularFile(archive)) {
            throw new RefusedException("There is no image " + archive + "; give the file that 'suspend --to' wrote");
        }
        return context.engine().resume(archive, context.openingKey(keyFile));
    }

    private Path archiveOf(StageId id) {
        StageStatus stage = context.engine().status(id);
        if (stage.archive() == null) {
            throw new RefusedException("The stage " + id + " is " + stage.state()
                    + " and not suspended, so there is nothing to resume; see 'preempt list'");
        }
        return stage.archive();
    }

    private void print(ResumeReport report) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("id", report.id().value());
        json.put("restore_ms", report.restoreMillis());
        json.put("processes", report.processes());
        json.put("unpack_ms", report.unpackMillis());
        json.put("tier", report.tier());
        report.warnings().forEach(w -> spec.commandLine().getErr().println("preempt: " + Preempt.sentence(w)));
        json.put("warnings", report.warnings());
        context.printJson(json);
    }
}
