package io.jenkins.plugins.preemptible.engine.privileged;

import static io.jenkins.plugins.preemptible.engine.privileged.LifeSteps.say;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * A user whose restore does not come to its end, since CRIU waits for an image that is a FIFO, and who kills the stage
 * meanwhile; one line for each thing seen.
 *
 * <p>Arguments: a folder.
 */
public final class HangingRestore {

    private HangingRestore() {}

    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]);
        Path work = Files.createDirectories(home.resolve("work"));
        Engine engine = Engine.open(home.resolve("state"));
        StageId id = StageId.create("hangs");
        engine.start(new StageSpec(id, "hangs", work, List.of("/bin/sleep", "1000"), Map.of("PATH", "/usr/bin:/bin")));
        engine.suspend(id, home.resolve("image"), ImageKey.generate());
        Path core = home.resolve("state/stages").resolve(id.value()).resolve("images/core-1.img");
        Files.delete(core);
        say(
                "fifo",
                HostTool.run(10, List.of(HostTool.find("mkfifo").orElseThrow().toString(), core.toString()))
                        .ok());
        CompletableFuture<String> resume = CompletableFuture.supplyAsync(() -> {
            try {
                return engine.resumeHere(id).map(r -> "resumed").orElse("not from here");
            } catch (EngineException e) {
                return e.reason().name();
            }
        });
        Thread.sleep(2000);
        say("hangs", !resume.isDone() + " " + (engine.status(id).state() == State.RESUMING));
        long begun = System.nanoTime();
        engine.kill(id);
        long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun);
        say("killed", engine.status(id).state() + " " + (seconds < 20 ? "soon" : "after " + seconds + " s"));
        say("resume", resume.get(20, TimeUnit.SECONDS));
        engine.forget(id);
        say("left", engine.list().size());
    }
}
