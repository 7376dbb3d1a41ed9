package io.jenkins.plugins.preemptible.agent;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * One stage of which checkpoints are made while it runs.
 *
 * <ol>
 *   <li>{@link #take} leaves two sealed archives on the agent, the processes' and the files'; the controller reads them
 *       piece by piece and counts; {@link #drop} removes them.
 *   <li>A refusal comes back as a value; only a connection that is lost throws.
 * </ol>
 *
 * Blocking, as {@link AgentStage} is.
 */
public final class CheckpointedStage {

    private final FilePath home;
    private final StageId id;

    private CheckpointedStage(FilePath home, StageId id) {
        this.home = home;
        this.id = id;
    }

    /** @throws IOException when the node is offline */
    public static CheckpointedStage on(Node node, String id) throws IOException {
        return new CheckpointedStage(AgentStage.homeOf(node), StageId.parse(id));
    }

    /**
     * What {@link #take} answers.
     *
     * @param refusal null on success
     * @param stopMillis for how long the stage stood still
     * @param imageDiffers whether the image refers to its base; likewise of the files
     * @param wholeWhy why it stood still until all of its memory was written, a sentence without a final stop; null when it
     *     did not, or has little memory
     * @param logSizes of the steps' logs at that moment, in the order of their control folders
     */
    public record Made(
            @CheckForNull AgentStage.Refusal refusal,
            long stopMillis,
            long sealMillis,
            long imageBytes,
            long archiveBytes,
            long fileBytes,
            long luggageBytes,
            boolean imageDiffers,
            boolean filesDiffer,
            @CheckForNull String wholeWhy,
            int processes,
            List<Long> logSizes)
            implements Serializable {

        public Made {
            stopMillis = Answers.millis(stopMillis);
            sealMillis = Answers.millis(sealMillis);
            imageBytes = Answers.bytes(imageBytes);
            archiveBytes = Answers.bytes(archiveBytes);
            fileBytes = Answers.bytes(fileBytes);
            luggageBytes = Answers.bytes(luggageBytes);
            processes = Answers.processes(processes);
            wholeWhy = PlainText.of(wholeWhy);
            logSizes = logSizes.stream().map(Answers::bytes).toList();
        }

        static Made refused(AgentStage.Refusal why) {
            return new Made(why, 0, 0, 0, 0, 0, 0, false, false, null, 0, List.of());
        }
    }

    /**
     * What the archives of a checkpoint are called, and which earlier ones it may refer to.
     *
     * @param imageBase a full image with the same key; null when a full one is wanted
     * @param filesBase the same of the files
     * @param others further archives that later checkpoints may refer to
     */
    public record Names(
            String image,
            String files,
            @CheckForNull String imageBase,
            @CheckForNull String filesBase,
            List<String> others)
            implements Serializable {

        public Names {
            // A plain one: it is sent to the agent.
            others = new ArrayList<>(others);
        }
    }

    /**
     * Takes a checkpoint. Takes as long as the stage is large.
     *
     * @param folders whose files belong to it
     * @param controlFolders of the steps that run in it
     * @param mostFileBytes that the files may have
     */
    public Made take(List<String> folders, List<String> controlFolders, String key, Names names, long mostFileBytes)
            throws IOException, InterruptedException {
        Made made = Limited.required(Limited.actLong(
                home, Made.class, new LiveVerbs.Take(id.value(), folders, controlFolders, key, names, mostFileBytes)));
        boolean fits = made.logSizes().size() == controlFolders.size()
                && !(made.imageDiffers() && names.imageBase() == null)
                && !(made.filesDiffer() && names.filesBase() == null);
        if (made.refusal() == null && !fits) {
            throw Limited.notUnderstood();
        }
        return made;
    }

    /** @return the bytes asked for; fewer at the end, none behind it */
    public Awaited<byte[]> askImage(long offset, int most) throws IOException, InterruptedException {
        return ask(LiveVerbs.IMAGE, offset, most);
    }

    /** @return the bytes asked for; fewer at the end, none behind it */
    public Awaited<byte[]> askFiles(long offset, int most) throws IOException, InterruptedException {
        return ask(LiveVerbs.FILES, offset, most);
    }

    private Awaited<byte[]> ask(String archive, long offset, int most) throws IOException, InterruptedException {
        return ReadImage.ask(home.child("exchange").child(id.value()).child(archive), offset, most);
    }

    /**
     * Whether its host has lost the stage's processes, by a restart for instance.
     *
     * @param controlFolders of the steps that run in it
     * @param orDumped whether one counts as lost of which the host has a whole dump
     */
    public boolean isGone(List<String> controlFolders, boolean orDumped) throws IOException, InterruptedException {
        return Limited.required(
                Limited.act(home, Boolean.class, new LiveVerbs.Gone(id.value(), controlFolders, orDumped)));
    }

    /** Removes what {@link #take} made. */
    public void drop() throws IOException, InterruptedException {
        Limited.act(home, Void.class, new LiveVerbs.Drop(id.value()));
    }
}
