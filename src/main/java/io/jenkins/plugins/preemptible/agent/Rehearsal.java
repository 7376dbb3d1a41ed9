package io.jenkins.plugins.preemptible.agent;

import hudson.remoting.VirtualChannel;
import io.jenkins.plugins.preemptible.engine.DumpGuard;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.EngineException;
import io.jenkins.plugins.preemptible.engine.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.host.HostReport;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
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
 *       in the middle left is removed by the next one.
 *   <li>What the agent can is told by the way, before any stage begins there.
 *   <li>A host that passes the check and fails here is told to the administrator, and stages are still tried: it is
 *       their own dump that decides. One that does not pass is left alone.
 * </ol>
 *
 * Blocking, about a second of work: never on a Pipeline's thread.
 */
final class Rehearsal extends MasterToSlaveFileCallable<AgentStage.Rehearsed> {

    private static final long serialVersionUID = 1L;
    /** Of its stage, which is not among those of {@link AgentStage}. */
    static final String ID = "rehearsal";
    /** A class loader is made for each connection, and this flag with it. */
    private static final AtomicBoolean DONE = new AtomicBoolean();

    /** @return null when there had been one */
    @Override
    public AgentStage.Rehearsed invoke(File home, VirtualChannel channel) throws IOException {
        if (!DONE.compareAndSet(false, true)) {
            return null;
        }
        Path stage = home.toPath().resolve(ID);
        Engine engine = Engine.open(stage);
        HostReport report = engine.check();
        if (!report.ok()) {
            DONE.set(false);
            return new AgentStage.Rehearsed(AgentStage.Sandbox.refused(report.missingWithRemedies()), null);
        }
        Path image = stage.resolve(AgentStage.IMAGE_FILE);
        try {
            clear(engine);
            EnterCommand enter = rehearse(engine, stage, image);
            return new AgentStage.Rehearsed(new AgentStage.Sandbox(enter, null, !engine.checkpoints()), null);
        } catch (EngineException x) {
            // Stages are still tried: it is their own suspension that decides.
            return new AgentStage.Rehearsed(
                    AgentStage.Sandbox.refused(x.getMessage()),
                    x.getMessage() + (x.criuLines().isEmpty() ? "" : " " + x.criuLines()));
        } finally {
            clear(engine);
            Files.deleteIfExists(image);
        }
    }

    private static EnterCommand rehearse(Engine engine, Path workDir, Path image) {
        StageId id = StageId.create(ID);
        engine.start(new StageSpec(id, ID, workDir, List.of(), InEngine.sandboxEnvironment()));
        EnterCommand enter = engine.enterCommand(id);
        if (!engine.checkpoints()) {
            engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
            engine.resumeHere(id);
            return enter;
        }
        ImageKey key = ImageKey.parse(ImageKey.generate().export());
        engine.suspend(id, image, key);
        engine.resume(image, key);
        return enter;
    }

    private static void clear(Engine engine) {
        for (StageStatus left : engine.list()) {
            engine.kill(left.id());
            engine.forget(left.id());
        }
    }
}
