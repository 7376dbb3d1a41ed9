package io.jenkins.plugins.preemptible.agent;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.model.Node;
import hudson.remoting.VirtualChannel;
import io.jenkins.plugins.preemptible.engine.Checkpoint;
import io.jenkins.plugins.preemptible.engine.DumpGuard;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.EngineException;
import io.jenkins.plugins.preemptible.engine.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.ResumeReport;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.HostReport;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageSpec;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import jenkins.MasterToSlaveFileCallable;

/**
 * One stage on its agent, as the controller sees it.
 *
 * <ol>
 *   <li>Every verb is one callable into the agent, where {@link Engine} does the work below {@code preemptible/} in
 *       the agent's root folder.
 *   <li>Refusals of the engine come back as values in an outcome, in words for people; only a lost connection throws.
 *   <li>What the agent answers is shown and stored, never trusted: nothing of it becomes a path, a command or a class
 *       on the controller. (The enter command goes back to the agent it came from.)
 * </ol>
 *
 * Blocking: call it on a thread of {@link io.jenkins.plugins.preemptible.lifecycle.StageThreads} or an executor, never
 * under the queue's lock and never on a Pipeline's own thread.
 */
public final class AgentStage {

    /** The name of a stage's sealed image inside its exchange folder on the agent. */
    public static final String IMAGE_FILE = "image.preempt";

    private final FilePath home;
    private final StageId id;

    private AgentStage(FilePath home, StageId id) {
        this.home = home;
        this.id = id;
    }

    /**
     * @throws IOException when the node is offline
     */
    public static AgentStage on(Node node, String id) throws IOException {
        FilePath root = node == null ? null : node.getRootPath();
        if (root == null) {
            throw new IOException("the agent" + (node == null ? "" : " " + node.getDisplayName()) + " is offline");
        }
        return new AgentStage(root.child("preemptible"), StageId.parse(id));
    }

    /** The folder through which the sealed image travels; it exists after {@link #dump} or {@link #prepareExchange}. */
    public FilePath exchange() {
        return home.child("exchange").child(id.value());
    }

    /** Makes the stage's sandbox, or says why this host cannot. */
    public Sandbox open(FilePath workspace, String name) throws IOException, InterruptedException {
        return home.act(new Open(id.value(), name, workspace.getRemote()));
    }

    /**
     * Lets the agent load what suspending and resuming need, once for each connection.
     *
     * @return why the rehearsal failed, in words, or null
     */
    public String rehearse() throws IOException, InterruptedException {
        return home.act(new Rehearsal());
    }

    /**
     * Freezes, dumps and seals; the tree is frozen afterwards and waits for {@link #commit} or {@link #thaw}.
     *
     * @param controlFolders absolute paths of the durable tasks in flight: one that has its result already stops the
     *     dump, since its step is about to go on
     */
    public Dump dump(String key, List<String> controlFolders) throws IOException, InterruptedException {
        return home.act(new DumpStage(id.value(), key, controlFolders));
    }

    /**
     * Kills the frozen tree, once its image is safe.
     *
     * @return why it was not killed but goes on, in words; null when it was killed
     */
    @CheckForNull
    public String commit() throws IOException, InterruptedException {
        return home.act(new Commit(id.value()));
    }

    /** Lets the frozen tree go on and drops its image; harmless when it is not frozen. */
    public void thaw() throws IOException, InterruptedException {
        home.act(new Thaw(id.value()));
    }

    /** Makes the exchange folder, readable by the agent's user only. */
    public FilePath prepareExchange() throws IOException, InterruptedException {
        FilePath exchange = exchange();
        exchange.mkdirs();
        exchange.chmod(0700);
        return exchange;
    }

    /** Restores the image in the exchange folder, and removes that file when the stage runs again. */
    public Restore restore(String key) throws IOException, InterruptedException {
        return home.act(new RestoreStage(id.value(), key));
    }

    /** Kills whatever is left of the stage, running or frozen, and forgets it. */
    public void remove() throws IOException, InterruptedException {
        home.act(new Remove(id.value()));
    }

    /** What {@link #open} answers. Exactly one of the two is null. */
    public record Sandbox(List<String> enterCommand, String refusal) implements java.io.Serializable {}

    /** What {@link #dump} answers; {@code refusal} is null on success, else a sentence for people. */
    public record Dump(
            String refusal,
            String reason,
            List<String> criuLines,
            long frozenMillis,
            long dumpMillis,
            long archiveMillis,
            long imageBytes,
            long archiveBytes,
            int processes)
            implements java.io.Serializable {}

    /** What {@link #restore} answers; {@code refusal} is null on success, else a sentence for people. */
    public record Restore(
            String refusal,
            List<String> criuLines,
            List<String> enterCommand,
            long unpackMillis,
            long restoreMillis,
            int processes)
            implements java.io.Serializable {}

    private abstract static class InEngine<T> extends MasterToSlaveFileCallable<T> {
        private static final long serialVersionUID = 1L;
        final String id;

        InEngine(String id) {
            this.id = id;
        }

        @Override
        public T invoke(File home, VirtualChannel channel) throws IOException {
            return act(Engine.open(home.toPath()), StageId.parse(id), home.toPath().resolve("exchange").resolve(id));
        }

        abstract T act(Engine engine, StageId stage, Path exchange) throws IOException;
    }

    private static final class Open extends InEngine<Sandbox> {
        private static final long serialVersionUID = 1L;
        private final String name;
        private final String workspace;

        Open(String id, String name, String workspace) {
            super(id);
            this.name = name;
            this.workspace = workspace;
        }

        @Override
        Sandbox act(Engine engine, StageId stage, Path exchange) {
            HostReport report = engine.check();
            if (!report.ok()) {
                String missing = report.items().stream()
                        .filter(item -> !item.ok())
                        .map(item -> item.name() + ": " + item.detail()
                                + (item.remedy().isBlank() ? "" : " (remedy: " + item.remedy() + ")"))
                        .collect(Collectors.joining("; "));
                return new Sandbox(null, missing);
            }
            try {
                engine.start(new StageSpec(stage, name, Path.of(workspace), List.of(), sandboxEnvironment()));
                return new Sandbox(List.copyOf(engine.enterCommand(stage)), null);
            } catch (EngineException x) {
                return new Sandbox(null, x.getMessage());
            }
        }
    }

    private static final class DumpStage extends InEngine<Dump> {
        private static final long serialVersionUID = 1L;
        private final String key;
        private final List<String> controlFolders;

        DumpStage(String id, String key, List<String> controlFolders) {
            super(id);
            this.key = key;
            this.controlFolders = List.copyOf(controlFolders);
        }

        @Override
        Dump act(Engine engine, StageId stage, Path exchange) throws IOException {
            Path archive = PrivateFolder.make(exchange).resolve(IMAGE_FILE);
            DumpGuard guard = frozen -> DurableTasks.finishedOne(controlFolders)
                    .map(folder -> "a step of it has just ended, " + folder + " has its result");
            try {
                engine.freeze(stage, new FreezeRequest(guard, FreezeRequest.DEFAULT_MEMORY_FLOOR));
                Checkpoint done = engine.dump(stage, archive, ImageKey.parse(key), IfDumpFails.THAW);
                return new Dump(
                        null,
                        null,
                        List.of(),
                        done.frozenMillis(),
                        done.dumpMillis(),
                        done.archiveMillis(),
                        done.imageBytes(),
                        done.archiveBytes(),
                        done.processes());
            } catch (EngineException x) {
                PrivateFolder.remove(exchange);
                return new Dump(
                        x.getMessage(), x.reason().name(), List.copyOf(x.criuLines()), 0, 0, 0, 0, 0, 0);
            }
        }
    }

    private static final class Commit extends InEngine<String> {
        private static final long serialVersionUID = 1L;

        Commit(String id) {
            super(id);
        }

        @Override
        String act(Engine engine, StageId stage, Path exchange) throws IOException {
            try {
                engine.commit(stage);
                return null;
            } catch (EngineException x) {
                if (find(engine, stage).map(StageStatus::state).filter(StageStatus.State.RUNNING::equals).isPresent()) {
                    return x.getMessage();
                }
                throw x;
            } finally {
                PrivateFolder.remove(exchange);
            }
        }
    }

    private static final class Thaw extends InEngine<Void> {
        private static final long serialVersionUID = 1L;

        Thaw(String id) {
            super(id);
        }

        @Override
        Void act(Engine engine, StageId stage, Path exchange) throws IOException {
            if (find(engine, stage).map(StageStatus::state).filter(StageStatus.State.SUSPENDING::equals).isPresent()) {
                engine.thaw(stage);
            }
            PrivateFolder.remove(exchange);
            return null;
        }
    }

    private static final class RestoreStage extends InEngine<Restore> {
        private static final long serialVersionUID = 1L;
        private final String key;

        RestoreStage(String id, String key) {
            super(id);
            this.key = key;
        }

        @Override
        Restore act(Engine engine, StageId stage, Path exchange) throws IOException {
            try {
                Optional<StageStatus.State> now = find(engine, stage).map(StageStatus::state);
                if (now.filter(StageStatus.State.RUNNING::equals).isPresent()) {
                    // An earlier restore came through, but its answer did not reach the controller.
                    return new Restore(null, List.of(), List.copyOf(engine.enterCommand(stage)), 0, 0, 0);
                }
                if (now.filter(StageStatus.State.SUSPENDING::equals).isPresent()) {
                    // The kill that was due when the image was safe did not get through.
                    engine.commit(stage);
                }
                ResumeReport done = engine.resume(exchange.resolve(IMAGE_FILE), ImageKey.parse(key));
                return new Restore(
                        null,
                        List.of(),
                        List.copyOf(engine.enterCommand(stage)),
                        done.unpackMillis(),
                        done.restoreMillis(),
                        done.processes());
            } catch (EngineException x) {
                return new Restore(x.getMessage(), List.copyOf(x.criuLines()), null, 0, 0, 0);
            } finally {
                PrivateFolder.remove(exchange);
            }
        }
    }

    private static final class Remove extends InEngine<Void> {
        private static final long serialVersionUID = 1L;

        Remove(String id) {
            super(id);
        }

        @Override
        Void act(Engine engine, StageId stage, Path exchange) throws IOException {
            PrivateFolder.remove(exchange);
            Optional<StageStatus> known = find(engine, stage);
            if (known.isPresent()) {
                engine.kill(stage);
                engine.forget(stage);
            }
            return null;
        }
    }

    /** The init needs a PATH and nothing else; the agent's own environment may hold secrets. */
    static Map<String, String> sandboxEnvironment() {
        String path = System.getenv("PATH");
        return path == null ? Map.of() : Map.of("PATH", path);
    }

    /** Of this stage alone: another one's trouble is no reason to fail here. */
    private static Optional<StageStatus> find(Engine engine, StageId stage) {
        try {
            return Optional.of(engine.status(stage));
        } catch (EngineException x) {
            if (x.reason() == FailureReason.UNKNOWN_STAGE) {
                return Optional.empty();
            }
            throw x;
        }
    }
}
