package io.jenkins.plugins.preemptible.agent;

import hudson.remoting.VirtualChannel;
import io.jenkins.plugins.preemptible.engine.DumpGuard;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.EngineException;
import io.jenkins.plugins.preemptible.engine.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageSpec;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import jenkins.MasterToSlaveFileCallable;

/**
 * Suspends and resumes an idle stage of one process, once in the life of an agent's connection.
 *
 * <ol>
 *   <li>An agent gets every class from the controller at its first use: hundreds for the dump, the seal and the
 *       restore. Without a rehearsal the first preemptor would wait for them, seconds on a busy machine.
 *   <li>It happens in a home folder of its own, beside the stages, and leaves nothing behind; what an agent that died
 *       in the middle left is removed by the next one. What could not be removed is, when the next stage begins.
 *   <li>A host that passes the check and fails here is told to the administrator, and stages are still tried: it is
 *       their own dump that decides. One that does not pass is left alone.
 * </ol>
 *
 * Blocking, about a second of work: never on a Pipeline's thread.
 */
final class Rehearsal extends MasterToSlaveFileCallable<String> {

    private static final long serialVersionUID = 1L;
    /** Of its stage, which is not among those of {@link AgentStage}. */
    static final String ID = "rehearsal";
    /** A class loader is made for each connection, and this flag with it. */
    private static final AtomicBoolean DONE = new AtomicBoolean();

    /** @return why it failed, in words; null when it did not, or when there had been one */
    @Override
    public String invoke(File home, VirtualChannel channel) throws IOException {
        if (!DONE.compareAndSet(false, true)) {
            return null;
        }
        boolean done = false;
        try {
            Path stage = home.toPath().resolve(ID);
            Engine engine = Engine.open(stage);
            if (!engine.check().ok()) {
                return null;
            }
            Path image = stage.resolve(AgentStage.IMAGE_FILE);
            String failure = failure(engine, stage, image);
            clear(engine);
            Files.deleteIfExists(image);
            done = true;
            return failure;
        } finally {
            // Else nobody would clear before the next connection.
            DONE.set(done);
        }
    }

    private static String failure(Engine engine, Path stage, Path image) {
        try {
            clear(engine);
            rehearse(engine, stage, image);
            return null;
        } catch (EngineException x) {
            return x.getMessage() + (x.criuLines().isEmpty() ? "" : " " + x.criuLines());
        }
    }

    private static void rehearse(Engine engine, Path workDir, Path image) {
        StageId id = StageId.create(ID);
        engine.start(new StageSpec(id, ID, workDir, List.of(), InEngine.sandboxEnvironment()));
        engine.enterCommand(id);
        if (!engine.checkpoints()) {
            engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
            engine.resumeHere(id);
            return;
        }
        ImageKey key = ImageKey.parse(ImageKey.generate().export());
        engine.suspend(id, image, key);
        engine.resume(image, key);
    }

    private static void clear(Engine engine) {
        for (StageStatus left : engine.list()) {
            engine.kill(left.id());
            engine.forget(left.id());
        }
    }
}
