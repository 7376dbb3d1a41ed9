package io.jenkins.plugins.preemptible.agent;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.TrialResult;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.move.MoveExcludes;
import io.jenkins.plugins.preemptible.engine.move.StageNeeds;
import io.jenkins.plugins.preemptible.engine.trial.TrialElsewhere;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Tries a stage's image on an agent that does not have the stage.
 *
 * <ol>
 *   <li>In a folder of its own, apart from that in which images come and go: nobody else needs it.
 *   <li>What an agent that died has left there goes an hour later, with the next trial.
 * </ol>
 */
final class TrialVerb extends InEngine<MovingStage.Tried> {

    private static final long serialVersionUID = 1L;
    private static final Duration LEFT = Duration.ofHours(1);

    private final byte[] beginning;
    private final List<String> workspace;
    private final List<String> excludes;
    private final HostTraits own;
    private final long memoryBytes;
    private final String key;

    TrialVerb(
            String id,
            byte[] beginning,
            List<String> workspace,
            List<String> excludes,
            @CheckForNull HostTraits own,
            long memoryBytes,
            String key) {
        super(id);
        this.beginning = beginning;
        this.workspace = workspace;
        this.excludes = excludes;
        this.own = own;
        this.memoryBytes = memoryBytes;
        this.key = key;
    }

    @Override
    MovingStage.Tried act(Engine engine, StageId stage, Path exchange) throws IOException {
        Path trials = PrivateFolder.make(homeOf(exchange).resolve("trials"));
        sweep(trials);
        Path folder = trials.resolve(stage.value());
        Path image = PrivateFolder.make(folder).resolve("beginning");
        try {
            Files.write(image, beginning);
            return attempt(engine, stage, image, folder.resolve("scratch"), homeOf(exchange));
        } catch (ImageException x) {
            // Cut off too early, or no image of this stage: with all of it that is known.
            return MovingStage.Tried.more();
        } finally {
            remove(folder);
        }
    }

    private MovingStage.Tried attempt(Engine engine, StageId stage, Path image, Path scratch, Path home)
            throws IOException {
        List<Path> folders = MoveVerbs.paths(workspace);
        MoveExcludes leftOut = MoveExcludes.of(excludes);
        ImageKey parsed = ImageKey.parse(key);
        try (TrialElsewhere trial = TrialElsewhere.open(stage, image, parsed, scratch)) {
            StageNeeds needs = StageNeeds.of(trial.manifest(), memoryBytes, folders);
            Misfit misfit = own == null ? null : MoveVerbs.misfit(home, engine, own, needs);
            if (misfit != null) {
                return new MovingStage.Tried(false, misfit, null, "", List.of());
            }
            Optional<Criu> criu = engine.checkpoints() ? MoveVerbs.INSTALLED.usable() : Optional.empty();
            TrialResult result = criu.isEmpty()
                    ? TrialResult.notTried("no CRIU works here")
                    : trial.run(folders, path -> leftOut.contain(folders.get(0), path), criu.get());
            return new MovingStage.Tried(false, null, result.verdict(), result.why(), result.criuLines());
        }
    }

    private static void remove(Path folder) throws IOException {
        TrialElsewhere.clear(folder.resolve("scratch"));
        PrivateFolder.remove(folder);
    }

    private static void sweep(Path trials) throws IOException {
        FileTime old = FileTime.from(Instant.now().minus(LEFT));
        List<Path> all;
        try (Stream<Path> folders = Files.list(trials)) {
            all = folders.toList();
        }
        for (Path each : all) {
            if (Files.isDirectory(each, LinkOption.NOFOLLOW_LINKS)
                    && Files.getLastModifiedTime(each).compareTo(old) < 0) {
                remove(each);
            }
        }
    }
}
