package io.jenkins.plugins.preemptible.agent;

import hudson.remoting.VirtualChannel;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.archive.CipherWarmUp;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
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
 *   <li>In two parts: {@link Part#FREEZE} is what a preemptor waits for, by the verbs that a stage is suspended by;
 *       {@link Part#DUMP} comes afterwards, since an image is made when the executor has gone already.
 *   <li>It happens in a home folder of its own, beside the stages, and leaves nothing behind; what an agent that died
 *       in the middle left is removed by the next one. What could not be removed is, when the next stage begins.
 *   <li>What the agent can is told by the way, before any stage begins there.
 *   <li>A host that passes the check and fails here is told to the administrator, and stages are still tried: it is
 *       their own dump that decides. One that does not pass is left alone.
 * </ol>
 *
 * Blocking, about a second of work in all: never on a Pipeline's thread.
 */
final class Rehearsal extends MasterToSlaveFileCallable<AgentStage.Rehearsed> {

    private static final long serialVersionUID = 1L;
    /** Of its stage, which is not among those of {@link AgentStage}. */
    static final String ID = "rehearsal";
    /** A class loader is made for each connection, and these flags with it. */
    static final AtomicBoolean BEGUN = new AtomicBoolean();
    /** Set while there is a stage for the second part. */
    static final AtomicBoolean TO_BE_DUMPED = new AtomicBoolean();

    /** So that the dump is not made at idle priority: on a busy host that was still under way after two minutes. */
    private static final FreezeRequest WAITED_FOR = new FreezeRequest(DumpGuard.NONE, Long.MAX_VALUE);

    /** In this order. */
    enum Part {
        /** Starts the stage, looks at it, freezes and thaws it. */
        FREEZE,
        /** Dumps, seals and restores that one; nothing where there is none, since no images are made for instance. */
        DUMP
    }

    private final Part part;
    private final boolean moves;

    /** @param moves whether a move is rehearsed as well, see {@link MoveRehearsal} */
    Rehearsal(Part part, boolean moves) {
        this.part = part;
        this.moves = moves;
    }

    /** @return null when there had been one, or there is nothing to be dumped */
    @Override
    public AgentStage.Rehearsed invoke(File home, VirtualChannel channel) throws IOException {
        boolean due = part == Part.FREEZE ? BEGUN.compareAndSet(false, true) : TO_BE_DUMPED.compareAndSet(true, false);
        if (!due) {
            return null;
        }
        boolean done = false;
        try {
            Path own = home.toPath().resolve(ID);
            Engine engine = Engine.open(own);
            HostReport report = part == Part.FREEZE ? engine.check() : new HostReport(List.of());
            if (!report.ok()) {
                return new AgentStage.Rehearsed(AgentStage.Sandbox.refused(report.missingWithRemedies()), null);
            }
            AgentStage.Rehearsed rehearsed = rehearsed(engine, own, home.toPath());
            boolean goesOn = part == Part.FREEZE && rehearsed.sandbox().refusal() == null && engine.checkpoints();
            if (!goesOn) {
                clear(engine);
                Files.deleteIfExists(own.resolve(AgentStage.IMAGE_FILE));
            }
            TO_BE_DUMPED.set(goesOn);
            done = true;
            return rehearsed;
        } finally {
            // Else nobody would clear before the next connection.
            BEGUN.set(done);
        }
    }

    private AgentStage.Rehearsed rehearsed(Engine engine, Path own, Path home) throws IOException {
        try {
            return part == Part.FREEZE ? freeze(engine, own) : dump(engine, own, home);
        } catch (EngineException x) {
            return failed(x.getMessage(), x.criuLines());
        }
    }

    private static AgentStage.Rehearsed freeze(Engine engine, Path own) throws IOException {
        clear(engine);
        StageId id = StageId.create(ID);
        Path exchange = own.resolve("exchange");
        engine.start(new StageSpec(id, ID, own, List.of(), InEngine.sandboxEnvironment()));
        EnterCommand enter = engine.enterCommand(id);
        new SuspendVerbs.Look(id.value()).act(engine, id, exchange);
        AgentStage.Freeze frozen = new SuspendVerbs.FreezeStage(
                        id.value(), List.of(own.resolve("durable-0000").toString()), 0, 0)
                .act(engine, id, exchange);
        if (frozen.refusal() != null) {
            return failed(frozen.refusal().sentence(), frozen.refusal().criuLines());
        }
        AgentStage.Restore thawed = new ResumeVerbs.ResumeHere(id.value(), LastResort.NONE).act(engine, id, exchange);
        return thawed == null || thawed.refusal() == null
                ? new AgentStage.Rehearsed(new AgentStage.Sandbox(enter, null, !engine.checkpoints()), null)
                : failed(thawed.refusal().sentence(), thawed.refusal().criuLines());
    }

    private AgentStage.Rehearsed dump(Engine engine, Path own, Path home) {
        CipherWarmUp.begin();
        Path image = own.resolve(AgentStage.IMAGE_FILE);
        ImageKey key = ImageKey.parse(ImageKey.generate().export());
        EnterCommand enter = null;
        for (StageStatus started : engine.list()) {
            engine.freeze(started.id(), WAITED_FOR);
            engine.dump(started.id(), image, key, IfDumpFails.THAW);
            engine.commit(started.id());
            if (moves) {
                MoveRehearsal.run(engine, own, started.id(), home, image, key);
            }
            engine.resume(image, key);
            enter = engine.enterCommand(started.id());
        }
        return enter == null
                ? failed("The stage of the rehearsal is gone.", List.of())
                : new AgentStage.Rehearsed(new AgentStage.Sandbox(enter, null, false), null);
    }

    /** Stages are still tried: it is their own suspension that decides. */
    private static AgentStage.Rehearsed failed(String sentence, List<String> criuLines) {
        String words = sentence + (criuLines.isEmpty() ? "" : " " + criuLines);
        return new AgentStage.Rehearsed(AgentStage.Sandbox.refused(words), words);
    }

    private static void clear(Engine engine) {
        for (StageStatus left : engine.list()) {
            engine.kill(left.id());
            engine.forget(left.id());
        }
    }
}
