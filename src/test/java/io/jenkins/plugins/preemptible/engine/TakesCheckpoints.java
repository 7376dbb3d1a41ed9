package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.live.LiveRequest;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** A process that takes one checkpoint after the other. Arguments: folder of a bench, id of a stage. */
final class TakesCheckpoints {

    /** What it says when the stage stands still for the first time. */
    static final String WORD = "stands";

    private TakesCheckpoints() {}

    public static void main(String[] words) {
        Path folder = Path.of(words[0]);
        boolean[] said = {false};
        DumpGuard says = stage -> {
            if (!said[0]) {
                System.out.print(WORD);
                System.out.flush();
                said[0] = true;
            }
            return Optional.empty();
        };
        LiveRequest request = LiveRequest.of(
                folder.resolve("cut.image"),
                folder.resolve("cut.luggage"),
                ImageKey.generate(),
                List.of(folder.resolve("workspace")));
        Engine engine = Engine.open(folder.resolve("home"));
        while (true) {
            engine.checkpoint(StageId.parse(words[1]), request.asking(says, List.of()));
        }
    }
}
