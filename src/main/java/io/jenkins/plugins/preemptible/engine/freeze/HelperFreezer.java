package io.jenkins.plugins.preemptible.engine.freeze;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.privileged.HostState;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedPart;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A freezer of root's, for a user whose host has the privileged part: its control group is made by a start or a
 * restore, and each change is one call through sudo.
 *
 * <ol>
 *   <li>The group has another name after each restore; the privileged part knows which.
 *   <li>{@link #kill} waits for a dump that is under way, which ends as soon as its engine hears of the kill.
 *   <li>{@link #remove} also removes what the privileged part remembers of the stage.
 * </ol>
 */
public final class HelperFreezer implements Freezer {

    /** Somewhat longer than a cancelled dump takes to end. */
    private static final Duration BUSY_LIMIT = TimeLimits.of(Duration.ofSeconds(60));

    private final StageId id;
    private final PrivilegedPart part;

    HelperFreezer(StageId id) {
        this.id = id;
        this.part = PrivilegedPart.find()
                .orElseThrow(() -> new EngineException(
                        FailureReason.NO_ANSWER, "the privileged part that runs " + id + " is gone from this host"));
    }

    public StageId id() {
        return id;
    }

    public PrivilegedPart part() {
        return part;
    }

    @Override
    public void create() {
        // A start or a restore makes it.
    }

    @Override
    public Optional<Path> cgroup() {
        return part.seen(id).map(s -> Path.of(s.group()));
    }

    @Override
    public Optional<Path> joinFile() {
        return Optional.empty();
    }

    @Override
    public List<Long> pids(HostProcess init) throws IOException {
        Optional<Path> group = cgroup();
        return group.isEmpty() ? List.of() : new CgroupFreezer(true, group.get()).pids(init);
    }

    @Override
    public void freeze(HostProcess init, Duration limit) throws IOException {
        try {
            part.freeze(id);
        } catch (EngineException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    @Override
    public boolean holds(HostProcess init) {
        return part.seen(id).filter(s -> s.state() == HostState.FROZEN).isPresent();
    }

    @Override
    public void thaw(HostProcess init) throws IOException {
        try {
            part.thaw(id);
        } catch (EngineException e) {
            if (!isGone(e)) {
                throw new IOException(e.getMessage(), e);
            }
        }
    }

    @Override
    public void kill(HostProcess init) throws IOException {
        long end = System.nanoTime() + BUSY_LIMIT.toNanos();
        while (true) {
            try {
                part.kill(id);
                return;
            } catch (EngineException e) {
                if (isGone(e)) {
                    return;
                }
                if (e.reason() != FailureReason.STAGE_BUSY || System.nanoTime() - end > 0) {
                    throw new IOException(e.getMessage(), e);
                }
            }
        }
    }

    private static boolean isGone(EngineException e) {
        return e.reason() == FailureReason.UNKNOWN_STAGE || e.reason() == FailureReason.STAGE_ENDED;
    }

    @Override
    public void remove() throws IOException {
        try {
            part.forget(id);
        } catch (EngineException e) {
            if (!isGone(e)) {
                throw new IOException(e.getMessage(), e);
            }
        }
    }

    @Override
    public FreezerKind kind() {
        return FreezerKind.HELPER;
    }

    @Override
    public String location() {
        return FreezerKind.HELPER_LOCATION + ":" + id.value();
    }
}
