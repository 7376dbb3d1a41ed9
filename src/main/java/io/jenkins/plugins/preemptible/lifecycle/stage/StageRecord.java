package io.jenkins.plugins.preemptible.lifecycle.stage;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Node;
import hudson.slaves.AbstractCloudSlave;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.config.Owners;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.policy.UndumpableStages;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import io.jenkins.plugins.preemptible.event.StageRef;
import io.jenkins.plugins.preemptible.view.LoggedName;
import io.jenkins.plugins.preemptible.view.ShownName;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.workflow.steps.StepContext;

/**
 * What the controller knows of one preemptible stage, and keeps over its own restart.
 *
 * <ol>
 *   <li>Made when the stage's body starts, dropped when it ends.
 *   <li>{@link StageRegistry#update} changes a copy, writes it to disk, and only then shows it: a published instance
 *       never changes.
 *   <li>{@link #state} is written before the effect it announces, so that a restart finds the truth.
 * </ol>
 */
public final class StageRecord implements Cloneable {

    /** How a stage holds its executor. */
    public enum Form {
        /** The step took an executor of its own, as {@code node} does. */
        OWN,
        /** The step gives away and takes again the executor of the {@code node} around it. */
        NESTED
    }

    /** The environment variable by which the processes of an own-executor stage are known. */
    public static final String COOKIE = "JENKINS_NODE_COOKIE";

    /** No failed restore is tried again later than this. */
    private static final long LONGEST_PAUSE_MILLIS = TimeUnit.MINUTES.toMillis(15);

    String id;
    Form form;
    /** {@link hudson.model.Run#getExternalizableId}; follows the job when that is moved. */
    String runId;
    /** For people, and the folder of the image among the build's artifacts. */
    String name;
    /** Node name, empty for the built-in node. */
    String node;
    /** Absolute path of the workspace on that node. */
    String workspace;
    /** The enclosing {@code node} block's context, by which its queue item is known; null for {@link Form#OWN}. */
    @CheckForNull
    StepContext placeholder;

    /** Value of {@link #COOKIE} for {@link Form#OWN}; null for a nested stage, whose node block has its own. */
    @CheckForNull
    String cookie;

    int priority;
    /** Own time slice in milliseconds, 0 for the global one. */
    long timeSliceMillis;
    /** For how long it may have executors; 0 = no limit, and in the records of versions that knew no such thing. */
    long activeTimeoutMillis;
    /** It may be ended and run again from its beginning. */
    boolean rerun;
    /** Among whose equals executor time is shared; null in the records of versions that knew no such thing. */
    @CheckForNull
    String owner;

    StageState state;
    long startedMillis;
    long runningSinceMillis;
    long suspendedSinceMillis;
    int suspensions;
    /** For how long it had no executor, over all suspensions that are over. */
    long withoutExecutorMillis;

    /**
     * What has to be known to put a process into the sandbox, as {@link EnterCommand#facts} has it; null when the host
     * cannot make one. In the records of earlier versions the agent's own argument vector, of which the facts are taken.
     */
    @CheckForNull
    List<String> enterCommand;
    /** Why the host cannot suspend this stage, in words; null when it can. */
    @CheckForNull
    String hostRefusal;
    /** Control folders of durable tasks that were launched in the sandbox and are not known to have ended. */
    List<String> controlFolders = new ArrayList<>();

    /**
     * As {@link #enterCommand}, of that part of the stage which lives in the container whose block is open; null where there is
     * none, and in the records of versions that knew no such thing.
     */
    @CheckForNull
    List<String> contained;

    /** Its containers, as {@link StageContainers} has them; null when no task of it was ever launched in one. */
    @CheckForNull
    Map<String, String> containers;

    /** Who the stage was last suspended for and why, for people. */
    @CheckForNull
    String preemptor;
    /** Full name of the preemptor's job; null when it has none. */
    @CheckForNull
    String preemptorJob;

    @CheckForNull
    String reason;

    /** Data key of the sealed image, or of the one that is being made; lives only here, only while it is needed. */
    @CheckForNull
    Secret imageKey;

    /**
     * Of a suspended stage: its processes are frozen in its agent's memory, and no sealed image of it exists yet. False
     * in the records of versions that knew no such thing.
     */
    boolean frozen;

    /**
     * Its agent makes no images: while it is suspended, its processes stay in the agent's memory. As the agent said when it
     * was last frozen, or when its sandbox was opened. False in the records of versions that knew no such thing.
     */
    boolean memoryOnly;

    /**
     * That is so for its own sake: its image was tried and cannot be restored, while its agent does make images. False in
     * the records of versions that knew no such thing.
     */
    boolean notRestorable;

    /** Name of the sealed image's file; null in the records of versions whose images had another name. */
    @CheckForNull
    String imageFile;

    /** Size of the sealed image, for people. */
    long archiveBytes;
    /** Why it can never be suspended as it is now, in words; null when nothing is known that stands against it. */
    @CheckForNull
    String leak;
    /** Something of it could not be dumped at some time. */
    boolean everUndumpable;
    /**
     * What keeps it from being dumped but not from being frozen, in words; null when nothing does, and in the records of
     * versions that knew no such thing.
     */
    @CheckForNull
    String tie;
    /**
     * Of a stage that is suspended, cannot be dumped, and is therefore frozen only: by when it is to run again, in
     * milliseconds since 1970. 0 for all others, and in the records of versions that knew no such thing.
     */
    long thawByMillis;
    /** Of a suspended stage: how much memory it had then, in bytes; 0 = unknown, and in the records of versions that did not note it. */
    long residentBytes;
    /** For how long it stood still in that way before it runs now; else 0. */
    long lastFrozenMillis;
    /** Its build's log has said what may not survive that. */
    boolean tieTold;
    /** From what it was last resumed, in words; null before. */
    @CheckForNull
    String resumedFrom;
    /** A restore failed: not tried again before this moment, in milliseconds since 1970. */
    long retryAfterMillis;
    /** How often in a row a restore failed. */
    int restoreFailures;
    /**
     * A user suspends it: it is suspended as soon as it can be, and stays so until someone resumes it. False in
     * the records of versions that knew no such thing.
     */
    boolean byHand;
    /** Id of the user who said so; null when nobody did, and in the records of versions that did not ask. */
    @CheckForNull
    String byHandUser;
    /** It failed since it could not be restored: its image and key are kept as long as its build. */
    boolean imageKept;
    /**
     * Of a suspended stage: why the last of its attempts to resume failed, when no further one is made unless a user says
     * so. Null otherwise, and in the records of versions that knew no such thing.
     */
    @CheckForNull
    String whyNotResumed;
    /** When that was, in milliseconds since 1970. */
    long notResumedSinceMillis;
    /**
     * The other agent that was asked to restore it and has not answered: it may run there, so that no other one may have
     * it. Null when none is awaited, and in the records of versions that knew no such thing.
     */
    @CheckForNull
    String restoringOn;
    /** Token of that agent's host, as it was when it was asked; null when not known, and in such records. */
    @CheckForNull
    String restoringHost;
    /** How often it went on on another agent. 0 in the records of versions that knew no such thing. */
    int moves;
    /** Temporary folders of it by the agents that may hold something of it, see {@link LeftAgents}. Null in such records. */
    @CheckForNull
    Map<String, List<String>> left;
    /**
     * The agent on which a user wants it resumed; where it runs, it is suspended for that. Null otherwise, and in the records
     * of versions that knew no such thing.
     */
    @CheckForNull
    String moveTo;
    /** Null where none are made, and in the records of versions that knew no such thing. */
    @CheckForNull
    Checkpoints checkpoints;
    /** Of a stage with a sealed image: its workspace, where that is sealed, too; null otherwise, and in such records. */
    @CheckForNull
    SealedLuggage luggage;
    /**
     * Of a suspended stage with a sealed image: its agent was away when the workspace was to be stored with it, and nothing has
     * touched that since. False in such records.
     */
    boolean luggageMissed;
    /** Tokens of hosts on which something of it may be left, though it is elsewhere now; null in such records. */
    @CheckForNull
    List<String> leftHosts;
    /** Its agent is a cloud's, which never comes back when it was removed. */
    boolean onCloud;
    /** Of a frozen stage: no image of it could be made, and no further attempt is made. */
    boolean unsealed;

    /** A stage that begins to run now. */
    public static StageRecord running(
            String id,
            Form form,
            String runId,
            String name,
            String node,
            String workspace,
            @CheckForNull StepContext placeholder,
            int priority,
            long timeSliceMillis) {
        StageRecord stage = new StageRecord();
        stage.id = id;
        stage.form = form;
        stage.runId = runId;
        stage.name = name;
        stage.node = node;
        stage.workspace = workspace;
        stage.placeholder = placeholder;
        stage.priority = priority;
        stage.timeSliceMillis = timeSliceMillis;
        stage.state = StageState.RUNNING;
        stage.startedMillis = System.currentTimeMillis();
        stage.runningSinceMillis = stage.startedMillis;
        return stage;
    }

    /** Notes what the agent said when the sandbox was opened. Before it is published, or for an update. */
    public void opened(@CheckForNull EnterCommand enter, @CheckForNull String refusal) {
        // A plain list: what Jenkins writes to disk has to be readable by any later Java.
        enterCommand = enter == null ? null : new ArrayList<>(enter.facts());
        hostRefusal = refusal;
    }

    /** Notes whether its agent makes no images. For an update. */
    public void memoryOnly(boolean value) {
        memoryOnly = value;
    }

    /** Before the record is published only. */
    public StageRecord withCookie(String value) {
        cookie = value;
        return this;
    }

    /** Before the record is published only. */
    public StageRecord withNode(Node its) {
        onCloud = its instanceof AbstractCloudSlave;
        return this;
    }

    /** Before the record is published only. @param millis for how long it may have executors; 0 = no limit */
    public StageRecord withActiveTimeout(long millis) {
        activeTimeoutMillis = millis;
        return this;
    }

    /** Before the record is published only. */
    public StageRecord withRerun(boolean value) {
        rerun = value;
        return this;
    }

    /** Before the record is published only. */
    public StageRecord withOwner(@CheckForNull String value) {
        owner = value;
        return this;
    }

    /** Before the record is published only. */
    public StageRecord withCheckpoints(@CheckForNull Checkpoints value) {
        checkpoints = value;
        return this;
    }

    /** Adds a control folder, keeping the newest ones only. For {@link StageRegistry#update}. */
    public void launched(String controlFolder, int most) {
        controlFolders.remove(controlFolder);
        controlFolders.add(controlFolder);
        while (controlFolders.size() > most) {
            controlFolders.remove(0);
        }
    }

    /** A task is launched in a container. For {@link StageRegistry#update}. */
    public void launchedIn(ContainerRef container, String controlFolder, int most) {
        launched(controlFolder, most);
        containers = StageContainers.of(containers == null ? Map.of() : containers)
                .with(container, controlFolder, most)
                .saved();
    }

    /** It has a part in a container now, or with null none any more. For {@link StageRegistry#update}. */
    public void contained(@CheckForNull EnterCommand.Contained enter) {
        contained = enter == null ? null : new ArrayList<>(enter.facts());
    }

    /** A container ends. For {@link StageRegistry#update}. */
    public void containerEnded(ContainerRef container) {
        containers = StageContainers.of(containers == null ? Map.of() : containers)
                .without(container)
                .saved();
    }

    /** Notes that the user with that id wants it suspended. For {@link StageRegistry#update}. */
    public void byHand(String user) {
        byHand = true;
        byHandUser = user;
    }

    /** Notes that nobody wants it suspended any more. For {@link StageRegistry#update}. */
    public void notByHand() {
        byHand = false;
        byHandUser = null;
        moveTo = null;
    }

    /** A copy, its build's job having that full name now; an owner that is the job or its folder follows. */
    StageRecord withJob(String to) {
        StageRecord moved = clone();
        moved.runId = to + runId.substring(job().length());
        moved.owner = Owners.moved(owner(), job(), to);
        return moved;
    }

    /** A copy, the agent of that name having another one now; itself where it has nothing to do with that agent. */
    StageRecord withRenamed(String from, String to) {
        Map<String, List<String>> known = left;
        boolean leaves = known != null && known.containsKey(from);
        if (!leaves && !from.equals(node) && !from.equals(restoringOn) && !from.equals(moveTo)) {
            return this;
        }
        StageRecord renamed = clone();
        renamed.node = from.equals(node) ? to : node;
        renamed.restoringOn = from.equals(restoringOn) ? to : restoringOn;
        renamed.moveTo = from.equals(moveTo) ? to : moveTo;
        if (known != null && leaves) {
            renamed.left = new LinkedHashMap<>(known);
            renamed.left.put(to, renamed.left.remove(from));
        }
        return renamed;
    }

    /**
     * Cleans what is for people. Each comes from an agent, a Jenkinsfile or another job, and one character that XML
     * cannot hold would keep the record from being written. Before the record is published only.
     */
    void clean() {
        name = PlainText.of(name);
        hostRefusal = PlainText.of(hostRefusal);
        leak = PlainText.of(leak);
        tie = PlainText.of(tie);
        reason = PlainText.of(reason);
        resumedFrom = PlainText.of(resumedFrom);
        whyNotResumed = PlainText.of(whyNotResumed);
        preemptor = PlainText.of(preemptor);
        preemptorJob = PlainText.of(preemptorJob);
        byHandUser = PlainText.of(byHandUser);
    }

    /**
     * Brings a record that was read from a file into the form that the rest relies on.
     *
     * @throws IllegalArgumentException when something is missing without which it stands for no stage
     */
    void complete() {
        StageId.parse(id);
        if (form == null
                || state == null
                || name == null
                || node == null
                || workspace == null
                || runId == null
                || runId.lastIndexOf('#') < 0) {
            throw new IllegalArgumentException("the record of stage " + id + " is not complete");
        }
        if (controlFolders == null) {
            controlFolders = new ArrayList<>();
        }
        List<String> kept = enterCommand;
        opened(EnterCommand.of(kept, StageId.parse(id)).orElse(null), hostRefusal);
        if (kept != null && enterCommand == null) {
            hostRefusal = "what its agent has told of its sandbox is not understood";
        }
    }

    @Override
    protected StageRecord clone() {
        try {
            StageRecord copy = (StageRecord) super.clone();
            copy.controlFolders = new ArrayList<>(controlFolders);
            return copy;
        } catch (CloneNotSupportedException x) {
            throw new AssertionError(x);
        }
    }

    public String id() {
        return id;
    }

    /** For events. */
    public StageRef ref() {
        return new StageRef(id, name, runId, node);
    }

    public Form form() {
        return form;
    }

    public String runId() {
        return runId;
    }

    /** Full name of the build's job. */
    public String job() {
        return runId.substring(0, runId.lastIndexOf('#'));
    }

    /** The build as people know it, without loading it. */
    public String build() {
        return runId.replace("#", " #");
    }

    public String name() {
        return name;
    }

    public String node() {
        return node;
    }

    public String workspace() {
        return workspace;
    }

    /** The other agent that was asked to restore it and has not answered; null when none is awaited. */
    @CheckForNull
    public String restoringOn() {
        return restoringOn;
    }

    /** Token of the host of {@link #restoringOn}, as it was when it was asked; empty when that is not known. */
    public String restoringHost() {
        return restoringHost == null ? "" : restoringHost;
    }

    /** How often it went on on another agent. */
    public int moves() {
        return moves;
    }

    /** The agent on which a user wants it resumed; null when nobody does. */
    @CheckForNull
    public String moveTo() {
        return moveTo;
    }

    /** Name of its image's file; null when it never had one, and in the records of versions with another name. */
    @CheckForNull
    public String imageFile() {
        return imageFile;
    }

    /** Null where none are made. */
    @CheckForNull
    public Checkpoints checkpoints() {
        return checkpoints;
    }

    /** Whether one was made. */
    public boolean hasCheckpoint() {
        return checkpoints != null && !checkpoints.made().isEmpty();
    }

    /** Whether it is suspended, has lost the processes that it had, and is resumed from a checkpoint. */
    public boolean rolledBack() {
        return rolledBackTo() != null;
    }

    /** The checkpoint that it goes back to; null unless it was {@link #rolledBack}. */
    @CheckForNull
    public StageCheckpoint rolledBackTo() {
        return suspended() && !frozen && checkpoints != null ? checkpoints.named(imageFile) : null;
    }

    /** When that was made, in milliseconds since 1970; 0 where there is none. */
    public long checkpointMillis() {
        StageCheckpoint back = rolledBackTo();
        return back == null ? 0 : back.atMillis();
    }

    /** Its workspace, sealed beside its image; null when it has none. */
    @CheckForNull
    public SealedLuggage luggage() {
        return luggage;
    }

    /** Tokens of hosts on which something of it may be left, though it is elsewhere now. */
    public List<String> leftHosts() {
        return leftHosts == null ? List.of() : List.copyOf(leftHosts);
    }

    @CheckForNull
    public StepContext placeholder() {
        return placeholder;
    }

    public int priority() {
        return priority;
    }

    public long timeSliceMillis() {
        return timeSliceMillis;
    }

    /** Whether it may be ended and run again from its beginning. */
    public boolean rerun() {
        return rerun;
    }

    /** Among whose equals executor time is shared; empty = nobody's. */
    public String owner() {
        return owner == null ? "" : owner;
    }

    public StageState state() {
        return state;
    }

    public long startedMillis() {
        return startedMillis;
    }

    public long runningSinceMillis() {
        return runningSinceMillis;
    }

    public long suspendedSinceMillis() {
        return suspendedSinceMillis;
    }

    public int suspensions() {
        return suspensions;
    }

    /** For how long it had no executor, over all suspensions that are over. */
    public long withoutExecutorMillis() {
        return withoutExecutorMillis;
    }

    /** Whether it holds an executor and does not just come back to one. */
    public boolean holdsExecutor() {
        return state == StageState.RUNNING || state == StageState.SUSPENDING;
    }

    /** For how long it has held executors up to that time, at least 0; what its resumptions took is left out. */
    public long executorMillis(long nowMillis) {
        return Math.max(
                0, (holdsExecutor() ? nowMillis : suspendedSinceMillis) - startedMillis - withoutExecutorMillis);
    }

    /** How a process gets into the sandbox; null when there is none. */
    @CheckForNull
    public EnterCommand enterCommand() {
        return enterCommand == null
                ? null
                : EnterCommand.of(enterCommand, StageId.parse(id)).orElse(null);
    }

    /** How a process gets into the part of the stage that lives in a container; null when it has none. */
    @CheckForNull
    public EnterCommand.Contained contained() {
        return contained == null
                ? null
                : EnterCommand.of(contained, StageId.parse(id).contained())
                        .filter(EnterCommand.Contained.class::isInstance)
                        .map(EnterCommand.Contained.class::cast)
                        .orElse(null);
    }

    @CheckForNull
    public String hostRefusal() {
        return hostRefusal;
    }

    public List<String> controlFolders() {
        return List.copyOf(controlFolders);
    }

    /** Null when no task of it was ever launched in one. */
    @CheckForNull
    public StageContainers containers() {
        return containers == null ? null : StageContainers.of(containers);
    }

    @CheckForNull
    public String preemptor() {
        return preemptor;
    }

    /** Full name of its job; null when it has none. */
    @CheckForNull
    public String preemptorJob() {
        return preemptorJob;
    }

    /** The same, for the user who looks. */
    @CheckForNull
    public String shownPreemptor() {
        return ShownName.of(preemptor, preemptorJob);
    }

    /** The same, for its build's log. */
    @CheckForNull
    public String loggedPreemptor() {
        return LoggedName.ofPreemptor(preemptor, preemptorJob, job(), reason);
    }

    @CheckForNull
    public String reason() {
        return reason;
    }

    /** Whether it is suspended and its processes are still in its agent's memory, without a sealed image. */
    public boolean frozen() {
        return frozen;
    }

    /** Whether its agent makes no images: suspended, it stays in the agent's memory and does not outlive the host's. */
    public boolean memoryOnly() {
        return memoryOnly || thawByMillis > 0;
    }

    /** The same, and not for its own sake. */
    public boolean onMemoryOnlyAgent() {
        return memoryOnly && !notRestorable;
    }

    /** What keeps it from being dumped but not from being frozen, in words; null when nothing does. */
    @CheckForNull
    public String tie() {
        return tie;
    }

    /** Whether it cannot be dumped, and may be frozen for a time, as the configuration has it now. */
    public boolean canOnlyBeFrozen() {
        return tie != null
                && enterCommand != null
                && PreemptibleConfiguration.get().limits().undumpable() == UndumpableStages.FREEZE_ONLY;
    }

    /**
     * Of a stage that is suspended and frozen only: by when it is to run again, in milliseconds since 1970; 0 for all
     * others.
     */
    public long thawByMillis() {
        return thawByMillis;
    }

    /** How much memory it had when it was suspended last, in bytes; -1 = unknown. */
    public long residentBytes() {
        return residentBytes > 0 ? residentBytes : -1;
    }

    /** For how long it was frozen only before it runs now, in milliseconds; else 0. */
    public long lastFrozenMillis() {
        return lastFrozenMillis;
    }

    /** Whether its build's log has said what may not survive that. */
    public boolean tieTold() {
        return tieTold;
    }

    /** Whether somebody wants it suspended, and it need not run again soon all the same. */
    public boolean heldByHand(long nowMillis) {
        return byHand && !urgent(nowMillis);
    }

    /** Whether it has been frozen only for almost as long as it may. */
    public boolean urgent(long nowMillis) {
        return PreemptibleConfiguration.get().limits().freezeOnly().isUrgent(thawByMillis, nowMillis);
    }

    /** Whether a user wants it suspended until someone resumes it; it may still run, or run again for a moment. */
    public boolean byHand() {
        return byHand;
    }

    /** Id of the user who wants that; null when nobody does or that is not known. */
    @CheckForNull
    public String byHandUser() {
        return byHandUser;
    }

    /**
     * Why it could not be resumed, in words with a full stop, when that was tried as often as it is tried without being
     * asked. Null otherwise.
     */
    @CheckForNull
    public String whyNotResumed() {
        return state == StageState.SUSPENDED ? whyNotResumed : null;
    }

    /** Whether it is frozen and no image of it could be made. */
    public boolean unsealed() {
        return frozen && unsealed;
    }

    /** Why it can never be suspended as it is now, in words; null when nothing is known that stands against it. */
    @CheckForNull
    public String leak() {
        return leak;
    }

    /** Whether something of it could not be dumped at some time. */
    public boolean everUndumpable() {
        return everUndumpable;
    }

    /** From what it was last resumed, in words; null before. */
    @CheckForNull
    public String resumedFrom() {
        return resumedFrom;
    }

    public long archiveBytes() {
        return archiveBytes;
    }

    /** Data key of its image, or of the one that is being made; null when there is none. Never shown. */
    @CheckForNull
    public Secret imageKey() {
        return imageKey;
    }

    /** Whether its image was tried and cannot be restored, while its agent does make images. */
    public boolean notRestorable() {
        return notRestorable;
    }

    /** Whether a process can be put into its sandbox. */
    public boolean hasSandbox() {
        return enterCommand != null;
    }

    /** Value of {@link #COOKIE}; null for a nested stage. */
    @CheckForNull
    public String cookie() {
        return cookie;
    }

    /** For how long it may have executors, in milliseconds; 0 = no limit. */
    public long activeTimeoutMillis() {
        return activeTimeoutMillis;
    }

    /** Whether its agent is a cloud's, which never comes back when it was removed. */
    public boolean onCloud() {
        return onCloud;
    }

    /** How often in a row a restore failed. */
    public int restoreFailures() {
        return restoreFailures;
    }

    /** Since when {@link #whyNotResumed} holds, in milliseconds since 1970. */
    public long notResumedSinceMillis() {
        return notResumedSinceMillis;
    }

    /** Whether it failed since it could not be restored: its image and key are kept as long as its build. */
    public boolean imageKept() {
        return imageKept;
    }

    /** Path of its image below its build's artifacts; null when it has none yet. */
    @CheckForNull
    public String imagePath() {
        return frozen || imageKey == null ? null : ImagePath.of(this);
    }

    /**
     * Not resumed before this moment, by the system clock; {@code Long.MAX_VALUE} when a user has to decide. In the past
     * for one that is further away than any pause: the clock has been set back since.
     */
    public long retryAfterMillis() {
        boolean clockWasSetBack = retryAfterMillis != Long.MAX_VALUE
                && retryAfterMillis - System.currentTimeMillis() > LONGEST_PAUSE_MILLIS;
        return clockWasSetBack ? 0 : retryAfterMillis;
    }

    /** Whether a resume may be tried: no pause after a failed one is left, and where a user is to decide, another agent may be tried. */
    public boolean mayBeTried() {
        long after = retryAfterMillis();
        return after == Long.MAX_VALUE || after <= System.currentTimeMillis();
    }

    /** Of a suspended stage: its own agent is not asked to resume it any more unless a user says so. Another one may be. */
    public boolean undecided() {
        return whyNotResumed != null;
    }

    /** Why it cannot be suspended at this moment, and not by waiting either, in words; null when it can. */
    @CheckForNull
    public String whyNotSuspendable() {
        if (enterCommand == null) {
            return String.valueOf(hostRefusal);
        }
        return canOnlyBeFrozen() ? null : leak;
    }

    /** Whether its executor has other work, or is about to. */
    public boolean suspended() {
        return state == StageState.SUSPENDED || state == StageState.RESUMING;
    }

    @Override
    public String toString() {
        return "stage " + id + " of " + runId + " on '" + node + "' " + state;
    }
}
