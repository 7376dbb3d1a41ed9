package io.jenkins.plugins.preemptible.acceptance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Computer;
import hudson.model.Label;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.Result;
import hudson.slaves.DumbSlave;
import io.jenkins.plugins.preemptible.engine.policy.Action;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Two hundred jobs of random priorities on ten agent processes. */
@WithJenkins
@Tag("soak")
class ManyJobsTest {

    private static final int AGENTS = 10;
    private static final int JOBS = 200;
    private static final long ARRIVALS_SECONDS = 900;
    private static final long END_SECONDS = 2_400;
    private static final long IDLE_SECONDS = 5;

    private JenkinsRule j;
    private Rig rig;

    @BeforeEach
    void agents(JenkinsRule jenkins) throws Exception {
        Rig.assumeSuspendable();
        j = jenkins;
        rig = new Rig(j);
        rig.agent();
        for (int i = 1; i < AGENTS; i++) {
            DumbSlave agent = AgentJvm.add(j, "worker" + i, Rig.LABEL, null);
            agent.setNumExecutors(1);
            j.waitOnline(agent);
        }
        j.jenkins.setNumExecutors(0);
    }

    /** Every fifth job fails at its end: its result must be that of an undisturbed run, whatever happened meanwhile. */
    private static Result undisturbed(int job) {
        return job % 5 == 0 ? Result.FAILURE : Result.SUCCESS;
    }

    private WorkflowJob job(int number, Random random) throws Exception {
        int steps = 20 + random.nextInt(1_000);
        String shell = Rig.counter(steps) + "; echo all-of-" + number + "; exit " + (number % 5 == 0 ? 1 : 0);
        int kind = number % 3;
        String script = kind == 0
                ? "node('linux') { sh '''set +x\n" + Rig.counter(20 + random.nextInt(80)) + "; echo all-of-" + number
                        + "; exit " + (number % 5 == 0 ? 1 : 0) + "''' }"
                : kind == 1 ? Rig.own(shell) : Rig.nested(shell, "echo 'after'");
        return rig.pipeline("job" + number, 1 + random.nextInt(5), script);
    }

    @Test
    void everyJobEndsWithItsUndisturbedResult() throws Exception {
        Random random = new Random(4);
        List<WorkflowJob> jobs = new ArrayList<>();
        for (int i = 0; i < JOBS; i++) {
            jobs.add(job(i, random));
        }
        Map<String, Long> idleSince = new HashMap<>();
        Map<String, Integer> reasons = new TreeMap<>();
        List<WorkflowRun> runs = new ArrayList<>();
        List<String> idle = new ArrayList<>();
        long begun = System.nanoTime();
        while (runs.size() < JOBS || runs.stream().anyMatch(WorkflowRun::isBuilding)) {
            long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun);
            assertTrue(
                    seconds < END_SECONDS,
                    () -> "still building: "
                            + runs.stream().filter(WorkflowRun::isBuilding).toList());
            while (runs.size() < JOBS && runs.size() <= JOBS * seconds / ARRIVALS_SECONDS) {
                runs.add(Rig.start(jobs.get(runs.size())));
            }
            for (Action action : LastDecision.get().actions()) {
                reasons.merge(action.reason().name(), 1, Integer::sum);
            }
            idleTooLong(idleSince, idle);
            TimeUnit.MILLISECONDS.sleep(500);
        }
        System.out.println(JOBS + " jobs in " + TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun)
                + " s; reasons seen: " + reasons + "; idle beside a waiting one: " + idle);
        int suspended = 0;
        for (int i = 0; i < JOBS; i++) {
            WorkflowRun run = runs.get(i);
            String log = Rig.log(run);
            assertEquals(undisturbed(i), run.getResult(), () -> run + ":\n" + log);
            assertTrue(log.contains("all-of-" + i + "\n"), () -> run + ":\n" + log);
            int suspensions = log.split("Suspending this stage for ", -1).length - 1;
            suspended += suspensions;
            // A build that was suspended says for whom and why.
            assertEquals(suspensions, log.split("Suspending this stage for [^:]+: [A-Z][^.]+\\.", -1).length - 1, log);
        }
        System.out.println("suspended " + suspended + " times");
        assertTrue(suspended > 20, "hardly anything was suspended: " + suspended);
        assertEquals(List.of(), idle);
    }

    /** Notes what waits although an executor that fits has been idle for too long. */
    private void idleTooLong(Map<String, Long> since, List<String> idle) {
        Set<String> idleNodes = new HashSet<>();
        for (Node node : Label.get(Rig.LABEL).getNodes()) {
            Computer computer = node.toComputer();
            if (computer != null && computer.countIdle() > 0) {
                idleNodes.add(node.getNodeName());
            }
        }
        Map<String, String> waiting = new HashMap<>();
        if (!idleNodes.isEmpty()) {
            for (Queue.BuildableItem item : Queue.getInstance().getBuildableItems()) {
                boolean fits = item.getAssignedLabel().getNodes().stream()
                        .anyMatch(node -> idleNodes.contains(node.getNodeName()));
                if (fits && !item.isPending()) {
                    waiting.put("item " + item.getId(), item.task.getFullDisplayName() + ": " + item.getWhy());
                }
            }
            for (StageRecord stage : StageRegistry.get().all()) {
                if (stage.state() == StageState.SUSPENDED && idleNodes.contains(stage.node())) {
                    waiting.put(stage.id(), stage + ": " + LastDecision.get().of(stage.id()));
                }
            }
        }
        since.keySet().retainAll(waiting.keySet());
        waiting.forEach((who, why) -> {
            long from = since.computeIfAbsent(who, key -> System.nanoTime());
            if (System.nanoTime() - from > TimeUnit.SECONDS.toNanos(IDLE_SECONDS)) {
                idle.add(why);
            }
        });
    }
}
