package io.jenkins.plugins.preemptible.lifecycle.stage;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.model.Computer;
import hudson.slaves.WorkspaceList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.BodyExecution;
import org.jenkinsci.plugins.workflow.steps.StepContext;

/**
 * The part of a stage that lives in this controller process only.
 *
 * <ol>
 *   <li>Registered when the step starts and again when it is resumed after a restart; found by the stage's id.
 *   <li>{@link #operation} is held while the stage is suspended, resumed or ended, so those never overlap; it is the
 *       outermost lock and never taken under the queue's lock.
 *   <li>The volatile flags are set by the thread that learns something first, and read under {@link #operation}.
 * </ol>
 */
public final class LiveStage {

    /** After CRIU refused a stage it is spared for so long: the cause seldom goes away by itself. */
    public static final long REFUSED_RETRY_MILLIS = TimeUnit.MINUTES.toMillis(5);

    private static final Map<String, LiveStage> LIVE = new ConcurrentHashMap<>();

    private final String id;
    private final StepContext context;
    private final ExecutorHold hold;
    private final StageClock clock;
    private final ReentrantLock operation = new ReentrantLock();
    /** Counts launches into the sandbox: a launch between decision and freeze makes the dump void. */
    private final AtomicInteger launches = new AtomicInteger();
    /** Set by the step when its body started, read when it has to be cancelled. */
    private volatile BodyExecution body;
    /** Set by the step; in memory only, as Jenkins' own list of leases is. */
    private volatile WorkspaceList.Lease lease;
    /** Whose list of leases has that one; an agent that was removed and added again has another list. */
    private volatile Computer leasedOn;
    /** Set once, when the body has ended: nothing may be started for the stage any more. */
    private volatile boolean ending;
    /** Set when an abort, or a cancel of its queue item, reached a stage that has no running process. */
    private final AtomicBoolean aborting = new AtomicBoolean();
    /** The ordinary kills that were asked for while no process of the stage could take them. */
    private final Queue<StageThreads.Work> pendingKills = new ConcurrentLinkedQueue<>();
    /**
     * A suspension failed or came at the wrong moment: not tried again before. Of {@link System#nanoTime}, which a change of
     * the system clock leaves alone; null for no such moment.
     */
    private volatile Long retryAfterNanos;
    /** Null when its agent did not refuse the last attempt to suspend it. */
    @CheckForNull
    private volatile Refused refused;
    /** Held while the image is made of a stage whose executor is gone; see {@code Sealing}. */
    private final AtomicBoolean sealing = new AtomicBoolean();

    private volatile boolean sealingFailed;
    /** Of which suspension its log says that it takes too long; 0 = of none. */
    private final AtomicInteger lateTold = new AtomicInteger();
    /** The build log says that a suspension waits for the end of {@link #sealing}. */
    private final AtomicBoolean waitingTold = new AtomicBoolean();

    private final AtomicInteger outages = new AtomicInteger();
    /** Its agent has no record of it; null while it has one. Under this object's lock. */
    @CheckForNull
    private Unknown unknown;

    private final Set<FlowNode> marked = ConcurrentHashMap.newKeySet();
    private final StageMemory memory = new StageMemory();
    private final StepObjection objection;
    /** Set when the stage may have its executor again, cleared when it has it or has lost it. */
    private volatile boolean granted;
    /** Set under the queue's lock. */
    @CheckForNull
    private volatile hudson.model.Queue.Item block;

    private LiveStage(String id, StepContext context, ExecutorHold hold, StageClock clock) {
        this.clock = clock;
        this.id = id;
        this.context = context;
        this.hold = hold;
        this.objection = new StepObjection(clock);
    }

    /** Makes the stage known; replaces nothing that is known already. */
    public static LiveStage register(@NonNull String id, @NonNull StepContext context, @NonNull ExecutorHold hold) {
        return LIVE.computeIfAbsent(id, key -> new LiveStage(id, context, hold, StageClock.SYSTEM));
    }

    /** One of a test, by its own clock and without a Pipeline. */
    static LiveStage registerForTest(String id, ExecutorHold hold, StageClock clock) {
        return LIVE.computeIfAbsent(id, key -> new LiveStage(id, null, hold, clock));
    }

    @CheckForNull
    public static LiveStage find(@CheckForNull String id) {
        return id == null ? null : LIVE.get(id);
    }

    public static Collection<LiveStage> all() {
        return List.copyOf(LIVE.values());
    }

    public void forget() {
        LIVE.remove(id, this);
    }

    /** Forgets every stage; a controller that stops in the same JVM (tests) must not leave any behind. */
    static void forgetAll() {
        LIVE.clear();
    }

    public String id() {
        return id;
    }

    public StepContext context() {
        return context;
    }

    public ExecutorHold hold() {
        return hold;
    }

    /** Notes that a process is about to be launched into the sandbox. */
    public void launching() {
        launches.incrementAndGet();
    }

    public int launches() {
        return launches.get();
    }

    @CheckForNull
    public BodyExecution body() {
        return body;
    }

    public void body(BodyExecution started) {
        body = started;
    }

    @CheckForNull
    public WorkspaceList.Lease lease() {
        return lease;
    }

    /** The lease of its workspace by that very agent; null when it has none there. */
    @CheckForNull
    public synchronized WorkspaceList.Lease leaseOn(Computer computer) {
        return leasedOn == computer ? lease : null;
    }

    /**
     * Keeps a lease in the place of that which it has; releases it at once where the stage is over.
     *
     * @param on whose lease it is; both null when the stage's lease is another one's now
     */
    public void lease(@CheckForNull WorkspaceList.Lease taken, @CheckForNull Computer on) {
        boolean over;
        synchronized (this) {
            over = ending && taken != null;
            lease = over ? null : taken;
            leasedOn = over ? null : on;
        }
        if (over) {
            taken.release();
        }
    }

    /** Gives the workspace back; harmless when it was given back before. */
    public void releaseLease() {
        WorkspaceList.Lease held;
        synchronized (this) {
            held = lease;
            lease = null;
            leasedOn = null;
        }
        if (held != null) {
            held.release();
        }
    }

    public boolean ending() {
        return ending;
    }

    public synchronized void markEnding() {
        ending = true;
    }

    public boolean aborting() {
        return aborting.get();
    }

    /** @return false when it was marked before */
    public boolean markAborting() {
        return aborting.compareAndSet(false, true);
    }

    public void pendingKill(StageThreads.Work kill) {
        pendingKills.add(kill);
    }

    /** Carries out the kills that came while the stage had no running process, now that it has. */
    public void carryOutKill() {
        StageThreads.Work kill = pendingKills.poll();
        while (kill != null && !ending) {
            aborting.set(false);
            StageThreads.soonFor(StageThreads.agentOf(id), "killing a step of stage " + id, kill);
            kill = pendingKills.poll();
        }
    }

    /** By the system clock as it is now; 0 when nothing has to be waited for. */
    public long retryAfterMillis() {
        Long after = retryAfterNanos;
        long left = after == null ? 0 : TimeUnit.NANOSECONDS.toMillis(after - clock.nanoTime());
        return left <= 0 ? 0 : clock.nowMillis() + left;
    }

    public void retryAfter(long millis) {
        retryAfterNanos = millis == 0 ? null : Long.valueOf(clock.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis));
    }

    /** Why, and until when that counts, by {@link System#nanoTime}. */
    private record Refused(String sentence, long untilNanos) {}

    /** Its agent has refused to suspend it, in a sentence; that counts until it is tried again, or is not for some seconds. */
    public void refused(String sentence, long retryMillis) {
        retryAfter(retryMillis);
        refused = new Refused(
                sentence,
                clock.nanoTime() + TimeUnit.MILLISECONDS.toNanos(retryMillis) + StepObjection.OVER_AFTER_NANOS);
    }

    /** Another attempt begins. */
    public void notRefused() {
        refused = null;
    }

    /** Why its agent refused the last attempt to suspend it, in a sentence; null when it did not, or long ago. */
    @CheckForNull
    public String refusal() {
        Refused last = refused;
        return last == null || clock.nanoTime() - last.untilNanos > 0 ? null : last.sentence;
    }

    /** A user wants it suspended now: the next attempt no longer waits because of an earlier failure. */
    public void tryAtOnce() {
        retryAfter(0);
    }

    /** @return false when another thread does it already */
    public boolean beginSealing() {
        return sealing.compareAndSet(false, true);
    }

    public void endSealing() {
        sealing.set(false);
        waitingTold.set(false);
    }

    /** @return whether it has not been told yet that a suspension waits for the end of {@link #sealing} */
    public boolean tellWaiting() {
        return waitingTold.compareAndSet(false, true);
    }

    /** @return whether it has not been told yet that this suspension of the stage takes too long */
    public boolean tellLate(int suspension) {
        return lateTold.getAndSet(suspension) != suspension;
    }

    /** Whether an image of the stage is being made, or the attempt to make one has not come to its end yet. */
    public boolean sealing() {
        return sealing.get();
    }

    public void sealingFailed() {
        sealingFailed = true;
    }

    /** Whether an attempt at the image of its last suspension failed, and none succeeded since; forgets that. */
    public boolean takeSealingFailed() {
        boolean failed = sealingFailed;
        sealingFailed = false;
        return failed;
    }

    /** Another attempt to resume it found the agent or the archive away. @return how many did in a row before */
    public int outage() {
        return outages.getAndIncrement();
    }

    public void outageOver() {
        outages.set(0);
    }

    /**
     * That its agent has no record of it, as it has said since then without a pause: while it is away nothing is known.
     *
     * @param suspension which one of the stage
     */
    private record Unknown(int suspension, long sinceNanos, long lastNanos) {
        private static final long PAUSE_NANOS = TimeUnit.MINUTES.toNanos(1);

        Unknown again(int now, long nanos) {
            boolean same = suspension == now && nanos - lastNanos <= PAUSE_NANOS;
            return new Unknown(now, same ? sinceNanos : nanos, nanos);
        }
    }

    /**
     * Its agent has just said that it has no record of it.
     *
     * @return for how many milliseconds it has said so; 0 = it has not, in that suspension, within the last minute
     */
    public synchronized long unknownForMillis(int suspension) {
        long now = clock.nanoTime();
        unknown = unknown == null ? new Unknown(suspension, now, now) : unknown.again(suspension, now);
        return TimeUnit.NANOSECONDS.toMillis(now - unknown.sinceNanos);
    }

    /** Its agent has a record of it. */
    public synchronized void known() {
        unknown = null;
    }

    /** What is known of its memory. */
    public StageMemory memory() {
        return memory;
    }

    /** Which step stands against its suspension. */
    public StepObjection objection() {
        return objection;
    }

    public boolean granted() {
        return granted;
    }

    public void granted(boolean now) {
        granted = now;
    }

    /** The item of its node block, while the stage is suspended and the block is in the queue. */
    @CheckForNull
    public hudson.model.Queue.Item block() {
        return block;
    }

    public void block(@CheckForNull hudson.model.Queue.Item queued) {
        block = queued;
    }

    /** The nodes of Pipeline's own stages that show this one as suspended. */
    public Set<FlowNode> marked() {
        return marked;
    }

    /** Held while the stage is suspended, resumed or ended; see the class. */
    public Lock operation() {
        return operation;
    }

    /** Whether the stage is being suspended, resumed or ended at this moment. */
    public boolean busy() {
        return operation.isLocked();
    }
}
