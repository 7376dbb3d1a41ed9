package io.jenkins.plugins.preemptible.agent;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.image.Arrival;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * What agents do for a stage that moves, with the suspended stage of the {@link Rehearsal}: a trial of its image as on another host,
 * an image that is unpacked as it arrives, a workspace that is packed and unpacked.
 *
 * <p>It loads the classes for that and tells nothing: a move says itself what is wrong. Leaves nothing behind.
 */
final class MoveRehearsal {

    private static final Logger LOGGER = Logger.getLogger(MoveRehearsal.class.getName());

    private MoveRehearsal() {}

    /**
     * Rehearses it.
     *
     * @param agentHome the agent's own home folder
     * @param image of the stage, whole; stays as it is
     * @return whether there was nothing that stood against it
     */
    static boolean run(Engine engine, Path home, StageId id, Path agentHome, Path image, ImageKey key) {
        Path exchange = InEngine.exchange(home, id);
        Path workspace = home.resolve("workspace");
        try {
            HostTraits host = MoveVerbs.traits(agentHome, engine);
            if (!host.root()) {
                return false;
            }
            Files.writeString(Files.createDirectories(workspace).resolve("file"), "of a workspace");
            List<String> folders = List.of(workspace.toString());
            byte[] beginning = Files.readAllBytes(image);
            // It ends with the comparison: this is the very host.
            new TrialVerb(id.value(), beginning, folders, List.of(), host, -1, key.export()).act(engine, id, exchange);
            MovingStage.Tried tried = new TrialVerb(id.value(), beginning, folders, List.of(), null, -1, key.export())
                    .act(engine, id, exchange);
            engine.unpackAhead(image, key, new Arrival(Duration.ofSeconds(1)), () -> false);
            MovingStage.Packed packed = new MoveVerbs.Pack(id.value(), folders, List.of(), key.export(), Long.MAX_VALUE)
                    .act(engine, id, exchange);
            return packed.refusal() == null
                    && new MoveVerbs.Unpack(id.value(), folders, key.export()).act(engine, id, exchange) == null
                    && !tried.refuses();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, "a move cannot be rehearsed", x);
            return false;
        } finally {
            clear(engine, id, exchange, workspace, image);
        }
    }

    private static void clear(Engine engine, StageId id, Path exchange, Path workspace, Path image) {
        try {
            engine.dropUnpacked(image);
            InEngine.removeExchange(engine, exchange);
            InEngine.forget(InEngine.homeOf(exchange), id);
            PrivateFolder.remove(workspace);
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "a rehearsal has left something in " + exchange + " or " + workspace);
        }
    }
}
