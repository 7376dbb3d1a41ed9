package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jenkinsci.plugins.workflow.actions.ArgumentsAction;
import org.jenkinsci.plugins.workflow.cps.nodes.StepNode;
import org.jenkinsci.plugins.workflow.graph.BlockStartNode;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.StepDescriptor;

/**
 * The folder of {@code dir} blocks inside of a stage that has moved: such a block knows the agent on which it began.
 *
 * <p>Its folder is found anew by the blocks' arguments, on the agent that the stage is on now.
 */
final class MovedDirs {

    private static final String DIR = "dir";

    private MovedDirs() {}

    /**
     * @param workspace of the stage
     * @param stageBlock id of the stage's own block
     * @return null when a block of another kind provides the folder
     * @throws IOException when a block's argument was not kept, since it holds a secret
     */
    @CheckForNull
    static FilePath of(FilePath workspace, String stageBlock, FlowNode step) throws IOException {
        Deque<String> paths = new ArrayDeque<>();
        for (BlockStartNode around : step.getEnclosingBlocks()) {
            if (around.getId().equals(stageBlock)) {
                break;
            }
            StepDescriptor kind = around instanceof StepNode ? ((StepNode) around).getDescriptor() : null;
            if (kind == null
                    || !kind.getProvidedContext().contains(FilePath.class)
                    || around.getAction(org.jenkinsci.plugins.workflow.actions.BodyInvocationAction.class) != null) {
                continue;
            }
            if (!kind.getFunctionName().equals(DIR)) {
                return null;
            }
            Object path = ArgumentsAction.getArguments(around).get("path");
            if (!(path instanceof String)) {
                throw new IOException(
                        "The folder of a dir block is not known on the agent that the stage has moved to");
            }
            paths.push((String) path);
        }
        FilePath folder = workspace;
        for (String path : paths) {
            folder = folder.child(path);
        }
        return folder;
    }
}
