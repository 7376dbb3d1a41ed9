package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** What a user is told of the installation, and when a stage is to be started by it; one line each. Argument: a folder. */
public final class CheckOfAUser {

    private CheckOfAUser() {}

    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]);
        Engine engine;
        try {
            engine = Engine.open(home.resolve("state"));
        } catch (EngineException e) {
            System.out.println("open: " + e.getMessage());
            return;
        }
        engine.check()
                .items()
                .forEach(i -> System.out.println(i.name() + " " + i.ok() + ": " + i.detail() + " -> " + i.remedy()));
        StageId id = StageId.create("check");
        try {
            engine.start(
                    new StageSpec(id, null, Files.createDirectories(home.resolve("work")), List.of("/bin/true"), null));
            engine.await(id);
            engine.forget(id);
            System.out.println("start: done");
        } catch (EngineException e) {
            System.out.println("start: " + e.getMessage());
        }
    }
}
