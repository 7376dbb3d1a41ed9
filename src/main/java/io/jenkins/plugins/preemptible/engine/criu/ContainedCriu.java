package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.JoinFiles;
import io.jenkins.plugins.preemptible.engine.stage.ContainedProgram;
import io.jenkins.plugins.preemptible.engine.stage.StageContainer;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.text.Script;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * The CRIU of a stage that lives in a container.
 *
 * <ol>
 *   <li>It dumps from the host's own mounts and process ids, and from the container's network and host name: those are not the
 *       stage's, and are neither dumped nor made again.
 *   <li>It restores from inside of the container's process ids, in a copy of the host's mounts with the container's beside them,
 *       so it needs nothing of the container's programs. Nothing that runs for that sees this process's environment.
 *   <li>When all is restored and nothing of it runs yet, the caller is asked whether it may.
 *   <li>No packet filter of the host reaches the container's network: connections inside of the stage have to be idle.
 * </ol>
 */
final class ContainedCriu extends Criu {

    private final StageContainer container;
    private final RestoreCheck check;

    ContainedCriu(Path program, StageContainer container, RestoreCheck check) {
        super(program);
        this.container = container;
        this.check = check;
    }

    @Override
    List<String> dumpPrefix(StageFolder folder) throws IOException {
        List<String> words = new ArrayList<>(List.of(
                tool("nsenter"), "--target", Long.toString(container.first().pid()), "--net", "--uts"));
        if (Files.exists(Path.of("/proc/self/ns/cgroup"))) {
            words.add("--cgroup");
        }
        words.add("--");
        return words;
    }

    @Override
    ConnectionLock lock(List<TcpEnds> connections) {
        return ConnectionLock.of(List.of());
    }

    @Override
    CriuGate restoreGate(StageFolder folder) throws IOException {
        Path gate = folder.path().resolve("restore-gate");
        // One whose process died has left it.
        StageFolder.delete(gate);
        return CriuGate.ofRestore(gate).orElse(null);
    }

    @Override
    void requireRestored() throws IOException {
        check.require();
    }

    @Override
    Launch restoreLaunch(StageFolder folder, Freezer freezer, List<String> hostMounts, Path running, Path pidFile)
            throws CriuException, IOException {
        if (!container.runs()) {
            throw new CriuException(FailureReason.CONTAINER_GONE, List.of());
        }
        Path mounts = Files.createDirectories(folder.path().resolve("container"));
        List<String> words = new ArrayList<>(ContainedProgram.counted(JoinFiles.of(container.first(), freezer).stream()
                .map(Path::toString)
                .toList()));
        words.addAll(ContainedProgram.counted(hostMounts));
        words.addAll(List.of(
                folder.root().toString(),
                mounts.toString(),
                Script.text(Criu.class, "restored.sh"),
                running.toString(),
                pidFile.toString()));
        List<String> command = new ArrayList<>(List.of(tool("setsid")));
        Map<String, String> environment = new TreeMap<>();
        CriuRun.useForRestore(environment, folder.logs());
        command.addAll(ContainedProgram.ofThisHost().call(environment, "restore", container.first(), words));
        return new Launch(
                command,
                IntStream.range(0, hostMounts.size())
                        .mapToObj(number ->
                                mounts.resolve(Integer.toString(number)).toString())
                        .toList(),
                true);
    }
}
