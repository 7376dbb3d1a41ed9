package io.jenkins.plugins.preemptible.simulation;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.endsWith;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.User;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.config.SliceRule;
import io.jenkins.plugins.preemptible.config.UnsavedSettings;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import io.jenkins.plugins.preemptible.simulation.SettingsSimulation.Change;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import jenkins.model.Jenkins;
import org.htmlunit.HttpMethod;
import org.htmlunit.Page;
import org.htmlunit.WebRequest;
import org.htmlunit.html.HtmlForm;
import org.htmlunit.html.HtmlPage;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.MockAuthorizationStrategy;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** The pages of simulations, in a browser without scripts, with builds that really ran. */
@WithJenkins
class SimulationPageTest {

    /** What it would do if the page did not escape it. */
    private static final String HTML = "<b onclick=alert(1)>x</b>";

    private static final String START = SettingsSimulation.ALL_URL + "start";

    private static JenkinsRule jenkins;

    @BeforeAll
    static void builds(JenkinsRule rule) throws Exception {
        jenkins = rule;
        jenkins.buildAndAssertSuccess(jenkins.createFreeStyleProject("plain"));
        jenkins.jenkins.setSecurityRealm(jenkins.createDummySecurityRealm());
        jenkins.jenkins.setAuthorizationStrategy(new MockAuthorizationStrategy()
                .grant(Jenkins.ADMINISTER)
                .everywhere()
                .to("admin")
                .grant(Jenkins.READ, PreemptiblePermissions.MANAGE)
                .everywhere()
                .to("manager"));
        User.getById("admin", true).setFullName(HTML);
    }

    @AfterAll
    static void stop() throws Exception {
        jenkins.after();
    }

    @BeforeEach
    void nothingRuns() {
        await().until(() -> Simulations.get().running().isEmpty());
        UnsavedSettings.reset();
    }

    private static JenkinsRule.WebClient browser(String user) {
        JenkinsRule.WebClient client = jenkins.createWebClient().withThrowExceptionOnFailingStatusCode(false);
        client.getOptions().setJavaScriptEnabled(false);
        return client.withBasicCredentials(user);
    }

    private static String text(String user, String address) throws Exception {
        return browser(user).goTo(address).asNormalizedText();
    }

    private static int status(String user, String address, HttpMethod method) throws Exception {
        JenkinsRule.WebClient client = browser(user);
        Page page = client.getPage(new WebRequest(client.createCrumbedUrl(address), method));
        return page.getWebResponse().getStatusCode();
    }

    private static HtmlPage started(String address) throws Exception {
        HtmlForm form = browser("admin").goTo(address).getForms().stream()
                .filter(one -> one.getActionAttribute().endsWith(START))
                .findFirst()
                .orElseThrow();
        form.getInputByName("days").setValue("3");
        return form.getButtonsByName("").get(0).click();
    }

    @Test
    void aSimulationIsStartedAndItsResultIsShownToUsersWhoMaySimulate() throws Exception {
        assertThat(text("admin", "preemptible/statistics"), containsString("Simulate the saved settings"));

        HtmlPage page = started(SettingsSimulation.ALL_URL);

        SettingsSimulation simulation = Simulations.get().all().get(0);
        assertThat(page.getUrl().toString(), endsWith(simulation.getUrl()));
        await().until(() -> !simulation.isRunning());
        HtmlPage shown = browser("admin").goTo(simulation.getUrl());
        String said = shown.asNormalizedText();
        assertThat(said, containsString("last 3 days"));
        assertThat(said, containsString("The saved settings."));
        assertThat(said, containsString("Started by: " + HTML));
        assertThat(said, containsString("All days (1)\t1\t"));
        assertThat(said, containsString("priority 3: waits of 1 builds and blocks"));
        assertEquals(5, shown.querySelectorAll("svg.preemptible-plot polyline").size(), "reality and four disciplines");
        assertEquals(2, shown.querySelectorAll("svg.preemptible-plot rect").size(), "a day with and without");
        assertEquals(
                0,
                shown.querySelectorAll("meta[http-equiv=refresh], b[onclick]").size());
        assertThat(text("admin", SettingsSimulation.ALL_URL), containsString("Done"));
    }

    @Test
    void stagesMoveWhereTheSettingsAllowIt() throws Exception {
        String moves = "Suspended stages resume on other agents with their label";
        PreemptibleConfiguration used = new PreemptibleConfiguration();
        used.setMoveStages(true);
        SettingsSimulation simulation = Simulations.get().start(3, used).orElseThrow();
        await().until(() -> !simulation.isRunning());
        assertThat(text("admin", simulation.getUrl()), containsString(moves));
        assertEquals(
                List.of(true),
                simulation.getChanges().stream().map(Change::effect).toList());
        SettingsSimulation without = Simulations.get().startSaved(3).orElseThrow();
        await().until(() -> !without.isRunning());
        assertThat(text("admin", without.getUrl()), not(containsString(moves)));
    }

    @Test
    void waitsAvoidedAreOnThePageOfStatisticsForEverybody() throws Exception {
        started("preemptible/statistics");
        await().until(() -> Simulations.get().running().isEmpty());

        String administrators = text("admin", "preemptible/statistics");
        assertThat(administrators, containsString("Waits avoided"));
        assertThat(administrators, containsString("All days (1)\t1\t"));
        String others = text("manager", "preemptible/statistics");
        assertThat(others, containsString("All days (1)\t1\t"));
        assertThat(others, not(containsString("Simulate the saved settings")));
        assertEquals(
                List.of(),
                browser("manager").goTo("preemptible/statistics").getAnchors().stream()
                        .filter(link -> link.getHrefAttribute().contains("simulation"))
                        .toList());
    }

    @Test
    void whatDiffersFromTheSavedSettingsIsShownAndIsNoStatistic() throws Exception {
        PreemptibleConfiguration used = UnsavedSettings.fresh();
        SliceRule rule = new SliceRule(9);
        rule.setLabel("\"" + HTML + "\"");
        used.setSliceRules(List.of(rule));
        used.setBestPriority(2);
        int before = Simulations.get().all().size();
        SettingsSimulation simulation = Simulations.get().start(7, used).orElseThrow();
        await().until(() -> !simulation.isRunning());

        HtmlPage shown = browser("admin").goTo(simulation.getUrl());

        String said = shown.asNormalizedText();
        assertThat(said, containsString("Settings that differ from the saved ones: 2."));
        assertThat(
                said,
                containsString("Other time slices\tnone\tlabel: \"" + HTML + "\", priorities 1 to 1000: 9 minutes"));
        assertThat(said, containsString("Best priority that a step may ask for\t0\t2\thas no effect on a simulation"));
        assertEquals(0, shown.querySelectorAll("b[onclick]").size());
        assertFalse(Simulations.get()
                .newestOfSavedSettings()
                .filter(simulation::equals)
                .isPresent());
        assertEquals(
                Math.min(before + 1, Simulations.MOST), Simulations.get().all().size());
    }

    @Test
    void oneRunsAtATimeAndItsProgressIsShown() throws Exception {
        CountDownLatch goOn = new CountDownLatch(1);
        Simulations.get().thread().execute(() -> {
            try {
                goOn.await();
            } catch (InterruptedException x) {
                Thread.currentThread().interrupt();
            }
        });
        try {
            HtmlPage running = started(SettingsSimulation.ALL_URL);
            assertThat(running.asNormalizedText(), containsString("Runs: About to begin (steps done: 0 of 5)"));
            assertEquals(1, running.querySelectorAll("meta[http-equiv=refresh]").size(), "loads itself anew");
            int kept = Simulations.get().all().size();
            assertEquals(409, status("admin", START + "?days=7", HttpMethod.POST));
            assertThat(
                    started(SettingsSimulation.ALL_URL).asNormalizedText(), containsString("Another simulation runs."));
            assertEquals(kept, Simulations.get().all().size());
        } finally {
            goOn.countDown();
        }
    }

    @Test
    void usersWhoMayNotSimulateSeeNothing() throws Exception {
        Simulations.get().startSaved(7);
        String one = Simulations.get().all().get(0).getUrl();
        int kept = Simulations.get().all().size();
        assertEquals(403, status("manager", SettingsSimulation.ALL_URL, HttpMethod.GET));
        assertEquals(403, status("manager", one, HttpMethod.GET));
        assertEquals(403, status("manager", START + "?days=7", HttpMethod.POST));
        assertThat(text("manager", "preemptible/"), not(containsString("Simulation")));
        assertEquals(kept, Simulations.get().all().size());
    }

    @Test
    void aWrongRequestIsRefused() throws Exception {
        int kept = Simulations.get().all().size();
        assertEquals(405, status("admin", START + "?days=7", HttpMethod.GET));
        for (String days : List.of("0", "-1", "366", "x", "", "99999999999")) {
            assertEquals(400, status("admin", START + "?days=" + days, HttpMethod.POST), days);
        }
        assertEquals(400, status("admin", START, HttpMethod.POST));
        assertEquals(404, status("admin", SettingsSimulation.ALL_URL + "no-such-id/", HttpMethod.GET));
        assertEquals(404, status("admin", SettingsSimulation.ALL_URL + "%3Cb%3E/", HttpMethod.GET));
        assertEquals(kept, Simulations.get().all().size());
    }

    @Test
    void theNewestAreKept() {
        for (int i = 0; i <= Simulations.MOST; i++) {
            SettingsSimulation one = Simulations.get().startSaved(1).orElseThrow();
            await().until(() -> !one.isRunning());
            assertEquals(one, Simulations.get().all().get(0));
        }
        assertEquals(Simulations.MOST, Simulations.get().all().size());
    }

    @Test
    void withoutBuildsThereIsNoResult() throws Exception {
        PreemptibleConfiguration saved = PreemptibleConfiguration.get();
        SettingsSimulation nothing = new SettingsSimulation("nobody", 1, saved, saved);
        jenkins.jenkins.setNumExecutors(0);
        try {
            nothing.run();
        } finally {
            jenkins.jenkins.setNumExecutors(2);
        }
        assertFalse(nothing.isRunning());
        assertTrue(
                nothing.getFailure().startsWith("No build of the last 1 days can be replayed"), nothing.getFailure());
    }
}
