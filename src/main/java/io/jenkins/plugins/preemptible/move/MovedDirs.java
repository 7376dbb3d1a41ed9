package io.jenkins.plugins.preemptible.move;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.remoting.VirtualChannel;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsInFlight;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jenkinsci.plugins.workflow.actions.ArgumentsAction;
import org.jenkinsci.plugins.workflow.cps.nodes.StepNode;
import org.jenkinsci.plugins.workflow.graph.BlockStartNode;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.StepDescriptor;
import org.jenkinsci.plugins.workflow.steps.StepExecution;

/**
 * The folder of {@code dir} blocks inside of a stage that has moved: such a block knows the agent on which it began.
 *
 * <p>Its folder is found anew by the blocks' arguments, on the agent that the stage is on now.
 */
public final class MovedDirs {

    private static final String DIR = "dir";

    private MovedDirs() {}

    /**
     * @param workspace of the stage
     * @param stageBlock id of the stage's own block
     * @return null when a block of another kind provides the folder
     * @throws IOException when a block's argument was not kept, since it holds a secret
     */
    @CheckForNull
    public static FilePath of(FilePath workspace, String stageBlock, FlowNode step) throws IOException {
        List<FilePath> open = open(workspace, stageBlock, step);
        return open.isEmpty() ? null : open.get(open.size() - 1);
    }

    /**
     * The temporary folders of a stage: the one beside its workspace, and those beside the folders of open {@code dir} blocks
     * in the workspace. Pipeline keeps scripts, logs and files of {@code withCredentials} in them.
     */
    static List<String> temporaryFolders(LiveStage live, StageRecord stage) throws IOException, InterruptedException {
        FilePath workspace = new FilePath((VirtualChannel) null, stage.workspace());
        FlowNode block = live.context().get(FlowNode.class);
        Set<FilePath> folders = new LinkedHashSet<>(List.of(workspace));
        for (StepExecution step : StepsInFlight.executions(live)) {
            FlowNode node = step.getContext().get(FlowNode.class);
            folders.addAll(block == null || node == null ? List.of() : open(workspace, block.getId(), node));
        }
        List<String> temporary = new ArrayList<>();
        for (FilePath folder : folders) {
            FilePath beside = WorkspaceList.tempDir(folder);
            boolean ours = folder == workspace || folder.getRemote().startsWith(workspace.getRemote() + "/");
            if (beside != null && ours) {
                temporary.add(beside.getRemote());
            }
        }
        return temporary;
    }

    /** @return the workspace and the folders, the innermost last; empty when a block of another kind provides one */
    private static List<FilePath> open(FilePath workspace, String stageBlock, FlowNode step) throws IOException {
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
                return List.of();
            }
            Object path = ArgumentsAction.getArguments(around).get("path");
            if (!(path instanceof String)) {
                throw new IOException(
                        "The folder of a dir block is not known on the agent that the stage has moved to");
            }
            paths.push((String) path);
        }
        List<FilePath> open = new ArrayList<>(List.of(workspace));
        for (String path : paths) {
            open.add(open.get(open.size() - 1).child(path));
        }
        return open;
    }
}
