package io.jenkins.plugins.preemptible.agent;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/**
 * One stage on its agent, as the controller sees it.
 *
 * <ol>
 *   <li>Every verb is one callable into the agent, where {@link Engine} does the work below {@code preemptible/} in
 *       the agent's root folder.
 *   <li>Refusals of the engine come back as values in an outcome, in words for people; only a lost connection throws.
 *   <li>What the agent answers is never trusted. The constructors of the answers' records, which also run when one
 *       arrives, clean each text and bring each number into its range; an answer of another shape counts as none. How a
 *       command enters the stage is built here, from facts that {@link EnterCommand} has checked.
 * </ol>
 *
 * What takes a moment on an agent that works has a limit, after which the agent counts as away ({@link Limited}); what
 * takes as long as the stage is large has none, but for that of Jenkins' own connections.
 *
 * Blocking: call it on a thread of {@link io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads} or an executor, never
 * under the queue's lock and never on a Pipeline's own thread.
 */
public final class AgentStage implements StageAgent {

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
        return new AgentStage(homeOf(node), StageId.parse(id));
    }

    static FilePath homeOf(Node node) throws IOException {
        FilePath root = node == null ? null : node.getRootPath();
        if (root == null) {
            throw new IOException("the agent" + (node == null ? "" : " " + node.getDisplayName()) + " is offline");
        }
        return root.child("preemptible");
    }

    /**
     * Lets the agent load what suspending and resuming need, once for each connection.
     *
     * @param moves whether also what moves need
     * @return what it can, or why it cannot; null when it has said so before
     * @throws IOException when the node is offline
     */
    @CheckForNull
    public static Rehearsed rehearse(Node node, boolean moves) throws IOException, InterruptedException {
        AgentStage stage = on(node, Rehearsal.ID);
        Rehearsed freeze = Limited.act(stage.home, Rehearsed.class, new Rehearsal(Rehearsal.Part.FREEZE, moves));
        // There is no such stage: these are refused, and load what asks and what answers.
        stage.look();
        stage.freeze(List.of(), 0);
        if (freeze == null || freeze.sandbox().refusal() != null) {
            return freeze;
        }
        Rehearsed dump = Limited.act(stage.home, Rehearsed.class, new Rehearsal(Rehearsal.Part.DUMP, moves));
        return dump == null ? freeze : dump;
    }

    /** The folder through which the sealed image travels; it exists after {@link #dump} or {@link #prepareExchange}. */
    public FilePath exchange() {
        return home.child("exchange").child(id.value());
    }

    /**
     * Makes the stage's sandbox, or says why this host cannot. One of the same id, whose opening a restart of the
     * controller has cut off, is removed first.
     *
     * @param closeConnections whether its TCP connections to the outside are cut when it is suspended
     * @param origin noted on the agent, by which {@link PresentStages} tells whose stage it is
     * @param container in which the sandbox is made, if it can be; null for none
     * @param marks variables with their values that it was started with
     */
    public Sandbox open(
            FilePath workspace,
            String name,
            boolean closeConnections,
            StageOrigin origin,
            @CheckForNull ContainerRef container,
            List<String> marks)
            throws IOException, InterruptedException {
        Sandbox sandbox = Limited.required(Limited.act(
                home,
                Sandbox.class,
                new SandboxVerb(id.value(), name, workspace.getRemote(), closeConnections, origin, container, marks)));
        requireOwn(sandbox.enterCommand());
        return sandbox;
    }

    /**
     * Looks whether the stage could be suspended and how much memory it has; it runs on untouched.
     */
    public Seen look() throws IOException, InterruptedException {
        return Limited.required(Limited.act(home, Seen.class, new SuspendVerbs.Look(id.value())));
    }

    @Override
    public void tellContainers(List<ContainerRef> containers, List<String> marks)
            throws IOException, InterruptedException {
        Limited.act(home, Void.class, new ContainerVerbs.Tell(id.value(), containers, marks));
    }

    /** Kills what the stage has started in one of its containers; that runs again if it was paused. */
    public void killInContainer(ContainerRef container) throws IOException, InterruptedException {
        Limited.act(home, Void.class, new ContainerVerbs.Kill(id.value(), container));
    }

    /**
     * Gives the running stage a part that lives in a container of its own build, or says why not.
     *
     * @param marks variables with their values that the container was started with
     * @param controlFolders of the stage's steps: while one is just starting, a part in another container is left alone
     */
    public Entered enterContainer(ContainerRef container, List<String> marks, List<String> controlFolders)
            throws IOException, InterruptedException {
        Entered entered = Limited.required(Limited.act(
                home,
                Entered.class,
                new ContainerVerbs.Enter(id.value(), container, marks, controlFolders),
                ContainerVerbs.LIMIT_MILLIS));
        requireOwnPart(entered.enterCommand());
        return entered;
    }

    /** Ends that part with all that runs in it, or is frozen or dumped. */
    public void leaveContainer() throws IOException, InterruptedException {
        Limited.act(home, Void.class, new ContainerVerbs.Leave(id.value()), ContainerVerbs.LIMIT_MILLIS);
    }

    @Override
    public Freeze freeze(List<String> controlFolders, long memoryFloorBytes) throws IOException, InterruptedException {
        return freeze(controlFolders, memoryFloorBytes, 0);
    }

    @Override
    public Freeze freeze(List<String> controlFolders, long memoryFloorBytes, long frozenOnlyBytes)
            throws IOException, InterruptedException {
        return Limited.required(Limited.act(
                home,
                Freeze.class,
                new SuspendVerbs.FreezeStage(id.value(), controlFolders, memoryFloorBytes, frozenOnlyBytes)));
    }

    @Override
    public Awaited<Dump> dump(String key, boolean stayFrozen, boolean awaited)
            throws IOException, InterruptedException {
        return Limited.askLong(home, Dump.class, new SuspendVerbs.DumpStage(id.value(), key, stayFrozen, awaited))
                .then(Limited::required);
    }

    /** How far {@link #dump}, which runs meanwhile, has come. */
    public Growth growth() throws IOException, InterruptedException {
        long[] bytes = Limited.required(Limited.act(home, long[].class, new ImageGrowth(id.value())));
        if (bytes.length != 2) {
            throw Limited.notUnderstood();
        }
        return new Growth(bytes[0], bytes[1]);
    }

    @CheckForNull
    @Override
    public NotKilled commit() throws IOException, InterruptedException {
        return Limited.act(home, NotKilled.class, new SuspendVerbs.Commit(id.value()));
    }

    @Override
    public void thaw() throws IOException, InterruptedException {
        Limited.act(home, Void.class, new SuspendVerbs.Thaw(id.value()));
    }

    @Override
    public Held hold() throws IOException, InterruptedException {
        return Limited.required(Limited.act(home, Held.class, new SuspendVerbs.Hold(id.value())));
    }

    /** Makes the exchange folder, readable by the agent's user only. */
    public FilePath prepareExchange() throws IOException, InterruptedException {
        Limited.act(home, Void.class, new MakeExchange(id.value()));
        return exchange();
    }

    @CheckForNull
    @Override
    public Restore resumeHere(LastResort otherwise) throws IOException, InterruptedException {
        return own(Limited.actLong(home, Restore.class, new ResumeVerbs.ResumeHere(id.value(), otherwise)));
    }

    @CheckForNull
    @Override
    public Restore restoreUnstored(String key) throws IOException, InterruptedException {
        return own(Limited.actLong(home, Restore.class, new ResumeVerbs.RestoreUnstored(id.value(), key)));
    }

    @Override
    public Restore restore(String key) throws IOException, InterruptedException {
        return own(
                Limited.required(Limited.actLong(home, Restore.class, new ResumeVerbs.RestoreStage(id.value(), key))));
    }

    @CheckForNull
    private Restore own(@CheckForNull Restore restore) throws IOException {
        requireOwn(restore == null ? null : restore.enterCommand());
        requireOwnPart(restore == null ? null : restore.contained());
        return restore;
    }

    private void requireOwnPart(@CheckForNull EnterCommand part) throws IOException {
        if (part != null && !part.stageId().equals(id.contained().value())) {
            throw Limited.notUnderstood();
        }
    }

    private void requireOwn(@CheckForNull EnterCommand enter) throws IOException {
        if (enter != null && !enter.stageId().equals(id.value())) {
            throw Limited.notUnderstood();
        }
    }

    @Override
    public Awaited<byte[]> askImage(long offset, int most) throws IOException, InterruptedException {
        return ReadImage.ask(exchange(), offset, most);
    }

    @Override
    public Awaited<byte[]> askGrowing(long offset, int length) throws IOException, InterruptedException {
        return Limited.ask(exchange(), byte[].class, new GrowingImage(offset, length))
                .then(piece -> {
                    if (Limited.required(piece).length != length && piece.length > 0) {
                        throw Limited.notUnderstood();
                    }
                    return piece;
                });
    }

    @Override
    public long sum(long bytes) throws IOException, InterruptedException {
        return Limited.required(Limited.actLong(exchange(), Long.class, new GrowingImage.Sum(bytes)));
    }

    /** Kills whatever is left of the stage, running or frozen, and forgets it. */
    public void remove() throws IOException, InterruptedException {
        Limited.act(home, Void.class, new Remove(id.value()));
    }

    /**
     * What {@link #look} answers.
     *
     * @param leak why the stage can never be suspended as it is, in words; null when it can, or can try again later
     * @param residentBytes memory of its processes, shared pages counted for each; -1 when it does not run
     * @param freeBytes memory that its host can still give away
     * @param tie what keeps it from being dumped but not from being frozen, in words; null when nothing does
     * @param totalBytes all memory of its host; -1 = unknown
     */
    public record Seen(
            @CheckForNull String leak,
            long residentBytes,
            long freeBytes,
            @CheckForNull String tie,
            long totalBytes) implements Serializable {

        public Seen {
            leak = PlainText.of(leak);
            tie = PlainText.of(tie);
            totalBytes = Answers.bytesOrUnknown(totalBytes);
            residentBytes = Answers.bytesOrUnknown(residentBytes);
            freeBytes = Answers.bytesOrUnknown(freeBytes);
        }

        /** Of one that can be dumped, on a host of whose memory no more is known. */
        public Seen(@CheckForNull String leak, long residentBytes, long freeBytes) {
            this(leak, residentBytes, freeBytes, null, -1);
        }
    }

    /**
     * What {@link #open} answers. Exactly one of the first two is null.
     *
     * @param memoryOnly whether suspended stages stay in the agent's memory, since no images are made there
     * @param notInside why it was not made in the container that was asked for, in words; null when it was, or none was
     */
    public record Sandbox(
            @CheckForNull EnterCommand enterCommand,
            @CheckForNull String refusal,
            boolean memoryOnly,
            @CheckForNull String notInside)
            implements Serializable {

        public Sandbox {
            requireOne(enterCommand, refusal);
            refusal = PlainText.of(refusal);
            notInside = PlainText.of(notInside);
        }

        public Sandbox(@CheckForNull EnterCommand enterCommand, @CheckForNull String refusal, boolean memoryOnly) {
            this(enterCommand, refusal, memoryOnly, null);
        }

        /** The stage runs, and cannot be suspended. */
        public static Sandbox refused(String why) {
            return new Sandbox(null, why, false);
        }
    }

    /**
     * What {@link #enterContainer} answers. Exactly one of the two is null.
     *
     * @param refusal why the stage has no part there, in words
     */
    public record Entered(
            @CheckForNull EnterCommand.Contained enterCommand,
            @CheckForNull String refusal) implements Serializable {

        public Entered {
            requireOne(enterCommand, refusal);
            refusal = PlainText.of(refusal);
        }
    }

    /**
     * What {@link #rehearse} answers.
     *
     * @param sandbox what the agent can, or why it can suspend nothing
     * @param failure why a suspension failed on an agent that looked able, in words; null when it did not
     */
    public record Rehearsed(Sandbox sandbox, @CheckForNull String failure) implements Serializable {

        public Rehearsed {
            Objects.requireNonNull(sandbox, "sandbox");
            failure = PlainText.of(failure);
        }
    }

    private static void requireOne(@CheckForNull Object first, @CheckForNull Object second) {
        if ((first == null) == (second == null)) {
            throw new IllegalArgumentException("exactly one of the two is expected");
        }
    }

    /**
     * A refusal of the engine.
     *
     * @param sentence for people
     * @param reason name of the engine's constant
     * @param lasting whether it stays as long as the process that it is about
     */
    public record Refusal(String sentence, String reason, boolean lasting, List<String> criuLines)
            implements Serializable {

        private static final int MOST_LINES = 20;

        public Refusal {
            sentence = PlainText.of(Objects.requireNonNullElse(sentence, "The agent does not say why."));
            reason = PlainText.of(Objects.requireNonNullElse(reason, ""));
            criuLines = PlainText.lines(criuLines, MOST_LINES);
        }

        static Refusal of(EngineException x) {
            // A long detail must not cut the remedy off.
            EngineException told = x.getMessage().length() <= PlainText.LONGEST
                    ? x
                    : new EngineException(x.reason(), PlainText.of(x.detail(), 200));
            return new Refusal(told.getMessage(), x.reason().name(), !x.reason().passing(), List.copyOf(x.criuLines()));
        }

        /** Whether CRIU was killed while it worked, which may have ended processes of the stage. */
        public boolean killedCriu() {
            return FailureReason.CRIU_KILLED.name().equals(reason);
        }

        /** Something that has nothing to do with the engine. */
        public static Refusal of(String sentence) {
            return new Refusal(sentence, "", false, List.of());
        }
    }

    /**
     * What {@link #freeze} answers; {@code refusal} is null on success.
     *
     * @param residentBytes of memory that the frozen tree holds
     * @param handOver whether the executor may be given away now, {@code handOverWhy} in words
     * @param memoryOnly whether the stage stays in the agent's memory for as long as it is suspended: the executor may be
     *     given away now, and no {@link #dump} follows
     * @param ties what keeps it from being dumped, sentences without a final stop; empty when nothing was found
     */
    public record Freeze(
            Refusal refusal,
            long preflightMillis,
            long freezeMillis,
            int processes,
            long residentBytes,
            boolean handOver,
            String handOverWhy,
            boolean memoryOnly,
            List<String> ties)
            implements Serializable {

        private static final int MOST_TIES = 20;

        /** Of one that nothing keeps from being dumped. */
        public Freeze(
                Refusal refusal,
                long preflightMillis,
                long freezeMillis,
                int processes,
                long residentBytes,
                boolean handOver,
                String handOverWhy,
                boolean memoryOnly) {
            this(
                    refusal,
                    preflightMillis,
                    freezeMillis,
                    processes,
                    residentBytes,
                    handOver,
                    handOverWhy,
                    memoryOnly,
                    List.of());
        }

        public Freeze {
            preflightMillis = Answers.millis(preflightMillis);
            freezeMillis = Answers.millis(freezeMillis);
            processes = Answers.processes(processes);
            residentBytes = Answers.bytes(residentBytes);
            handOverWhy = PlainText.of(Objects.requireNonNullElse(handOverWhy, ""));
            ties = PlainText.lines(ties, MOST_TIES);
        }
    }

    /**
     * What {@link #growth} answers.
     *
     * @param imageBytes of CRIU's files
     * @param archiveBytes of what is sealed already
     */
    public record Growth(long imageBytes, long archiveBytes) {

        public Growth {
            imageBytes = Answers.bytes(imageBytes);
            archiveBytes = Answers.bytes(archiveBytes);
        }
    }

    /** What {@link #dump} answers; {@code refusal} is null on success. */
    public record Dump(
            Refusal refusal, long dumpMillis, long archiveMillis, long imageBytes, long archiveBytes, int processes)
            implements Serializable {

        public Dump {
            dumpMillis = Answers.millis(dumpMillis);
            archiveMillis = Answers.millis(archiveMillis);
            imageBytes = Answers.bytes(imageBytes);
            archiveBytes = Answers.bytes(archiveBytes);
            processes = Answers.processes(processes);
        }
    }

    /**
     * Why {@link #commit} did not kill the frozen tree.
     *
     * @param why a sentence
     */
    public record NotKilled(String why, Tree tree) implements Serializable {

        /** What became of the frozen processes. */
        public enum Tree {
            /** It runs again. */
            RUNS,
            /** It is frozen, and the image that was made of it cannot serve. */
            FROZEN,
            /** Another call is still at it. */
            BUSY
        }

        public NotKilled {
            why = PlainText.of(Objects.requireNonNullElse(why, ""));
            tree = Objects.requireNonNullElse(tree, Tree.BUSY);
        }
    }

    /** What {@link #hold} found of a stage that is to be suspended. */
    public enum Held {
        /** Its frozen tree. */
        FROZEN,
        /** No process; it was dumped. */
        IMAGE,
        /** Somebody is still at it. */
        BUSY,
        /** Nothing, though it was on this host: its processes ended with a boot, for instance. */
        GONE,
        /** No record of it, as on another host of the agent's name, or below a root folder that is not mounted. */
        UNKNOWN
    }

    /**
     * What {@link #restore} and {@link #resumeHere} answer; {@code refusal} is null on success.
     *
     * @param tier name of the engine's constant
     * @param contained how a process gets into its part in a container; null when it has none
     * @param warnings what differs between the host as it was and as it is, sentences without a final stop
     */
    public record Restore(
            Refusal refusal,
            String tier,
            EnterCommand enterCommand,
            @CheckForNull EnterCommand.Contained contained,
            long unpackMillis,
            long restoreMillis,
            int processes,
            List<String> warnings)
            implements Serializable {

        private static final int MOST_WARNINGS = 20;

        public Restore {
            requireOne(refusal, enterCommand);
            tier = PlainText.of(tier);
            unpackMillis = Answers.millis(unpackMillis);
            restoreMillis = Answers.millis(restoreMillis);
            processes = Answers.processes(processes);
            warnings = PlainText.lines(warnings, MOST_WARNINGS);
        }

        /** Of one that has no part in a container. */
        public Restore(
                Refusal refusal,
                String tier,
                EnterCommand enterCommand,
                long unpackMillis,
                long restoreMillis,
                int processes,
                List<String> warnings) {
            this(refusal, tier, enterCommand, null, unpackMillis, restoreMillis, processes, warnings);
        }

        /** It does not run. */
        public static Restore refused(Refusal why) {
            return new Restore(why, null, null, 0, 0, 0, List.of());
        }
    }

    private static final class MakeExchange extends InEngine<Void> {
        private static final long serialVersionUID = 1L;

        MakeExchange(String id) {
            super(id);
        }

        @Override
        Void act(Engine engine, StageId stage, Path exchange) throws IOException {
            PrivateFolder.make(exchange);
            return null;
        }
    }

    private static final class Remove extends InEngine<Void> {
        private static final long serialVersionUID = 1L;

        Remove(String id) {
            super(id);
        }

        @Override
        Void act(Engine engine, StageId stage, Path exchange) throws IOException {
            removeExchange(engine, exchange);
            remove(engine, stage);
            forget(homeOf(exchange), stage);
            return null;
        }
    }
}
