package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.HelperFreezer;
import io.jenkins.plugins.preemptible.engine.stage.CriuOptions;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The CRIU of a user without root's rights: the privileged part runs it inside of the stage's user namespace.
 *
 * <ol>
 *   <li>Images and logs lie in this user's own folders and belong to this user.
 *   <li>A dump that is cancelled undoes what it did, as {@link CriuRun} has it; so does a dump whose caller dies.
 * </ol>
 */
final class HelperCriu extends Criu {

    HelperCriu(Path program) {
        super(program);
    }

    @Override
    public void dump(DumpRequest request, DumpWay way, CriuRun.Watch watch) throws CriuException, IOException {
        StageFolder folder = request.folder();
        Files.createDirectories(folder.logs());
        HelperFreezer helper = (HelperFreezer) request.freezer();
        List<String> words = words(folder.images(), folder, request.hostMounts(), request.options());
        if (way.idle()) {
            words.add("idle");
        }
        boolean[] cancelled = new boolean[1];
        int code = helper.part().dump(helper.id(), words, () -> {
            cancelled[0] = cancelled[0] || watch.cancelled();
            return cancelled[0];
        });
        if (cancelled[0]) {
            throw new CriuException(FailureReason.GOES_ON, List.of());
        }
        if (code == KILLED) {
            throw new CriuException(FailureReason.CRIU_KILLED, List.of());
        }
        if (code != 0) {
            throw failure(folder, DUMP_LOG, folder.logs().resolve("dump.out"));
        }
    }

    @Override
    public long restore(Path images, StageFolder folder, Freezer freezer, List<String> hostMounts, CriuOptions options)
            throws CriuException, IOException {
        Files.createDirectories(folder.logs());
        Path log = folder.logs().resolve("restore.log");
        Files.deleteIfExists(log);
        HelperFreezer helper = (HelperFreezer) freezer;
        try {
            return helper.part()
                    .restore(
                            helper.id(),
                            words(images, folder, hostMounts, options),
                            // A CRIU that hangs would keep a kill of the stage waiting.
                            () -> folder.read()
                                    .filter(r -> r.state() == State.KILLED)
                                    .isPresent())
                    .init();
        } catch (EngineException e) {
            if (e.reason() == FailureReason.CRIU_FAILED && Files.exists(log)) {
                throw failure(folder, "restore.log", folder.logs().resolve("restore.out"));
            }
            throw new CriuException(e.reason(), List.of(String.valueOf(e.detail())));
        }
    }

    private static List<String> words(Path images, StageFolder folder, List<String> hostMounts, CriuOptions options) {
        List<String> words =
                new ArrayList<>(List.of(images.toString(), folder.logs().toString()));
        words.addAll(options.forHelper());
        hostMounts.forEach(mount -> words.add("mount=" + mount));
        return words;
    }
}
