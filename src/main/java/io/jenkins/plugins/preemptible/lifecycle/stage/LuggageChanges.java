package io.jenkins.plugins.preemptible.lifecycle.stage;

import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import java.util.ArrayList;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** What changes of a stage's sealed workspace, and of the hosts that it has left; as {@link StageChanges}. */
public final class LuggageChanges {

    private LuggageChanges() {}

    /** Of a stage with a sealed image: whether its agent has answered that no process of it is left there. */
    public static Consumer<StageRecord> treeEnded(boolean ended) {
        return stage -> stage.luggage = stage.luggage == null ? null : stage.luggage.withTreeEnded(ended);
    }

    /** Nothing of it is left on the host with that token. */
    public static Consumer<StageRecord> cleanedOn(String token) {
        return stage -> stage.leftHosts = stage.leftHosts().stream()
                .filter(left -> !left.equals(token))
                .collect(Collectors.toCollection(ArrayList::new));
    }

    /** Notes what may be left on its host, since it goes to another one. */
    static void leaves(StageRecord stage) {
        HostTraits host = stage.luggage == null ? null : stage.luggage.host();
        if (host != null && !host.token().isEmpty()) {
            stage.leftHosts = new ArrayList<>(stage.leftHosts());
            stage.leftHosts.add(host.token());
        }
    }
}
