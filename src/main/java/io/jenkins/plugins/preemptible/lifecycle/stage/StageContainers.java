package io.jenkins.plugins.preemptible.lifecycle.stage;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The containers in which durable tasks of a stage were launched, by the tasks' control folders, oldest first.
 *
 * <p>Immutable. In a stage's record it is a map of texts, which names no class of ours.
 */
public final class StageContainers {

    private static final String BETWEEN = " ";

    private final Map<String, ContainerRef> byFolder;

    private StageContainers(Map<String, ContainerRef> byFolder) {
        this.byFolder = byFolder;
    }

    /** Of a record; what is no container in it is left out. */
    static StageContainers of(Map<String, String> saved) {
        Map<String, ContainerRef> byFolder = new LinkedHashMap<>();
        saved.forEach((folder, text) -> {
            String[] words = String.valueOf(text).split(BETWEEN, 2);
            if (words.length == 2 && ContainerRef.isId(words[1])) {
                byFolder.put(folder, new ContainerRef(words[0].equals("podman") ? "podman" : "docker", words[1]));
            }
        });
        return new StageContainers(byFolder);
    }

    Map<String, String> saved() {
        Map<String, String> saved = new LinkedHashMap<>();
        byFolder.forEach((folder, container) -> saved.put(folder, container.program() + BETWEEN + container.id()));
        return saved;
    }

    /** What Jenkins gives to everything that the stage's build starts: a container without it is another build's. */
    public static List<String> marks(StageRecord stage) {
        return List.of(
                "JOB_NAME=" + stage.job(),
                "BUILD_NUMBER=" + stage.runId().substring(stage.runId().lastIndexOf('#') + 1));
    }

    /** @param most control folders that are kept, the newest */
    StageContainers with(ContainerRef container, String controlFolder, int most) {
        Map<String, ContainerRef> more = new LinkedHashMap<>(byFolder);
        more.remove(controlFolder);
        more.put(controlFolder, container);
        while (more.size() > most) {
            more.remove(more.keySet().iterator().next());
        }
        return new StageContainers(more);
    }

    StageContainers without(ContainerRef ended) {
        Map<String, ContainerRef> fewer = new LinkedHashMap<>(byFolder);
        fewer.values().removeIf(ended::equals);
        return new StageContainers(fewer);
    }

    /** Each once. */
    public List<ContainerRef> all() {
        return byFolder.values().stream().distinct().toList();
    }

    /** Those in which one of these tasks was launched. */
    public List<ContainerRef> of(List<String> controlFolders) {
        List<ContainerRef> found = new ArrayList<>();
        byFolder.forEach((folder, container) -> {
            if (controlFolders.contains(folder) && !found.contains(container)) {
                found.add(container);
            }
        });
        return found;
    }

    /** The newest control folder of a task in this container. */
    public Optional<String> folderIn(ContainerRef container) {
        return byFolder.entrySet().stream()
                .filter(entry -> entry.getValue().equals(container))
                .map(Map.Entry::getKey)
                .reduce((older, newer) -> newer);
    }
}
