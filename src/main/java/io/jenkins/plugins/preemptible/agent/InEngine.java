package io.jenkins.plugins.preemptible.agent;

import hudson.remoting.VirtualChannel;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.move.Luggage;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.MasterToSlaveFileCallable;

/**
 * One verb of {@link AgentStage}, carried out on the agent.
 *
 * <ol>
 *   <li>It travels with the stage's id and opens the engine of the agent's home folder.
 *   <li>The stage's exchange folder is where its sealed image comes and goes.
 *   <li>What it answers must be serializable and is only shown and stored by the controller.
 * </ol>
 */
abstract class InEngine<T> extends MasterToSlaveFileCallable<T> {

    private static final long serialVersionUID = 1L;

    private static final Logger LOGGER = Logger.getLogger(InEngine.class.getName());

    private final String id;

    InEngine(String id) {
        this.id = id;
    }

    @Override
    public T invoke(File home, VirtualChannel channel) throws IOException {
        Engine engine;
        try {
            engine = Engine.open(home.toPath());
        } catch (EngineException x) {
            return withoutEngine(x);
        }
        StageId stage = StageId.parse(id);
        return act(engine, stage, exchange(home.toPath(), stage));
    }

    /** What is answered when nothing can be told of any stage here; else the caller takes the agent for one that is away. */
    T withoutEngine(EngineException why) {
        throw why;
    }

    /** Where a stage's sealed image comes and goes. */
    static Path exchange(Path home, StageId id) {
        return home.resolve("exchange").resolve(id.value());
    }

    /** The home folder that an exchange folder is in. */
    static Path homeOf(Path exchange) {
        return Objects.requireNonNull(exchange.getParent()).getParent();
    }

    abstract T act(Engine engine, StageId stage, Path exchange) throws IOException;

    /** The state of this stage alone: another one's trouble is no reason to fail here. Empty when it is unknown. */
    static Optional<StageStatus.State> state(Engine engine, StageId stage) {
        try {
            return Optional.of(engine.status(stage).state());
        } catch (EngineException x) {
            if (x.reason() == FailureReason.UNKNOWN_STAGE) {
                return Optional.empty();
            }
            throw x;
        }
    }

    /** Whether the suspended stage has its last image there. */
    static boolean isSealedInto(Path archive, Engine engine, StageId stage) {
        return archive.equals(engine.status(stage).archive()) && Files.isRegularFile(archive);
    }

    /** Removes what came or was to go, and what was made of it. */
    static void removeExchange(Engine engine, Path exchange) throws IOException {
        engine.dropUnpacked(exchange.resolve(AgentStage.IMAGE_FILE));
        PrivateFolder.remove(exchange);
    }

    static void remove(Engine engine, StageId stage) {
        if (state(engine, stage).isPresent()) {
            engine.kill(stage);
            engine.forget(stage);
        }
    }

    /**
     * Has removed what an unpacking of its workspace that was cut off has left hidden, and then the note of its origin. Until
     * then {@link PresentStages} tells of it; nobody waits for it, as it may be large, or cannot be deleted.
     */
    static void forget(Path home, StageId stage) {
        Luggage.removeHidden(home, stage, () -> {
            try {
                StageOrigin.remove(home, stage);
            } catch (IOException x) {
                LOGGER.log(Level.WARNING, x, () -> "cannot forget who has begun " + stage);
            }
        });
    }

    static boolean is(StageStatus.State wanted, Optional<StageStatus.State> state) {
        return state.filter(wanted::equals).isPresent();
    }

    /** The init needs a PATH and nothing else; the agent's own environment may hold secrets. */
    static Map<String, String> sandboxEnvironment() {
        String path = System.getenv("PATH");
        return path == null ? Map.of() : Map.of("PATH", path);
    }
}
