package io.jenkins.plugins.preemptible.acceptance.faults;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A stage that counts, on the host and in the log of its build; what it leaves behind when it has ended. */
record CountingStage(FaultRig rig, String job, int number, AgentProcess agent, Path workspace, String stageId) {

    /** The numbers in the file of its workspace, empty as long as there is none. */
    List<Integer> counted() throws IOException {
        Path counted = workspace.resolve("counted");
        return Files.exists(counted)
                ? Files.readAllLines(counted).stream().map(Integer::valueOf).toList()
                : List.of();
    }

    /** The numbers in the log of its build. */
    List<Integer> console() throws IOException {
        return BuildLog.of(rig.controller.jenkinsHome(), job, number).counts();
    }

    void awaitNothingLeft() {
        new Leftovers(rig.controller, job, number, stageId, workspace, List.of(agent.folder())).awaitNone();
    }

    @Override
    public String toString() {
        return job + " #" + number + " (" + stageId + ")";
    }
}
