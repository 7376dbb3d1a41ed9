package io.jenkins.plugins.preemptible.engine.stage;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import java.util.List;

/**
 * What is kept on disk about a stage, so that any process on this host finds it again.
 *
 * <ol>
 *   <li>It is written before each effect: it tells what was about to happen, the host tells what did.
 *   <li>{@code init} is the stage's first process on this host, null when there is none.
 *   <li>{@code mounts} are the mount points that the stage was given at its start; they belong to the host.
 * </ol>
 *
 * @param archive where the image was sealed to, null unless there is one
 * @param dumped the host's process ids in the image that waits for commit or thaw, null unless one does
 * @param freezer where its freezer is, null when the stage has none
 * @param startedAt ISO 8601
 * @param sandbox whether it has no command of its own
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record StageRecord(
        String id,
        String name,
        String workDir,
        boolean sandbox,
        StageStatus.State state,
        HostProcess init,
        String freezer,
        String startedAt,
        String archive,
        int suspensions,
        List<Long> dumped,
        List<String> mounts,
        String folder) {

    public StageRecord withState(StageStatus.State next) {
        return new StageRecord(
                id, name, workDir, sandbox, next, init, freezer, startedAt, archive, suspensions, dumped, mounts,
                folder);
    }

    public StageRecord withInit(HostProcess next) {
        return new StageRecord(
                id, name, workDir, sandbox, state, next, freezer, startedAt, archive, suspensions, dumped, mounts,
                folder);
    }

    public StageRecord withFreezer(String next) {
        return new StageRecord(
                id, name, workDir, sandbox, state, init, next, startedAt, archive, suspensions, dumped, mounts, folder);
    }

    public StageRecord withImage(String nextArchive, List<Long> nextDumped) {
        return new StageRecord(
                id, name, workDir, sandbox, state, init, freezer, startedAt, nextArchive, suspensions, nextDumped,
                mounts, folder);
    }

    public StageRecord withMounts(List<String> next) {
        return new StageRecord(
                id, name, workDir, sandbox, state, init, freezer, startedAt, archive, suspensions, dumped, next, folder);
    }

    public StageRecord withSuspensions(int next) {
        return new StageRecord(
                id, name, workDir, sandbox, state, init, freezer, startedAt, archive, next, dumped, mounts, folder);
    }
}
