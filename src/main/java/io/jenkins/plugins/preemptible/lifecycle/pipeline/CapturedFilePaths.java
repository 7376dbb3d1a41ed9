package io.jenkins.plugins.preemptible.lifecycle.pipeline;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.model.Computer;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jenkinsci.plugins.workflow.cps.CpsFlowExecution;
import org.jenkinsci.plugins.workflow.cps.CpsThreadGroup;
import org.jenkinsci.plugins.workflow.flow.FlowExecution;
import org.jenkinsci.plugins.workflow.pickles.Pickle;
import org.jenkinsci.plugins.workflow.pickles.PickleFactory;
import org.jenkinsci.plugins.workflow.support.pickles.serialization.RiverWriter;

/**
 * The folders of a stage's agent that its Pipeline keeps: in variables, or as the context of a plugin's block.
 *
 * <p>After a move each would still be one of the old agent, without a word. Steps of Pipeline itself keep none.
 *
 * <ol>
 *   <li>The program is written as Pipeline writes it for a restart of the controller, to a file that nobody reads; each object
 *       that is not plain data is seen on the way.
 *   <li>A program that cannot be written, which Pipeline accepts where it is to be saved at the end only, is not known: a stage
 *       of it does not move.
 *   <li>Normally in the thread of the Pipeline, where nothing of the program changes meanwhile.
 * </ol>
 *
 * Read in workflow-cps 4331: {@code CpsThreadGroup.saveProgram}, which ends a build whose program cannot be written.
 */
final class CapturedFilePaths {

    private static final long LONGEST_WAIT_SECONDS = 20;

    private CapturedFilePaths() {}

    /**
     * Takes about as long as one step's save of the program.
     *
     * @return null where there is none
     * @throws IOException when the Pipeline does not answer
     */
    @CheckForNull
    static Misfit obstacle(LiveStage live) throws IOException, InterruptedException {
        FlowExecution execution = live.context().get(FlowExecution.class);
        StageRecord stage = StageRegistry.get().find(live.id());
        if (!(execution instanceof CpsFlowExecution pipeline) || pipeline.programPromise == null || stage == null) {
            return null;
        }
        CompletableFuture<Misfit> answer = new CompletableFuture<>();
        pipeline.getCurrentExecutions(true)
                .addListener(() -> answer.complete(search(pipeline, stage.node())), Runnable::run);
        try {
            return answer.get(LONGEST_WAIT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException x) {
            throw new IOException("the Pipeline does not say which folders it keeps", x);
        }
    }

    @CheckForNull
    private static Misfit search(CpsFlowExecution pipeline, String agent) {
        Finder finder = new Finder(agent);
        List<PickleFactory> factories = new ArrayList<>(List.of(finder));
        factories.addAll(PickleFactory.all());
        try {
            CpsThreadGroup program = pipeline.programPromise.get(LONGEST_WAIT_SECONDS, TimeUnit.SECONDS);
            File written = Files.createTempFile("preemptible-program", null).toFile();
            try (RiverWriter writer = new RiverWriter(written, pipeline.getOwner(), factories)) {
                writer.writeObject(program);
            } finally {
                Files.deleteIfExists(written.toPath());
            }
        } catch (IOException
                | ExecutionException
                | TimeoutException
                | RuntimeException
                | StackOverflowError
                | LinkageError x) {
            // In the Pipeline's thread an error would end the build.
            return new Misfit(MoveObstacle.CAPTURED_FILE_PATH, "its program cannot be searched: " + x);
        } catch (InterruptedException x) {
            Thread.currentThread().interrupt();
            return new Misfit(MoveObstacle.CAPTURED_FILE_PATH, "its program could not be searched");
        }
        return finder.found == null ? null : new Misfit(MoveObstacle.CAPTURED_FILE_PATH, finder.found);
    }

    /** Pickles nothing. */
    private static final class Finder extends PickleFactory {
        private final String agent;
        private String found;

        Finder(String agent) {
            this.agent = agent;
        }

        @Override
        public Pickle writeReplace(Object object) {
            if (object instanceof FilePath path && isThere(path)) {
                found = path.getRemote();
            }
            return null;
        }

        // One of a connection that has ended fails at its next use, move or not.
        private boolean isThere(FilePath path) {
            Computer computer = path.toComputer();
            return computer != null && computer.getName().equals(agent);
        }
    }
}
