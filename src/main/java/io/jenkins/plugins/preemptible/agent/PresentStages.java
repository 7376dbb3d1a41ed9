package io.jenkins.plugins.preemptible.agent;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.model.Node;
import hudson.remoting.VirtualChannel;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.move.Luggage;
import java.io.File;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import jenkins.MasterToSlaveFileCallable;

/**
 * All stages below an agent's root folder, also those that other controllers began, and those of which only files were brought
 * there: an image, a part of one, or a workspace that was not unpacked to its end.
 *
 * @param stages unmodifiable, at most 1000 entries
 */
public record PresentStages(List<Present> stages) implements Serializable {

    private static final int MOST = 1000;

    public PresentStages {
        List<Present> understood = new ArrayList<>();
        Iterator<?> told = stages == null ? Collections.emptyIterator() : stages.iterator();
        // An agent may send a list of any size, of anything.
        for (int read = 0; read < MOST && told.hasNext(); read++) {
            if (told.next() instanceof Present present) {
                understood.add(present);
            }
        }
        stages = List.copyOf(understood);
    }

    /**
     * One of them.
     *
     * @param id of the form of {@link StageId}
     * @param origin null when the agent has none noted
     * @param began false where only files were brought
     */
    public record Present(String id, @CheckForNull StageOrigin origin, boolean began) implements Serializable {
        public Present {
            StageId.parse(Objects.requireNonNullElse(id, ""));
        }
    }

    /**
     * Asks the agent. Blocking, as {@link AgentStage} is.
     *
     * @throws IOException when the node is offline
     */
    public static PresentStages on(Node node) throws IOException, InterruptedException {
        FilePath home = AgentStage.homeOf(node);
        return Limited.required(Limited.act(home, PresentStages.class, new Listing()));
    }

    private static final class Listing extends MasterToSlaveFileCallable<PresentStages> {
        private static final long serialVersionUID = 1L;

        @Override
        public PresentStages invoke(File folder, VirtualChannel channel) {
            Path home = folder.toPath();
            List<StageId> began = Files.isDirectory(home.resolve("stages"))
                    ? Engine.open(home).list().stream().map(StageStatus::id).toList()
                    : List.of();
            List<Present> all = new ArrayList<>();
            began.forEach(id -> all.add(present(home, id, true)));
            StageOrigin.noted(home).stream()
                    .filter(id -> !began.contains(id))
                    .filter(id -> Files.isDirectory(InEngine.exchange(home, id)) || Luggage.isNoted(home, id))
                    .forEach(id -> all.add(present(home, id, false)));
            return new PresentStages(all);
        }

        private static Present present(Path home, StageId id, boolean began) {
            return new Present(id.value(), StageOrigin.read(home, id).orElse(null), began);
        }
    }
}
