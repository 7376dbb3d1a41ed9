package io.jenkins.plugins.preemptible.overview;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.greaterThan;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.cloudbees.hudson.plugins.folder.Folder;
import com.cloudbees.hudson.plugins.folder.properties.AuthorizationMatrixProperty;
import hudson.model.AbstractItem;
import hudson.model.Item;
import hudson.model.ItemGroup;
import hudson.model.Job;
import hudson.model.Node;
import hudson.security.ACL;
import hudson.security.Permission;
import hudson.security.ProjectMatrixAuthorizationStrategy;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.matrixauth.PermissionEntry;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;
import org.springframework.security.core.Authentication;

/**
 * A thousand suspended stages of fifty jobs, each job in a folder with permissions of its own, seen by a user who is no
 * administrator. Half of the preemptors are of jobs that they may not read.
 */
@WithJenkins
class ManyStagesTest {

    private static final int JOBS = 50;
    private static final int STAGES_A_JOB = 20;
    private static final int TURNS = 15;
    private static final String HIDDEN = "hidden";

    /** Counts each permission that anybody but Jenkins itself asks for. */
    private static final AtomicLong CHECKS = new AtomicLong();

    private static JenkinsRule j;
    private static final List<WorkflowRun> RUNS = new ArrayList<>();

    /** The real one, which counts. */
    public static final class CountingMatrix extends ProjectMatrixAuthorizationStrategy {

        @Override
        public ACL getACL(Job<?, ?> job) {
            return counting(super.getACL(job));
        }

        @Override
        public ACL getACL(ItemGroup<?> group) {
            return counting(super.getACL(group));
        }

        @Override
        public ACL getACL(Node node) {
            return counting(super.getACL(node));
        }

        @Override
        public ACL getACL(AbstractItem item) {
            return counting(super.getACL(item));
        }

        private static ACL counting(ACL real) {
            return ACL.lambda2((who, permission) -> counted(real, who, permission));
        }

        private static boolean counted(ACL real, Authentication who, Permission permission) {
            if (!who.equals(ACL.SYSTEM2)) {
                CHECKS.incrementAndGet();
            }
            return real.hasPermission2(who, permission);
        }
    }

    @BeforeAll
    static void jobs(JenkinsRule jenkins) throws Exception {
        j = jenkins;
        j.jenkins.setSecurityRealm(j.createDummySecurityRealm());
        CountingMatrix matrix = new CountingMatrix();
        matrix.add(Jenkins.READ, PermissionEntry.user("reader"));
        matrix.add(Jenkins.ADMINISTER, PermissionEntry.user("admin"));
        j.jenkins.setAuthorizationStrategy(matrix);
        j.createProject(Folder.class, HIDDEN).createProject(WorkflowJob.class, "job");
        for (int i = 0; i < JOBS; i++) {
            Folder folder = j.createProject(Folder.class, "folder" + i);
            AuthorizationMatrixProperty granted = new AuthorizationMatrixProperty(Map.of());
            granted.add(Item.READ, PermissionEntry.user("reader"));
            granted.add(PreemptiblePermissions.SUSPEND, PermissionEntry.user("reader"));
            folder.addProperty(granted);
            WorkflowJob job = folder.createProject(WorkflowJob.class, "job");
            for (int build = 0; build < STAGES_A_JOB; build++) {
                // Never started: it is in memory and counts as building, which is all that a page asks.
                RUNS.add(job.getLazyBuildMixIn().newBuild());
            }
        }
    }

    @AfterAll
    static void stop() throws Exception {
        RUNS.clear();
        j.after();
    }

    /** One stage of each of the first builds of each job. */
    private static void suspended(int stagesAJob) {
        for (StageRecord stage : StageRegistry.get().all()) {
            StageRegistry.get().ended(stage.id());
            StageRegistry.get().cleaned(stage.id());
        }
        for (int i = 0; i < RUNS.size(); i++) {
            if (i % STAGES_A_JOB < stagesAJob) {
                String preemptor = i % 2 == 0
                        ? HIDDEN + "/job"
                        : RUNS.get((i + 7) % RUNS.size()).getParent().getFullName();
                StageRegistry.get()
                        .add(Pretended.sealed(Pretended.withNode(
                                Pretended.withId(
                                        Pretended.suspendedFor(
                                                RUNS.get(i).getExternalizableId(),
                                                "preemptor of " + preemptor,
                                                preemptor,
                                                "Because."),
                                        UUID.randomUUID().toString()),
                                "")));
            }
        }
    }

    private static List<String> pages() {
        return List.of(
                "",
                "computer/",
                "preemptible/",
                "preemptible/?count=500&sort=for",
                "preemptible/?count=500&sort=next&order=desc",
                "preemptible/running",
                "preemptible/waiting",
                "preemptible/agents",
                "preemptible/statistics",
                "preemptible/api/json",
                "preemptible/api/json?count=500",
                "computer/(built-in)/preemptible/",
                RUNS.get(0).getUrl(),
                RUNS.get(0).getUrl() + "preemptible/",
                RUNS.get(0).getUrl() + "api/json");
    }

    private static String shown(String page) throws Exception {
        HttpResponse<String> response = answer(page);
        assertEquals(200, response.statusCode(), page + ": " + response.body());
        return response.body();
    }

    private static HttpResponse<String> answer(String page) throws Exception {
        String user = Base64.getEncoder().encodeToString("reader:reader".getBytes(StandardCharsets.UTF_8));
        return HttpClient.newBuilder()
                .followRedirects(HttpClient.Redirect.NORMAL)
                .build()
                .send(
                        HttpRequest.newBuilder(URI.create(j.getURL() + page))
                                .header("Authorization", "Basic " + user)
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
    }

    private static long checks(String page) throws Exception {
        long before = CHECKS.get();
        shown(page);
        return CHECKS.get() - before;
    }

    /** Twenty times as many stages of the same jobs must not be twenty times as many checks. */
    @Test
    void permissionsAreCheckedForEachJobAndNotForEachStage() throws Exception {
        List<String> grew = new ArrayList<>();
        suspended(1);
        // Whatever is checked only the first time.
        for (String page : pages()) {
            shown(page);
        }
        List<Long> few = new ArrayList<>();
        for (String page : pages()) {
            few.add(checks(page));
        }
        suspended(STAGES_A_JOB);
        for (int i = 0; i < few.size(); i++) {
            String page = pages().get(i);
            long many = checks(page);
            System.out.println("checks of '" + page + "': " + few.get(i) + " for " + JOBS + " stages, " + many + " for "
                    + JOBS * STAGES_A_JOB);
            if (many > few.get(i) + JOBS) {
                grew.add(page + ": " + few.get(i) + " -> " + many);
            }
        }
        assertEquals(List.of(), grew);
        String list = shown("preemptible/?count=500&sort=for");
        assertThat(list, containsString("a build that you may not see"));
        assertThat(shown("preemptible/?count=500&sort=for&order=desc"), containsString("preemptor of folder"));
        assertThat("names of hidden jobs", list, not(containsString("preemptor of " + HIDDEN)));
        assertThat(list.split("verb=hold", -1).length, greaterThan(500));
        assertThat(shown(""), containsString("Suspended stages (1,000)"));
    }

    @Test
    void anAgentsPageHasFiftyOfItsStagesAndTheWayToTheOthers() throws Exception {
        suspended(2);
        String agent = "computer/(built-in)/preemptible/";
        assertThat(shown(agent), containsString("1 to 50 of 100"));
        assertEquals(51, shown(agent).split("<tr", -1).length - 1, "with the head");
        assertThat(shown(agent), containsString("href=\"?from=50\""));
        assertThat(shown(agent + "?from=50"), containsString("51 to 100 of 100"));
        assertThat(shown(agent + "?from=50"), containsString("href=\"?from=0\""));
        assertThat(shown(agent + "?from=x"), containsString("1 to 50 of 100"));
        assertThat(shown(agent + "?from=-1"), containsString("1 to 50 of 100"));
    }

    @Test
    void theRowOfABuildTellsWhoseItsImageIs() throws Exception {
        suspended(1);
        String row = shown(RUNS.get(0).getUrl());
        assertThat(row, containsString("/suspended-stage.preempt"));
        assertThat(row, containsString("removes it when the stage is resumed"));
    }

    /** Prints a table for docs/pages.md, and fails above the goal: one second, where the machine is idle. */
    @Test
    @Tag("bench")
    void eachPageTakesLessThanASecond() throws Exception {
        suspended(STAGES_A_JOB);
        List<String> slow = new ArrayList<>();
        System.out.println("| Page, " + JOBS * STAGES_A_JOB + " suspended stages, load "
                + ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage()
                + " | first | median | longest of "
                + TURNS + " |\n| --- | --- | --- | --- |");
        for (String page : pages()) {
            long first = millis(page);
            long[] took = new long[TURNS];
            for (int i = 0; i < TURNS; i++) {
                took[i] = millis(page);
            }
            Arrays.sort(took);
            System.out.println(
                    "| `" + page + "` | " + first + " ms | " + took[TURNS / 2] + " ms | " + took[TURNS - 1] + " ms |");
            if (took[TURNS / 2] >= 1_000) {
                slow.add(page);
            }
        }
        assertEquals(List.of(), slow);
    }

    private static long millis(String page) throws Exception {
        long begin = System.nanoTime();
        shown(page);
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
    }
}
