package io.jenkins.plugins.preemptible.agent;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.live.Bases;
import io.jenkins.plugins.preemptible.engine.live.LiveImage;
import io.jenkins.plugins.preemptible.engine.live.LiveRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The verbs of {@link CheckpointedStage}, carried out on the agent. */
final class LiveVerbs {

    /** Below the stage's exchange folder: an archive of the same file name each. */
    static final String IMAGE = "checkpoint";

    static final String FILES = "checkpoint-files";

    private LiveVerbs() {}

    /** Takes a checkpoint, unless a step of the stage has just ended. */
    static final class Take extends InEngine<CheckpointedStage.Made> {
        private static final long serialVersionUID = 1L;
        private final List<String> folders;
        private final List<String> controlFolders;
        private final String key;
        private final CheckpointedStage.Names names;
        private final long mostFileBytes;

        Take(
                String id,
                List<String> folders,
                List<String> controlFolders,
                String key,
                CheckpointedStage.Names names,
                long mostFileBytes) {
            super(id);
            this.names = names;
            this.folders = List.copyOf(folders);
            this.controlFolders = List.copyOf(controlFolders);
            this.key = key;
            this.mostFileBytes = mostFileBytes;
        }

        @Override
        CheckpointedStage.Made act(Engine engine, StageId stage, Path exchange) throws IOException {
            PrivateFolder.make(exchange);
            // By these names a later one refers to them.
            Path image = PrivateFolder.make(exchange.resolve(IMAGE)).resolve(names.image());
            Path files = PrivateFolder.make(exchange.resolve(FILES)).resolve(names.files());
            DumpGuard guard = frozen -> DurableTasks.finishedOne(controlFolders)
                    .map(folder -> "a step of it has just ended, " + folder + " has its result");
            List<Path> logs = DurableTasks.logs(controlFolders);
            List<Path> packed = folders.stream().map(Path::of).toList();
            try {
                LiveImage made = engine.checkpoint(
                        stage,
                        LiveRequest.of(image, files, ImageKey.parse(key), packed)
                                .against(new Bases(names.imageBase(), names.filesBase(), Set.copyOf(names.others())))
                                .asking(guard, logs)
                                .unlessLargerThan(mostFileBytes));
                Files.move(image, image.resolveSibling(AgentStage.IMAGE_FILE));
                Files.move(files, files.resolveSibling(AgentStage.IMAGE_FILE));
                return new CheckpointedStage.Made(
                        null,
                        made.stopMillis(),
                        made.sealMillis(),
                        made.imageBytes(),
                        made.archiveBytes(),
                        made.fileBytes(),
                        made.luggageBytes(),
                        made.imageDiffers(),
                        made.filesDiffer(),
                        made.wholeWhy(),
                        made.processes(),
                        logs.stream()
                                .map(log -> made.sizes().getOrDefault(log, 0L))
                                .toList());
            } catch (EngineException x) {
                drop(exchange);
                return CheckpointedStage.Made.refused(AgentStage.Refusal.of(x));
            }
        }
    }

    /** Whether the stage's processes are gone, though no step of it has a result. */
    static final class Gone extends InEngine<Boolean> {
        private static final long serialVersionUID = 1L;
        private final List<String> controlFolders;
        private final boolean orDumped;

        /** @param orDumped whether one counts as gone of which the host has a whole dump */
        Gone(String id, List<String> controlFolders, boolean orDumped) {
            super(id);
            this.orDumped = orDumped;
            this.controlFolders = List.copyOf(controlFolders);
        }

        @Override
        Boolean act(Engine engine, StageId stage, Path exchange) {
            Optional<State> state = state(engine, stage);
            if (!orDumped && is(State.SUSPENDED, state)) {
                return false;
            }
            // Its record may say otherwise as long as another process holds its lock.
            boolean over = state.isEmpty() || engine.status(stage).initPid() == 0;
            return over && DurableTasks.finishedOne(controlFolders).isEmpty();
        }
    }

    static final class Drop extends InEngine<Void> {
        private static final long serialVersionUID = 1L;

        Drop(String id) {
            super(id);
        }

        @Override
        Void act(Engine engine, StageId stage, Path exchange) throws IOException {
            drop(exchange);
            return null;
        }
    }

    private static void drop(Path exchange) throws IOException {
        PrivateFolder.remove(exchange.resolve(IMAGE));
        PrivateFolder.remove(exchange.resolve(FILES));
    }
}
