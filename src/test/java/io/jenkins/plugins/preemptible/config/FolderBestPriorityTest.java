package io.jenkins.plugins.preemptible.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.cloudbees.hudson.plugins.folder.Folder;
import hudson.model.Item;
import hudson.model.ItemGroup;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import io.jenkins.plugins.preemptible.queue.Priorities;
import java.net.URL;
import java.util.List;
import jenkins.model.Jenkins;
import org.htmlunit.FailingHttpStatusCodeException;
import org.htmlunit.HttpMethod;
import org.htmlunit.WebRequest;
import org.htmlunit.html.HtmlForm;
import org.htmlunit.html.HtmlInput;
import org.htmlunit.html.HtmlPage;
import org.htmlunit.util.NameValuePair;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.MockAuthorizationStrategy;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Who may ask for which priority, by folder, and who may change that. */
@WithJenkins
class FolderBestPriorityTest {

    private static final String FIELD = "_.bestPriority";

    private JenkinsRule j;
    private Folder team;
    private Folder inner;

    @BeforeEach
    void folders(JenkinsRule rule) throws Exception {
        j = rule;
        team = j.createProject(Folder.class, "team");
        inner = team.createProject(Folder.class, "inner");
        j.jenkins.setSecurityRealm(j.createDummySecurityRealm());
        j.jenkins.setAuthorizationStrategy(new MockAuthorizationStrategy()
                .grant(Jenkins.ADMINISTER).everywhere().to("admin")
                .grant(Jenkins.READ, Item.READ, Item.EXTENDED_READ, Item.CONFIGURE).everywhere().to("owner", "manager")
                .grant(PreemptiblePermissions.MANAGE).everywhere().to("manager"));
    }

    @Test
    void theNearestFolderCountsThenTheGlobalConfiguration() throws Exception {
        assertEquals(new BestPriority(Priorities.get().ordinary(), null), BestPriority.in(inner));
        assertEquals(3, Priorities.get().ordinary());
        PreemptibleConfiguration.get().setBestPriority(4);
        team.addProperty(new FolderBestPriority(2));
        assertEquals(new BestPriority(4, null), BestPriority.in(j.jenkins));
        assertEquals(new BestPriority(2, "team"), BestPriority.in(team));
        assertEquals(new BestPriority(2, "team"), BestPriority.in(inner));
        inner.addProperty(new FolderBestPriority(5));
        assertEquals(new BestPriority(5, "team/inner"), BestPriority.in(inner));
        j.jenkins.reload();
        assertEquals(
                new BestPriority(5, "team/inner"),
                BestPriority.in((ItemGroup<?>) j.jenkins.getItemByFullName("team/inner")),
                "after loading what was saved");
    }

    @Test
    void isSetChangedAndRemovedOnTheFoldersPage() throws Exception {
        for (String who : new String[] {"admin", "manager"}) {
            submit(who, "2");
            assertEquals(new BestPriority(2, "team"), BestPriority.in(team), who);
            submit(who, "1");
            assertEquals(new BestPriority(1, "team"), BestPriority.in(team), who);
            FailingHttpStatusCodeException refused =
                    assertThrows(FailingHttpStatusCodeException.class, () -> submit(who, "1001"));
            assertTrue(
                    refused.getResponse()
                            .getContentAsString()
                            .contains("step may ask for is 1001, but must be a whole number from 1 to 1000."),
                    refused.getResponse()::getContentAsString);
            assertEquals(new BestPriority(1, "team"), BestPriority.in(team), who);
            submit(who, "");
            assertNull(team.getProperties().get(FolderBestPriority.class), who);
        }
    }

    private void submit(String who, String value) throws Exception {
        HtmlForm form = page(who).getFormByName("config");
        HtmlInput field = form.getInputByName(FIELD);
        field.setValue(value);
        j.submit(form);
    }

    private HtmlPage page(String who) throws Exception {
        return j.createWebClient().login(who).goTo("job/team/configure");
    }

    @Test
    void whoConfiguresTheFolderDoesNotGetMoreByItsPage() throws Exception {
        team.addProperty(new FolderBestPriority(4));
        HtmlPage page = page("owner");
        assertTrue(page.getElementsByName(FIELD).isEmpty(), "there is nothing to type into");
        j.submit(page.getFormByName("config"));
        assertEquals(new BestPriority(4, "team"), BestPriority.in(team), "his page leaves it as it is");

        WebRequest sent = new WebRequest(new URL(j.getURL(), "job/team/configSubmit"), HttpMethod.POST);
        String asked = "\"io-jenkins-plugins-preemptible-config-FolderBestPriority\":{\"bestPriority\":\"1\"}";
        String json = "{\"properties\":{" + asked + "}," + asked + "}";
        sent.setRequestParameters(List.of(new NameValuePair("json", json)));
        as("owner").getPage(as("owner").addCrumb(sent));
        assertEquals(new BestPriority(4, "team"), BestPriority.in(team), "what he sends does not count");
    }

    @Test
    void whoConfiguresTheFolderDoesNotGetMoreByItsXml() throws Exception {
        team.addProperty(new FolderBestPriority(4));
        String xml = team.getConfigFile().asString();
        assertTrue(xml.contains("<bestPriority>4</bestPriority>"), xml);
        WebRequest sent = new WebRequest(new URL(j.getURL(), "job/team/config.xml"), HttpMethod.POST);
        sent.setAdditionalHeader("Content-Type", "application/xml");
        sent.setAdditionalHeader(j.jenkins.getCrumbIssuer().getCrumbRequestField(), "test");
        sent.setRequestBody(xml.replace("<bestPriority>4<", "<bestPriority>1<"));
        assertEquals(200, as("owner").getPage(sent).getWebResponse().getStatusCode());
        assertEquals(3, BestPriority.in((ItemGroup<?>) j.jenkins.getItemByFullName("team")).priority());
        j.jenkins.reload();
        assertEquals(
                3,
                BestPriority.in((ItemGroup<?>) j.jenkins.getItemByFullName("team")).priority(),
                "after loading what was saved");
    }

    private JenkinsRule.WebClient as(String user) throws Exception {
        return j.createWebClient().withThrowExceptionOnFailingStatusCode(false).login(user);
    }

    @Test
    void isCheckedWhileTypingAndHasHelp() throws Exception {
        FolderBestPriority.DescriptorImpl descriptor =
                j.jenkins.getDescriptorByType(FolderBestPriority.DescriptorImpl.class);
        for (String value : new String[] {"", "1", "1000"}) {
            assertEquals(hudson.util.FormValidation.Kind.OK, descriptor.doCheckBestPriority(value).kind, value);
        }
        for (String value : new String[] {"0", "1001", "x"}) {
            assertEquals(hudson.util.FormValidation.Kind.ERROR, descriptor.doCheckBestPriority(value).kind, value);
        }
        String help = j.createWebClient()
                .login("admin")
                .goTo(descriptor.getDescriptorUrl() + "/help/bestPriority")
                .getWebResponse()
                .getContentAsString();
        assertTrue(help.contains("<p>"), help);
    }
}
