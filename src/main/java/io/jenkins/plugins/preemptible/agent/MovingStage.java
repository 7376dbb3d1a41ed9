package io.jenkins.plugins.preemptible.agent;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.TrialVerdict;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.move.MoveExcludes;
import io.jenkins.plugins.preemptible.engine.move.StageNeeds;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import java.io.IOException;
import java.io.Serializable;
import java.util.List;

/**
 * One stage that moves from one agent to another, on either of them.
 *
 * <ol>
 *   <li>The old agent packs the stage's folders; the controller brings the archive over, piece by piece, and counts; the
 *       new agent unpacks it.
 *   <li>Which folders those are is the controller's choice; an agent is told them, and tells none.
 *   <li>An obstacle comes back as a value; only a connection or a disk that fails throws.
 * </ol>
 *
 * Blocking, as {@link AgentStage} is.
 */
public final class MovingStage {

    private final FilePath home;
    private final StageId id;

    private MovingStage(FilePath home, StageId id) {
        this.home = home;
        this.id = id;
    }

    /** Whether an agent has said that the image it was given is of no use to anybody. */
    public static boolean isOfImage(Throwable failure) {
        return Limited.isOfImage(failure);
    }

    /** Whether an agent has answered that it could not do what it was asked for, of a full disk for instance. */
    public static boolean isAnswer(Throwable failure) {
        return Limited.isAnswer(failure);
    }

    /** @throws IOException when the node is offline */
    public static MovingStage on(Node node, String id) throws IOException {
        return new MovingStage(AgentStage.homeOf(node), StageId.parse(id));
    }

    /**
     * What the agent's host is like.
     *
     * @throws IOException when the node is offline
     */
    public static HostTraits describe(Node node) throws IOException, InterruptedException {
        FilePath home = AgentStage.homeOf(node);
        return Limited.required(Limited.act(home, HostTraits.class, new MoveVerbs.Describe()));
    }

    /**
     * What {@link #pack} answers.
     *
     * @param refusal null on success
     * @param contentBytes of all files
     * @param archiveBytes of the archive
     * @param host that it lies on; null when it was refused
     */
    public record Packed(
            @CheckForNull Misfit refusal,
            long contentBytes,
            long archiveBytes,
            @CheckForNull HostTraits host) implements Serializable {
        public Packed {
            if ((refusal == null) == (host == null)) {
                throw new IllegalArgumentException("either a refusal or a host is expected");
            }
            contentBytes = Answers.bytes(contentBytes);
            archiveBytes = Answers.bytes(archiveBytes);
        }
    }

    /**
     * What {@link #tryBeginning} answers.
     *
     * @param needsMore whether the beginning was too short; then nothing else is told
     * @param misfit what of the two hosts differs; null when nothing does
     * @param verdict null when there is a misfit
     * @param why a sentence's beginning for a verdict that is not {@code PASSED}, without the final stop; else empty
     */
    public record Tried(
            boolean needsMore,
            @CheckForNull Misfit misfit,
            @CheckForNull TrialVerdict verdict,
            String why,
            List<String> criuLines)
            implements Serializable {
        public Tried {
            why = why == null ? "" : PlainText.of(why);
            criuLines = criuLines == null
                    ? List.of()
                    : List.copyOf(criuLines.stream()
                            .limit(MOST_LINES)
                            .map(PlainText::of)
                            .toList());
        }

        static Tried more() {
            return new Tried(true, null, null, "", List.of());
        }

        /** Whether the stage must not be brought there. */
        public boolean refuses() {
            return misfit != null || verdict == TrialVerdict.FAILED || verdict == TrialVerdict.OUT_OF_TIME;
        }

        /** Whether something is known of a restore there. */
        public boolean tells() {
            return misfit != null || verdict == TrialVerdict.PASSED || refuses();
        }

        /** For people. */
        public String sentence() {
            if (misfit != null) {
                return misfit.sentence();
            }
            String said = (verdict == null ? TrialVerdict.NOT_TRIED : verdict).sentence();
            return said + (why.isEmpty() ? "" : " (" + why + ")") + ".";
        }
    }

    private static final int MOST_LINES = 20;
    /** A trial takes a second, and ten at most; other agents are tried after it. */
    private static final long TRIAL_MILLIS = 60_000;

    /**
     * Tries there whether the stage's image can be restored, from its beginning alone. Nothing of the agent's is changed, and
     * no workspace needed.
     *
     * @param beginning of the sealed image, all of it when it is smaller
     * @param workspace the folders that are going to travel, the workspace first
     * @param excludes what of it is not
     * @param own the host that the stage was suspended on; null when that is not known
     */
    public Tried tryBeginning(
            byte[] beginning,
            List<String> workspace,
            MoveExcludes excludes,
            @CheckForNull HostTraits own,
            StageNeeds needs,
            String key)
            throws IOException, InterruptedException {
        return Limited.required(Limited.act(
                home,
                Tried.class,
                new TrialVerb(
                        id.value(),
                        beginning,
                        List.copyOf(workspace),
                        excludes.patterns(),
                        own,
                        needs.memoryBytes(),
                        key),
                TRIAL_MILLIS));
    }

    /** Packs the stage's folders on the agent that it leaves, unless that is not root. Takes as long as they are large. */
    public Packed pack(List<String> folders, MoveExcludes excludes, String key)
            throws IOException, InterruptedException {
        return Limited.required(
                beginPacking(folders, excludes, key, Long.MAX_VALUE).get());
    }

    /** Has them packed, unless they have more than that. An answer that is given up ends the packing. */
    public Awaited<Packed> beginPacking(List<String> folders, MoveExcludes excludes, String key, long mostBytes)
            throws IOException, InterruptedException {
        return Limited.askLong(
                home,
                Packed.class,
                new MoveVerbs.Pack(id.value(), List.copyOf(folders), excludes.patterns(), key, mostBytes));
    }

    /**
     * Asks for a piece of what {@link #pack} made.
     *
     * @param most bytes, at least 1
     * @return the bytes asked for; fewer at the end, none behind it
     */
    public Awaited<byte[]> askLuggage(long offset, int most) throws IOException, InterruptedException {
        return ReadImage.ask(luggage(), offset, most);
    }

    /** Where {@link #unpack} looks for the archive; its folder exists after {@link #prepare}. */
    public FilePath luggageFile() {
        return luggage().child(AgentStage.IMAGE_FILE);
    }

    /** Removes what {@link #pack} made. */
    public void dropLuggage() throws IOException, InterruptedException {
        Limited.act(home, Void.class, new MoveVerbs.DropLuggage(id.value()));
    }

    /** On the agent that it comes to: makes the exchange folder, and notes whose stage it is. */
    public FilePath prepare(StageOrigin origin) throws IOException, InterruptedException {
        Limited.act(home, Void.class, new MoveVerbs.Prepare(id.value(), origin));
        return home.child("exchange").child(id.value());
    }

    /**
     * The same on an agent that has nothing of the stage; one that has something is left as it is.
     *
     * @return null there
     */
    @CheckForNull
    public FilePath prepareEmpty(StageOrigin origin) throws IOException, InterruptedException {
        boolean empty =
                Limited.required(Limited.act(home, Boolean.class, new MoveVerbs.PrepareEmpty(id.value(), origin)));
        return empty ? home.child("exchange").child(id.value()) : null;
    }

    /**
     * Has the image unpacked while it is brought, which begins after this. Whether that succeeds is of no concern: it would be
     * unpacked when it is restored.
     */
    public Awaited<Boolean> unpackAhead(String key) throws IOException, InterruptedException {
        return Limited.askLong(home, Boolean.class, new MoveVerbs.UnpackAhead(id.value(), key));
    }

    /**
     * Whether the stage fits here, once the beginning of its image lies in the exchange folder.
     *
     * @param own what the host is like that it was suspended on
     * @param workspace the folders that travel
     * @param arriving whether the image is being brought and {@link #unpackAhead} is at it, which then finds a disk too full
     * @return the worst obstacle; null when there is none
     */
    @CheckForNull
    public Misfit misfit(HostTraits own, StageNeeds needs, List<String> workspace, boolean arriving, String key)
            throws IOException, InterruptedException {
        return Limited.act(
                home,
                Misfit.class,
                new MoveVerbs.Compare(id.value(), own, needs.memoryBytes(), List.copyOf(workspace), arriving, key));
    }

    /**
     * Brings what another agent has packed; no piece of it stays in memory.
     *
     * @param bytes as that agent has told; more or fewer fail the transfer
     */
    public void bring(MovingStage from, long bytes) throws IOException, InterruptedException {
        long[] left = {bytes};
        try (PiecesInOrder pieces = new PiecesInOrder(from::askLuggage, 0, bytes)) {
            Delivery.bring(
                    () -> {
                        byte[] piece = pieces.next();
                        if (piece.length != Math.min(PiecesInOrder.PIECE, left[0])) {
                            throw Limited.notUnderstood();
                        }
                        left[0] -= piece.length;
                        return piece;
                    },
                    luggageFile());
        }
    }

    private FilePath luggage() {
        return home.child("exchange").child(id.value()).child(MoveVerbs.LUGGAGE);
    }

    /**
     * Unpacks the folders where they were on the other agent.
     *
     * @return why not; null when they are there. What was in their place is gone then, and else there again
     */
    @CheckForNull
    public Misfit unpack(List<String> folders, String key) throws IOException, InterruptedException {
        return Limited.actLong(home, Misfit.class, new MoveVerbs.Unpack(id.value(), List.copyOf(folders), key));
    }

    /** On the agent that it has left: removes the stage, and these folders with the secrets in them. */
    public void leave(List<String> temporary) throws IOException, InterruptedException {
        Limited.actLong(home, Void.class, new MoveVerbs.Leave(id.value(), List.copyOf(temporary)));
    }
}
