package io.jenkins.plugins.preemptible.agent;

import hudson.remoting.VirtualChannel;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.image.Arrival;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import io.jenkins.plugins.preemptible.engine.move.HostFit;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.engine.move.Luggage;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.move.MoveExcludes;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.engine.move.MoveRefusedException;
import io.jenkins.plugins.preemptible.engine.move.StageNeeds;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.MasterToSlaveFileCallable;

/** The verbs of {@link MovingStage}, carried out on the agent. */
final class MoveVerbs {

    /** Below the stage's exchange folder: another archive of the same file name. */
    static final String LUGGAGE = "luggage";

    /** Longer than any piece of an image may take that is being brought. */
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    /** One for all verbs of an agent's process: {@code criu check} takes its time. */
    static final CriuSearch INSTALLED = new CriuSearch();

    private static final Logger LOGGER = Logger.getLogger(MoveVerbs.class.getName());

    private static final StageNeeds NOTHING = new StageNeeds(-1, -1, Map.of());

    private MoveVerbs() {}

    private static HostTraits traits(Path home, Engine engine, StageNeeds needs) throws IOException {
        return HostTraits.read(
                home,
                engine.checkpoints() ? INSTALLED : null,
                needs.buildIds().keySet(),
                needs.users().keySet());
    }

    static HostTraits traits(Path home, Engine engine) throws IOException {
        return traits(home, engine, NOTHING);
    }

    static List<Path> paths(List<String> folders) {
        return folders.stream().map(Path::of).toList();
    }

    /** The worst; null when there is none. */
    static Misfit misfit(Path home, Engine engine, HostTraits own, StageNeeds needs) throws IOException {
        return HostFit.misfits(own, traits(home, engine, needs), needs).stream()
                .findFirst()
                .orElse(null);
    }

    static final class Describe extends MasterToSlaveFileCallable<HostTraits> {
        private static final long serialVersionUID = 1L;

        @Override
        public HostTraits invoke(File home, VirtualChannel channel) throws IOException {
            return traits(home.toPath(), Engine.open(home.toPath()));
        }
    }

    static final class Pack extends InEngine<MovingStage.Packed> {
        private static final long serialVersionUID = 1L;
        /** What touches a log meanwhile is the controller itself, once a minute. */
        private static final int MOST_ATTEMPTS = 3;

        private final List<String> folders;
        private final List<String> excludes;
        private final String key;
        private final long mostBytes;

        Pack(String id, List<String> folders, List<String> excludes, String key, long mostBytes) {
            super(id);
            this.folders = folders;
            this.excludes = excludes;
            this.key = key;
            this.mostBytes = mostBytes;
        }

        @Override
        MovingStage.Packed act(Engine engine, StageId stage, Path exchange) throws IOException {
            HostTraits host = traits(homeOf(exchange), engine);
            if (!host.root() || host.token().isEmpty()) {
                return refused(Misfit.of(MoveObstacle.NOT_ROOT));
            }
            PrivateFolder.make(exchange);
            Path archive = PrivateFolder.make(exchange.resolve(LUGGAGE)).resolve(AgentStage.IMAGE_FILE);
            MoveRefusedException last = null;
            for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
                try {
                    Luggage.Packed packed = Luggage.pack(
                            stage, paths(folders), MoveExcludes.of(excludes), archive, ImageKey.parse(key), mostBytes);
                    return new MovingStage.Packed(null, packed.contentBytes(), packed.archiveBytes(), host);
                } catch (MoveRefusedException x) {
                    last = x;
                }
            }
            return refused(last.misfit());
        }

        private static MovingStage.Packed refused(Misfit why) {
            return new MovingStage.Packed(why, 0, 0, null);
        }
    }

    static final class DropLuggage extends InEngine<Void> {
        private static final long serialVersionUID = 1L;

        DropLuggage(String id) {
            super(id);
        }

        @Override
        Void act(Engine engine, StageId stage, Path exchange) throws IOException {
            PrivateFolder.remove(exchange.resolve(LUGGAGE));
            return null;
        }
    }

    static final class Prepare extends InEngine<Void> {
        private static final long serialVersionUID = 1L;
        private final StageOrigin origin;

        Prepare(String id, StageOrigin origin) {
            super(id);
            this.origin = origin;
        }

        @Override
        Void act(Engine engine, StageId stage, Path exchange) throws IOException {
            // Of an earlier suspension: its image would be taken for that of this one.
            removeExchange(engine, exchange);
            remove(engine, stage);
            // The note of its origin is written next.
            Luggage.removeHidden(homeOf(exchange), stage, () -> {});
            makeExchange(exchange, stage, origin);
            return null;
        }
    }

    private static void makeExchange(Path exchange, StageId stage, StageOrigin origin) throws IOException {
        PrivateFolder.make(exchange);
        PrivateFolder.make(exchange.resolve(LUGGAGE));
        origin.write(InEngine.homeOf(exchange), stage);
    }

    /** The same where nothing of the stage is: else it may be its own agent under another name. */
    static final class PrepareEmpty extends InEngine<Boolean> {
        private static final long serialVersionUID = 1L;
        private final StageOrigin origin;

        PrepareEmpty(String id, StageOrigin origin) {
            super(id);
            this.origin = origin;
        }

        @Override
        Boolean act(Engine engine, StageId stage, Path exchange) throws IOException {
            boolean empty = !Files.exists(exchange, LinkOption.NOFOLLOW_LINKS)
                    && state(engine, stage).isEmpty()
                    && !StageOrigin.noted(homeOf(exchange)).contains(stage);
            if (empty) {
                makeExchange(exchange, stage, origin);
            }
            return empty;
        }
    }

    static final class Compare extends InEngine<Misfit> {
        private static final long serialVersionUID = 1L;
        private final HostTraits own;
        private final long memoryBytes;
        private final List<String> workspace;
        private final boolean arriving;
        private final String key;

        /** @param arriving see {@link MovingStage#misfit} */
        Compare(String id, HostTraits own, long memoryBytes, List<String> workspace, boolean arriving, String key) {
            super(id);
            this.arriving = arriving;
            this.own = own;
            this.memoryBytes = memoryBytes;
            this.workspace = workspace;
            this.key = key;
        }

        @Override
        Misfit act(Engine engine, StageId stage, Path exchange) throws IOException {
            Path image = exchange.resolve(AgentStage.IMAGE_FILE);
            ReadRequest request = ReadRequest.of(image, ImageKey.parse(key));
            if (arriving) {
                Arrival arrival = new Arrival(PATIENCE);
                arrival.begin(image, () -> !Files.exists(exchange));
                request = request.arriving(arrival);
            }
            StageNeeds needs = StageNeeds.of(ImageArchive.manifestOf(request), memoryBytes, paths(workspace));
            return misfit(homeOf(exchange), engine, own, arriving ? needs.withoutDisk() : needs);
        }
    }

    /** Answers whether that has been done when the image is there. */
    static final class UnpackAhead extends InEngine<Boolean> {
        private static final long serialVersionUID = 1L;

        private final String key;

        UnpackAhead(String id, String key) {
            super(id);
            this.key = key;
        }

        @Override
        Boolean act(Engine engine, StageId stage, Path exchange) {
            Path image = exchange.resolve(AgentStage.IMAGE_FILE);
            try {
                engine.unpackAhead(image, ImageKey.parse(key), new Arrival(PATIENCE), () -> !Files.exists(exchange));
                return true;
            } catch (IOException | RuntimeException x) {
                LOGGER.log(Level.FINE, x, () -> "the image of " + stage + " is unpacked when it is restored");
                return false;
            }
        }
    }

    static final class Unpack extends InEngine<Misfit> {
        private static final long serialVersionUID = 1L;
        private final List<String> folders;
        private final String key;

        Unpack(String id, List<String> folders, String key) {
            super(id);
            this.folders = folders;
            this.key = key;
        }

        @Override
        Misfit act(Engine engine, StageId stage, Path exchange) throws IOException {
            Path luggage = exchange.resolve(LUGGAGE);
            try {
                Luggage.unpack(
                        homeOf(exchange),
                        stage,
                        paths(folders),
                        luggage.resolve(AgentStage.IMAGE_FILE),
                        ImageKey.parse(key),
                        luggage.resolve("unpacked"));
                return null;
            } catch (MoveRefusedException x) {
                return x.misfit();
            } finally {
                PrivateFolder.remove(luggage);
            }
        }
    }

    static final class Leave extends InEngine<Void> {
        private static final long serialVersionUID = 1L;
        private final List<String> temporary;

        Leave(String id, List<String> temporary) {
            super(id);
            this.temporary = temporary;
        }

        @Override
        Void act(Engine engine, StageId stage, Path exchange) throws IOException {
            removeExchange(engine, exchange);
            remove(engine, stage);
            forget(homeOf(exchange), stage);
            for (Path folder : paths(temporary)) {
                if (Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
                    PrivateFolder.remove(folder);
                }
            }
            return null;
        }
    }
}
