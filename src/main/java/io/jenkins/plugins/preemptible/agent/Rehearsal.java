package io.jenkins.plugins.preemptible.agent;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.remoting.VirtualChannel;
import io.jenkins.plugins.preemptible.engine.DumpGuard;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.EngineException;
import io.jenkins.plugins.preemptible.engine.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.IfDumpFails;
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
 *   <li>In two parts: {@link Part#FREEZE} is what a preemptor waits for, by the verbs that a stage is suspended by;
 *       {@link Part#DUMP} comes afterwards, since an image is made when the executor has gone already.
 *   <li>It happens in a home folder of its own, beside the stages, and leaves nothing behind; what an agent that died
 *       in the middle left is removed by the next one.
 *   <li>A host that passes the check and fails here is told to the administrator, and stages are still tried: it is
 *       their own dump that decides. One that does not pass is left alone.
 * </ol>
 *
 * Blocking, about a second of work in all: never on a Pipeline's thread.
 */
final class Rehearsal extends MasterToSlaveFileCallable<String> {

    private static final long serialVersionUID = 1L;
    /** Of its stage, which is not among those of {@link AgentStage}. */
    static final String ID = "rehearsal";
    /** A class loader is made for each connection, and these flags with it. */
    private static final AtomicBoolean BEGUN = new AtomicBoolean();
    /** Set while there is a stage for the second part. */
    private static final AtomicBoolean TO_BE_DUMPED = new AtomicBoolean();

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

    Rehearsal(Part part) {
        this.part = part;
    }

    /** @return why it failed, in words; null when it did not, or when there had been one */
    @Override
    public String invoke(File home, VirtualChannel channel) throws IOException {
        boolean due = part == Part.FREEZE ? BEGUN.compareAndSet(false, true) : TO_BE_DUMPED.compareAndSet(true, false);
        if (!due) {
            return null;
        }
        Path own = home.toPath().resolve(ID);
        Engine engine = Engine.open(own);
        if (part == Part.FREEZE && !engine.check().ok()) {
            BEGUN.set(false);
            return null;
        }
        boolean goesOn = false;
        try {
            if (part == Part.DUMP) {
                return dump(engine, own);
            }
            clear(engine);
            String failure = freeze(engine, own);
            goesOn = failure == null && engine.checkpoints();
            return failure;
        } catch (EngineException x) {
            return words(x.getMessage(), x.criuLines());
        } finally {
            if (!goesOn) {
                clear(engine);
            }
            TO_BE_DUMPED.set(goesOn);
        }
    }

    @CheckForNull
    private static String freeze(Engine engine, Path own) throws IOException {
        StageId id = StageId.create(ID);
        Path exchange = own.resolve("exchange");
        engine.start(new StageSpec(id, ID, own, List.of(), InEngine.sandboxEnvironment()));
        engine.enterCommand(id);
        new SuspendVerbs.Look(id.value()).act(engine, id, exchange);
        AgentStage.Freeze frozen = new SuspendVerbs.FreezeStage(
                        id.value(), List.of(own.resolve("durable-0000").toString()), 0)
                .act(engine, id, exchange);
        if (frozen.refusal() != null) {
            return words(frozen.refusal().sentence(), frozen.refusal().criuLines());
        }
        AgentStage.Restore thawed = new ResumeVerbs.ResumeHere(id.value()).act(engine, id, exchange);
        return thawed == null || thawed.refusal() == null
                ? null
                : words(thawed.refusal().sentence(), thawed.refusal().criuLines());
    }

    @CheckForNull
    private static String dump(Engine engine, Path own) throws IOException {
        Path image = own.resolve(AgentStage.IMAGE_FILE);
        try {
            ImageKey key = ImageKey.parse(ImageKey.generate().export());
            for (StageStatus started : engine.list()) {
                engine.freeze(started.id(), WAITED_FOR);
                engine.dump(started.id(), image, key, IfDumpFails.THAW);
                engine.commit(started.id());
                engine.resume(image, key);
            }
            return null;
        } finally {
            Files.deleteIfExists(image);
        }
    }

    private static String words(String sentence, List<String> criuLines) {
        return sentence + (criuLines.isEmpty() ? "" : " " + criuLines);
    }

    private static void clear(Engine engine) {
        for (StageStatus left : engine.list()) {
            engine.kill(left.id());
            engine.forget(left.id());
        }
    }
}
