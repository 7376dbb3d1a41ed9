package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.live.LiveRequest;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** A process that takes a checkpoint and stays in the midst of it. Arguments: folder of a bench, id of a stage. */
final class StandsStill {

    /** What it says then. */
    static final String WORD = "stands";

    private StandsStill() {}

    public static void main(String[] words) {
        Path folder = Path.of(words[0]);
        DumpGuard stays = stage -> {
            System.out.print(WORD);
            System.out.flush();
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return Optional.empty();
        };
        LiveRequest request = LiveRequest.of(
                folder.resolve("cut.image"),
                folder.resolve("cut.luggage"),
                ImageKey.generate(),
                List.of(folder.resolve("workspace")));
        Engine.open(folder.resolve("home")).checkpoint(StageId.parse(words[1]), request.asking(stays, List.of()));
    }
}
