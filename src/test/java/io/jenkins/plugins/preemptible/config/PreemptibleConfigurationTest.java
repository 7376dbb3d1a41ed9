package io.jenkins.plugins.preemptible.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.security.AuthorizationStrategy;
import hudson.security.SecurityRealm;
import hudson.util.FormValidation;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import java.nio.file.Files;
import java.nio.file.Path;
import jenkins.model.Jenkins;
import org.htmlunit.FailingHttpStatusCodeException;
import org.htmlunit.HttpMethod;
import org.htmlunit.WebRequest;
import org.htmlunit.html.HtmlForm;
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
        configuration.setEnabled(true);
        configuration.setTimeSliceMinutes(0);
        configuration.setExemptSeconds(0);
        configuration.setMostSuspensions(0);
        configuration.setMemoryFloorMegabytes(1024);
    }

    @AfterEach
    void openAgain() {
        jenkins.jenkins.setSecurityRealm(SecurityRealm.NO_AUTHENTICATION);
        jenkins.jenkins.setAuthorizationStrategy(AuthorizationStrategy.UNSECURED);
    }

    @Test
    void preemptsWithoutBeingConfigured() {
        assertEquals(new Limits(true, 0, 0, 0), new PreemptibleConfiguration().limits());
        assertEquals(1L << 30, new PreemptibleConfiguration().memoryFloorBytes());
    }

    @Test
    void settingsGoThroughThePageUnchanged() throws Exception {
        configuration.setEnabled(false);
        configuration.setTimeSliceMinutes(30);
        configuration.setExemptSeconds(45);
        configuration.setMostSuspensions(7);
        configuration.setMemoryFloorMegabytes(0);

        jenkins.configRoundtrip();

        assertEquals(new Limits(false, 1_800_000, 45_000, 7), configuration.limits());
        assertEquals(0, configuration.memoryFloorBytes());
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

        Limits all = new Limits(false, 604_800_000, 86_400_000, 1000);
        assertEquals(all, configuration.limits());
        configuration.load();
        assertEquals(all, configuration.limits(), "after loading what was saved");
        assertEquals(1L << 40, configuration.memoryFloorBytes());
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
        assertEquals(new Limits(true, 300_000, 0, 0), configuration.limits());
        configuration.load();
        assertEquals(new Limits(true, 300_000, 0, 0), configuration.limits(), "after loading what was saved");
    }

    @Test
    void aValueOutOfRangeIsRefusedAndNothingChanges() {
        for (int minutes : new int[] {Integer.MIN_VALUE, -1, 10_081, Integer.MAX_VALUE}) {
            IllegalArgumentException refused =
                    assertThrows(IllegalArgumentException.class, () -> configuration.setTimeSliceMinutes(minutes));
            assertEquals(
                    "Time slice is " + minutes + ", but must be a whole number from 0 to 10080.",
                    refused.getMessage());
        }
        for (int seconds : new int[] {-1, 86_401}) {
            assertThrows(IllegalArgumentException.class, () -> configuration.setExemptSeconds(seconds));
        }
        for (int suspensions : new int[] {-1, 1_001}) {
            assertThrows(IllegalArgumentException.class, () -> configuration.setMostSuspensions(suspensions));
        }
        assertEquals(new Limits(true, 0, 0, 0), configuration.limits());
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
        assertEquals(FormValidation.Kind.OK, configuration.doCheckExemptSeconds("86400").kind);
        assertEquals(FormValidation.Kind.ERROR, configuration.doCheckExemptSeconds("86401").kind);
        assertEquals(FormValidation.Kind.OK, configuration.doCheckMostSuspensions("1000").kind);
        assertEquals(FormValidation.Kind.ERROR, configuration.doCheckMostSuspensions("1001").kind);
        assertEquals(FormValidation.Kind.OK, configuration.doCheckMemoryFloorMegabytes("1048576").kind);
        assertEquals(FormValidation.Kind.ERROR, configuration.doCheckMemoryFloorMegabytes("1048577").kind);
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

        for (String setting : new String[] {"TimeSliceMinutes", "ExemptSeconds", "MostSuspensions", "MemoryFloorMegabytes"}) {
            assertEquals(200, status("admin", setting, HttpMethod.POST), setting);
            assertEquals(403, status("reader", setting, HttpMethod.POST), setting);
            assertEquals(404, status("admin", setting, HttpMethod.GET), setting + " is not found by GET");
        }
    }

    private int status(String user, String setting, HttpMethod method) throws Exception {
        JenkinsRule.WebClient client = jenkins.createWebClient().login(user).withThrowExceptionOnFailingStatusCode(false);
        WebRequest request = new WebRequest(
                client.createCrumbedUrl(configuration.getDescriptorUrl() + "/check" + setting + "?value=1"), method);
        return client.getPage(request).getWebResponse().getStatusCode();
    }

    @Test
    void eachFieldHasHelp() throws Exception {
        for (String field : new String[] {"enabled", "timeSliceMinutes", "exemptSeconds", "mostSuspensions", "memoryFloorMegabytes"}) {
            String help = jenkins.createWebClient()
                    .goTo(configuration.getDescriptorUrl() + "/help/" + field)
                    .getWebResponse()
                    .getContentAsString();
            assertTrue(help.contains("<p>"), field + ": " + help);
        }
    }

    @Test
    void aSavedValueOutOfRangeIsNotUsed() throws Exception {
        configuration.setTimeSliceMinutes(15);
        configuration.setExemptSeconds(20);
        Path file = jenkins.jenkins.getRootDir().toPath().resolve(PreemptibleConfiguration.class.getName() + ".xml");
        Files.writeString(file, Files.readString(file).replace(">15<", ">-15<"));

        configuration.load();

        assertEquals(new Limits(true, 0, 20_000, 0), configuration.limits());
    }

    private HtmlPage page() throws Exception {
        return jenkins.createWebClient().goTo("configure");
    }
}
