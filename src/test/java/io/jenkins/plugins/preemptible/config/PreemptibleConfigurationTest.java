package io.jenkins.plugins.preemptible.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.BulkChange;
import hudson.security.AuthorizationStrategy;
import hudson.security.SecurityRealm;
import hudson.util.FormValidation;
import io.jenkins.plugins.preemptible.engine.policy.FreezeOnly;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.policy.Slices;
import io.jenkins.plugins.preemptible.engine.policy.Undisturbed;
import io.jenkins.plugins.preemptible.engine.policy.UndumpableStages;
import io.jenkins.plugins.preemptible.simulation.Trial;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalTime;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import jenkins.model.Jenkins;
import org.htmlunit.FailingHttpStatusCodeException;
import org.htmlunit.HttpMethod;
import org.htmlunit.WebRequest;
import org.htmlunit.html.DomNode;
import org.htmlunit.html.HtmlElement;
import org.htmlunit.html.HtmlForm;
import org.htmlunit.html.HtmlInput;
import org.htmlunit.html.HtmlPage;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.MockAuthorizationStrategy;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

@WithJenkins
class PreemptibleConfigurationTest {

    private static final Limits UNCONFIGURED = defaults(new Limits(true, 0, 0, 0));

    private static final List<String> NUMBERS = List.of(
            "bestPriority",
            "timeSliceMinutes",
            "exemptSeconds",
            "mostSuspensions",
            "mostSuspendedPerAgent",
            "mostSuspended",
            "ageingMinutes",
            "memoryFloorMegabytes",
            "imageLimitMegabytes",
            "diskFloorMegabytes",
            "diskFloorPercent",
            "frozenOnlySeconds",
            "frozenOnlyPercent",
            "storedWorkspaceMegabytes");

    /** With what counts where nobody has set anything else. */
    private static Limits defaults(Limits limits) {
        return limits.withMostSuspended(10, 100).withAgeing(600_000).withMemory(16L << 30, 1L << 30);
    }

    private static JenkinsRule jenkins;
    private PreemptibleConfiguration configuration;

    /** One for all tests: most of their time is its start. */
    @BeforeAll
    static void start(JenkinsRule rule) {
        jenkins = rule;
    }

    @AfterAll
    static void stop() throws Exception {
        jenkins.after();
    }

    @BeforeEach
    void asUnconfigured() {
        configuration = PreemptibleConfiguration.get();
        configuration.take(new PreemptibleConfiguration());
        configuration.save();
    }

    @AfterEach
    void openAgain() {
        jenkins.jenkins.setSecurityRealm(SecurityRealm.NO_AUTHENTICATION);
        jenkins.jenkins.setAuthorizationStrategy(AuthorizationStrategy.UNSECURED);
    }

    @Test
    void settingsGoThroughThePageUnchanged() throws Exception {
        configuration.setEnabled(false);
        configuration.setTimeSliceMinutes(30);
        configuration.setExemptSeconds(45);
        configuration.setMostSuspensions(7);
        configuration.setMemoryFloorMegabytes(0);
        SliceRule rule = new SliceRule(10);
        rule.setLabel("fuzz");
        rule.setHighestPriority(4);
        rule.setLowestPriority(5);
        configuration.setSliceRules(List.of(rule, new SliceRule(60)));
        configuration.setMostSuspendedPerAgent(3);
        configuration.setMostSuspended(20);
        configuration.setAgeingMinutes(15);
        configuration.setImageLimitMegabytes(8192);
        configuration.setBestPriority(2);
        configuration.setDiskFloorMegabytes(1234);
        configuration.setDiskFloorPercent(7);
        configuration.setUndumpable("freeze-only");
        configuration.setFrozenOnlySeconds(90);
        configuration.setFrozenOnlyPercent(40);
        configuration.setOwnerBy("job");
        configuration.setMoveStages(true);
        configuration.setStoredWorkspaceMegabytes(77);
        configuration.setMoveExcludes("**/cache/**\n*.iso");
        UndisturbedHours hours = new UndisturbedHours("22:00", "6:30");
        hours.setZone("Europe/Berlin");
        hours.setLongMinutes(120);
        configuration.setUndisturbedHours(hours);
        Limits set = configuration.limits();

        jenkins.configRoundtrip();

        assertEquals(set, configuration.limits());
        assertEquals(OwnerBy.JOB, configuration.ownerBy());
        assertTrue(configuration.isMoveStages());
        assertEquals(77, configuration.getStoredWorkspaceMegabytes());
        assertEquals(
                List.of("**/cache/**", "*.iso"), configuration.moveExcludes().patterns());
        assertEquals(FormValidation.Kind.ERROR, configuration.doCheckMoveExcludes("../out").kind);
        assertThrows(IllegalArgumentException.class, () -> configuration.setMoveExcludes("/tmp/**"));
        assertEquals(2, configuration.getBestPriority());
        assertEquals(1234, configuration.getDiskFloorMegabytes());
        assertEquals(7, configuration.getDiskFloorPercent());
        assertEquals(
                new Limits(
                        false,
                        new Slices(
                                1_800_000,
                                List.of(
                                        new Slices.Rule("fuzz", 4, 5, 600_000),
                                        new Slices.Rule(null, 1, 1000, 3_600_000))),
                        45_000,
                        7,
                        3,
                        20,
                        900_000,
                        8192L << 20,
                        0,
                        UndumpableStages.FREEZE_ONLY,
                        new Undisturbed(
                                LocalTime.of(22, 0), LocalTime.of(6, 30), ZoneId.of("Europe/Berlin"), 7_200_000),
                        new FreezeOnly(90_000, 40)),
                set);
    }

    @Test
    void whatIsRemovedOnThePageIsGone() throws Exception {
        configuration.setSliceRules(List.of(new SliceRule(60)));
        configuration.setUndisturbedHours(new UndisturbedHours("22:00", "6:30"));
        HtmlForm form = page().getFormByName("config");
        HtmlElement rules = form.querySelector("div[name='sliceRules'] button.repeatable-delete");
        rules.click();
        form.getInputByName("_.undisturbedHours").setChecked(false);

        jenkins.submit(form);

        assertEquals(UNCONFIGURED, configuration.limits());
    }

    @Test
    void settingsChangedOnThePageAreSaved() throws Exception {
        HtmlForm form = page().getFormByName("config");
        form.getInputByName("_.enabled").setChecked(false);
        form.getInputByName("_.timeSliceMinutes").setValue("10080");
        form.getInputByName("_.exemptSeconds").setValue("86400");
        form.getInputByName("_.mostSuspensions").setValue("1000");
        form.getInputByName("_.memoryFloorMegabytes").setValue("1048576");

        jenkins.submit(form);

        Limits all = defaults(new Limits(false, 604_800_000, 86_400_000, 1000)).withMemory(16L << 30, 1L << 40);
        assertEquals(all, configuration.limits());
        configuration.load();
        assertEquals(all, configuration.limits(), "after loading what was saved");
    }

    @Test
    void aPageWithOneBadValueChangesNothing() throws Exception {
        configuration.setTimeSliceMinutes(5);
        HtmlForm form = page().getFormByName("config");
        form.getInputByName("_.enabled").setChecked(false);
        form.getInputByName("_.timeSliceMinutes").setValue("6");
        form.getInputByName("_.mostSuspensions").setValue("1001");

        FailingHttpStatusCodeException refused =
                assertThrows(FailingHttpStatusCodeException.class, () -> jenkins.submit(form));

        assertTrue(
                refused.getResponse()
                        .getContentAsString()
                        .contains("Most suspensions per stage is 1001, but must be a whole number from 0 to 1000."),
                refused.getResponse()::getContentAsString);
        Limits before = UNCONFIGURED.withSlices(new Slices(300_000, List.of()));
        assertEquals(before, configuration.limits());
        configuration.load();
        assertEquals(before, configuration.limits(), "after loading what was saved");
    }

    @Test
    void aBulkChangeIsTakenOverAsAWholeOrNotAtAll() throws Exception {
        try (BulkChange change = new BulkChange(configuration)) {
            configuration.setTimeSliceMinutes(5);
            configuration.setMostSuspensions(6);
            assertEquals(UNCONFIGURED, configuration.limits(), "before its end");
            change.commit();
        }
        Limits changed = defaults(new Limits(true, 300_000, 0, 6));
        assertEquals(changed, configuration.limits());
        configuration.load();
        assertEquals(changed, configuration.limits(), "after loading what was saved");

        try (BulkChange change = new BulkChange(configuration)) {
            configuration.setTimeSliceMinutes(7);
            assertThrows(IllegalArgumentException.class, () -> configuration.setMostSuspensions(-1));
        }
        configuration.save();
        assertEquals(changed, configuration.limits(), "with a refused value");

        try (BulkChange givenUp = new BulkChange(configuration)) {
            configuration.setTimeSliceMinutes(7);
        }
        try (BulkChange change = new BulkChange(configuration)) {
            configuration.setMostSuspensions(8);
            change.commit();
        }
        assertEquals(
                defaults(new Limits(true, 300_000, 0, 8)), configuration.limits(), "after a change that was given up");
    }

    @Test
    void aRuleIsCheckedWhileTyping() throws Exception {
        SliceRule.DescriptorImpl page = jenkins.jenkins.getDescriptorByType(SliceRule.DescriptorImpl.class);
        String there = jenkins.jenkins.getSelfLabel().getName();
        assertEquals(FormValidation.Kind.OK, page.doCheckLabel("").kind);
        assertEquals(FormValidation.Kind.OK, page.doCheckLabel(there).kind);
        assertEquals(FormValidation.Kind.WARNING, page.doCheckLabel("nowhere").kind);
        assertEquals(FormValidation.Kind.ERROR, page.doCheckLabel("a && b").kind);
        assertEquals(
                List.of(there), page.doAutoCompleteLabel(there.substring(0, 3)).getValues());
        SliceRule quoted = new SliceRule(1);
        quoted.setLabel("\"large & fast\"");
        assertEquals("large & fast", quoted.rule().label());
        assertEquals(FormValidation.Kind.OK, page.doCheckLowestPriority("4", "4").kind);
        assertEquals(FormValidation.Kind.ERROR, page.doCheckLowestPriority("3", "4").kind);
        assertEquals(FormValidation.Kind.ERROR, page.doCheckLowestPriority("1001", "4").kind);
        assertEquals(FormValidation.Kind.ERROR, page.doCheckHighestPriority("0").kind);
        assertEquals(FormValidation.Kind.ERROR, page.doCheckMinutes("-1").kind);
    }

    @Test
    void undisturbedHoursAreCheckedWhileTyping() {
        UndisturbedHours.DescriptorImpl page =
                jenkins.jenkins.getDescriptorByType(UndisturbedHours.DescriptorImpl.class);
        for (String time : new String[] {"00:00", "8:30", " 23:59 "}) {
            assertEquals(FormValidation.Kind.OK, page.doCheckFrom(time).kind, time);
            assertEquals(FormValidation.Kind.OK, page.doCheckTo(time, "8:31").kind, time);
        }
        for (String time : new String[] {"", "24:00", "8:60", "8", "8.30", "-1:00", "noon"}) {
            assertEquals(FormValidation.Kind.ERROR, page.doCheckFrom(time).kind, time);
            assertEquals(FormValidation.Kind.ERROR, page.doCheckTo(time, "8:31").kind, time);
        }
        assertEquals(FormValidation.Kind.WARNING, page.doCheckTo("8:30", "08:30").kind);
        assertEquals(FormValidation.Kind.OK, page.doCheckTo("8:30", "noon").kind, "that is said at the other field");
        assertEquals(FormValidation.Kind.OK, page.doCheckZone("").kind);
        assertEquals(FormValidation.Kind.OK, page.doCheckZone("Europe/Berlin").kind);
        assertEquals(FormValidation.Kind.ERROR, page.doCheckZone("Mars").kind);
        assertTrue(page.doAutoCompleteZone("berl").getValues().contains("Europe/Berlin"));
        assertEquals(FormValidation.Kind.ERROR, page.doCheckLongMinutes("10081").kind);
    }

    @Test
    void thePageValidatesWhileTyping() {
        for (String typed : new String[] {"0", "10080", " 7 "}) {
            assertEquals(FormValidation.Kind.OK, configuration.doCheckTimeSliceMinutes(typed).kind, typed);
        }
        for (String typed : new String[] {"10081", "-1", "1.5", "ten", "", "99999999999"}) {
            FormValidation answer = configuration.doCheckTimeSliceMinutes(typed);
            assertEquals(FormValidation.Kind.ERROR, answer.kind, typed);
            assertTrue(answer.getMessage().startsWith("Time slice is "), answer.getMessage());
            assertTrue(answer.getMessage().endsWith("must be a whole number from 0 to 10080."), answer.getMessage());
        }
    }

    @Test
    void everyFieldHasItsOwnRange() {
        assertEquals(FormValidation.Kind.OK, configuration.doCheckExemptSeconds("86400", null).kind);
        assertEquals(FormValidation.Kind.ERROR, configuration.doCheckExemptSeconds("86401", "0").kind);
        assertEquals(FormValidation.Kind.OK, configuration.doCheckMostSuspensions("1000").kind);
        assertEquals(FormValidation.Kind.ERROR, configuration.doCheckMostSuspensions("1001").kind);
        assertEquals(FormValidation.Kind.OK, configuration.doCheckMemoryFloorMegabytes("1048576").kind);
        assertEquals(FormValidation.Kind.OK, configuration.doCheckStoredWorkspaceMegabytes("0").kind);
        assertEquals(FormValidation.Kind.ERROR, configuration.doCheckStoredWorkspaceMegabytes("1048577").kind);
        assertEquals(FormValidation.Kind.ERROR, configuration.doCheckMemoryFloorMegabytes("1048577").kind);
        assertEquals(FormValidation.Kind.OK, configuration.doCheckBestPriority("5").kind);
        assertEquals(FormValidation.Kind.WARNING, configuration.doCheckBestPriority("1000").kind, "the lowest is 5");
        assertEquals(FormValidation.Kind.ERROR, configuration.doCheckBestPriority("1001").kind);
        assertEquals(FormValidation.Kind.OK, configuration.doCheckDiskFloorMegabytes("1048576").kind);
        assertEquals(FormValidation.Kind.ERROR, configuration.doCheckDiskFloorMegabytes("1048577").kind);
        assertEquals(FormValidation.Kind.OK, configuration.doCheckDiskFloorPercent("99").kind);
        assertEquals(FormValidation.Kind.ERROR, configuration.doCheckDiskFloorPercent("100").kind);
        assertEquals(FormValidation.Kind.OK, configuration.doCheckFrozenOnlySeconds("7200").kind);
        assertEquals(FormValidation.Kind.ERROR, configuration.doCheckFrozenOnlySeconds("29").kind);
        assertEquals(FormValidation.Kind.OK, configuration.doCheckFrozenOnlyPercent("100", "wait").kind);
        assertEquals(FormValidation.Kind.ERROR, configuration.doCheckFrozenOnlyPercent("101", "wait").kind);
    }

    @Test
    void numbersThatMakeNoSenseTogetherGetAWarning() {
        assertEquals(FormValidation.Kind.OK, configuration.doCheckExemptSeconds("60", "1").kind);
        assertEquals(FormValidation.Kind.WARNING, configuration.doCheckExemptSeconds("61", "1").kind);
        assertEquals(FormValidation.Kind.OK, configuration.doCheckExemptSeconds("61", "0").kind, "no time slice");
        assertEquals(FormValidation.Kind.OK, configuration.doCheckMostSuspendedPerAgent("5", "5").kind);
        assertEquals(FormValidation.Kind.WARNING, configuration.doCheckMostSuspendedPerAgent("6", "5").kind);
        assertEquals(FormValidation.Kind.OK, configuration.doCheckMostSuspendedPerAgent("6", "0").kind, "no limit");
        assertEquals(FormValidation.Kind.OK, configuration.doCheckMostSuspendedPerAgent("6", "x").kind);
        assertEquals(FormValidation.Kind.ERROR, configuration.doCheckMostSuspendedPerAgent("x", "5").kind);
        assertEquals(FormValidation.Kind.WARNING, configuration.doCheckFrozenOnlyPercent("0", "freeze-only").kind);
        assertEquals(FormValidation.Kind.OK, configuration.doCheckFrozenOnlyPercent("0", "wait").kind);
    }

    /** As the page's script sends what is typed. */
    @Test
    void eachNumberIsRefusedWhileItIsTyped() throws Exception {
        JenkinsRule.WebClient client = jenkins.createWebClient();
        for (String setting : NUMBERS) {
            for (String typed : List.of("-1", "ten", "1.5", "99999999999", "")) {
                String method = configuration.getDescriptorUrl() + "/check" + Character.toUpperCase(setting.charAt(0))
                        + setting.substring(1) + "?value=" + typed;
                String answer = client.getPage(new WebRequest(client.createCrumbedUrl(method), HttpMethod.POST))
                        .getWebResponse()
                        .getContentAsString();
                String range = "must be a whole number from " + (setting.equals("frozenOnlySeconds") ? 30 : 0) + " to ";
                assertTrue(answer.contains(range), setting + " " + typed + ": " + answer);
            }
        }
    }

    @Test
    void groupsAreFoldedButTheFirstAndThoseThatWereChanged() throws Exception {
        assertEquals(List.of("Basics"), openGroups());
        configuration.setMostSuspended(7);
        assertEquals(List.of("Basics", "Limits"), openGroups());
        configuration.setSliceRules(List.of(new SliceRule(60)));
        configuration.setMemoryFloorMegabytes(0);
        assertEquals(List.of("Basics", "Limits", "Fairness", "Agents"), openGroups());
    }

    @Test
    void aGroupOpensWhenAFieldInItIsRefused() throws Exception {
        HtmlPage page = page();
        HtmlInput refused = page.getFormByName("config").getInputByName("_.memoryFloorMegabytes");
        refused.setValue("-1");
        refused.fireEvent("change");
        page.getWebClient().waitForBackgroundJavaScript(10_000);
        assertEquals(List.of("Basics", "Agents"), openGroups(page));
    }

    private List<String> openGroups() throws Exception {
        return openGroups(page());
    }

    private static List<String> openGroups(HtmlPage page) {
        return page.querySelectorAll("details.preemptible-group[open] > summary").stream()
                .map(DomNode::getTextContent)
                .toList();
    }

    @Test
    void validationIsForAdministratorsAndByPostOnly() throws Exception {
        jenkins.jenkins.setSecurityRealm(jenkins.createDummySecurityRealm());
        jenkins.jenkins.setAuthorizationStrategy(new MockAuthorizationStrategy()
                .grant(Jenkins.ADMINISTER)
                .everywhere()
                .to("admin")
                .grant(Jenkins.READ)
                .everywhere()
                .to("reader"));

        List<String> methods = new ArrayList<>(List.of(
                configuration.getDescriptorUrl() + "/fillOwnerByItems",
                configuration.getDescriptorUrl() + "/fillUndumpableItems",
                jenkins.jenkins.getDescriptorOrDie(Trial.class).getDescriptorUrl() + "/checkDays",
                jenkins.jenkins.getDescriptorOrDie(Trial.class).getDescriptorUrl() + "/try"));
        for (String setting : NUMBERS) {
            methods.add(configuration.getDescriptorUrl() + "/check" + Character.toUpperCase(setting.charAt(0))
                    + setting.substring(1));
        }
        String rule = jenkins.jenkins.getDescriptorOrDie(SliceRule.class).getDescriptorUrl();
        for (String method : List.of(
                "autoCompleteLabel", "checkLabel", "checkMinutes", "checkHighestPriority", "checkLowestPriority")) {
            methods.add(rule + "/" + method);
        }
        String hours =
                jenkins.jenkins.getDescriptorOrDie(UndisturbedHours.class).getDescriptorUrl();
        for (String method : List.of("autoCompleteZone", "checkFrom", "checkTo", "checkZone", "checkLongMinutes")) {
            methods.add(hours + "/" + method);
        }
        JenkinsRule.WebClient admin = jenkins.createWebClient().login("admin");
        JenkinsRule.WebClient reader = jenkins.createWebClient().login("reader");
        for (String method : methods) {
            assertEquals(200, status(admin, method, HttpMethod.POST), method);
            assertEquals(403, status(reader, method, HttpMethod.POST), method);
            assertEquals(404, status(admin, method, HttpMethod.GET), method + " is not found by GET");
        }
    }

    private static int status(JenkinsRule.WebClient client, String method, HttpMethod verb) throws Exception {
        WebRequest request = new WebRequest(
                client.withThrowExceptionOnFailingStatusCode(false)
                        .createCrumbedUrl(method + "?value=1&highestPriority=1&from=1"),
                verb);
        return client.getPage(request).getWebResponse().getStatusCode();
    }

    @Test
    void eachFieldHasHelp() throws Exception {
        List<String> fields = new ArrayList<>(NUMBERS);
        fields.addAll(List.of("enabled", "sliceRules", "ownerBy", "undumpable", "undisturbedHours", "stageDefaults"));
        fields.replaceAll(field -> configuration.getDescriptorUrl() + "/help/" + field);
        String rule = jenkins.jenkins.getDescriptorOrDie(SliceRule.class).getDescriptorUrl();
        for (String field : List.of("label", "highestPriority", "lowestPriority", "minutes")) {
            fields.add(rule + "/help/" + field);
        }
        String hours =
                jenkins.jenkins.getDescriptorOrDie(UndisturbedHours.class).getDescriptorUrl();
        for (String field : List.of("from", "to", "zone", "longMinutes")) {
            fields.add(hours + "/help/" + field);
        }
        fields.add(jenkins.jenkins.getDescriptorOrDie(Trial.class).getDescriptorUrl() + "/help/days");
        for (String field : fields) {
            String help = jenkins.createWebClient().goTo(field).getWebResponse().getContentAsString();
            assertTrue(help.contains("<p>"), field + ": " + help);
        }
    }

    @Test
    void aSavedValueOutOfRangeIsNotUsed() throws Exception {
        configuration.setTimeSliceMinutes(15);
        configuration.setExemptSeconds(20);
        SliceRule wrong = new SliceRule(16);
        wrong.setLabel("wrong");
        configuration.setSliceRules(List.of(wrong, new SliceRule(17)));
        configuration.setUndisturbedHours(new UndisturbedHours("22:22", "6:30"));
        Files.writeString(
                saved(),
                Files.readString(saved())
                        .replace(">15<", ">-15<")
                        .replace(">16<", ">-16<")
                        .replace(">22:22<", ">22:77<"));

        PreemptibleConfiguration read = new PreemptibleConfiguration();
        read.load();

        assertEquals(
                defaults(new Limits(true, 0, 20_000, 0))
                        .withSlices(new Slices(0, List.of(new Slices.Rule(null, 1, 1000, 1_020_000)))),
                read.limits());
    }

    @Test
    void whatTheFirstVersionSavedStillLoads() throws Exception {
        Files.writeString(saved(), """
                <?xml version='1.1' encoding='UTF-8'?>
                <io.jenkins.plugins.preemptible.config.PreemptibleConfiguration>
                  <enabled>false</enabled>
                  <timeSliceMinutes>30</timeSliceMinutes>
                  <exemptSeconds>45</exemptSeconds>
                  <mostSuspensions>7</mostSuspensions>
                  <memoryFloorMegabytes>2048</memoryFloorMegabytes>
                </io.jenkins.plugins.preemptible.config.PreemptibleConfiguration>
                """);

        PreemptibleConfiguration read = new PreemptibleConfiguration();
        read.load();

        assertEquals(
                defaults(new Limits(false, 1_800_000, 45_000, 7)).withMemory(16L << 30, 2048L << 20), read.limits());
        assertEquals(0, read.getBestPriority());
        assertEquals(5120, read.getDiskFloorMegabytes());
        assertEquals(5, read.getDiskFloorPercent());
        assertEquals(OwnerBy.USER, read.ownerBy());
    }

    private static Path saved() {
        return jenkins.jenkins.getRootDir().toPath().resolve(PreemptibleConfiguration.class.getName() + ".xml");
    }

    private HtmlPage page() throws Exception {
        return jenkins.createWebClient().goTo("configure");
    }
}
