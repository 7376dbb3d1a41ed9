package io.jenkins.plugins.preemptible.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.cloudbees.hudson.plugins.folder.Folder;
import hudson.model.Item;
import hudson.model.ItemGroup;
import hudson.model.User;
import hudson.security.ACL;
import hudson.security.ACLContext;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import io.jenkins.plugins.preemptible.priority.Priorities;
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
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.MockAuthorizationStrategy;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Who may ask for which priority, by folder, and who may change that. */
@WithJenkins
class FolderBestPriorityTest {

    private static final String FIELD = "_.bestPriority";

    private static JenkinsRule j;
    private Folder team;
    private Folder inner;

    @BeforeAll
    static void start(JenkinsRule rule) {
        j = rule;
    }

    @AfterAll
    static void stop() throws Exception {
        j.after();
    }

    @AfterEach
    void clear() throws Exception {
        // Not by the field: a reload makes another object of it.
        j.jenkins.getItem("team").delete();
        PreemptibleConfiguration.get().setBestPriority(0);
    }

    @BeforeEach
    void folders() throws Exception {
        team = j.createProject(Folder.class, "team");
        inner = team.createProject(Folder.class, "inner");
        j.jenkins.setSecurityRealm(j.createDummySecurityRealm());
        j.jenkins.setAuthorizationStrategy(new MockAuthorizationStrategy()
                .grant(Jenkins.ADMINISTER)
                .everywhere()
                .to("admin")
                .grant(Jenkins.READ, Item.READ, Item.EXTENDED_READ, Item.CONFIGURE, Item.CREATE)
                .everywhere()
                .to("owner", "manager")
                .grant(PreemptiblePermissions.MANAGE)
                .everywhere()
                .to("manager"));
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
        assertEquals(new BestPriority(4, "team"), BestPriority.in(team), "their page leaves it as it is");

        WebRequest sent = new WebRequest(new URL(j.getURL(), "job/team/configSubmit"), HttpMethod.POST);
        String asked = "\"io-jenkins-plugins-preemptible-config-FolderBestPriority\":{\"bestPriority\":\"1\"}";
        String json = "{\"description\":\"sent\",\"properties\":{" + asked + "}," + asked + "}";
        sent.setRequestParameters(List.of(new NameValuePair("json", json)));
        as("owner").getPage(as("owner").addCrumb(sent));
        assertEquals("sent", team.getDescription(), "it was read");
        assertEquals(new BestPriority(4, "team"), BestPriority.in(team), "what they send does not count");
    }

    @Test
    void whoConfiguresTheFolderDoesNotGetMoreByItsXml() throws Exception {
        team.addProperty(new FolderBestPriority(4));
        String xml = team.getConfigFile().asString();
        assertTrue(xml.contains("<bestPriority>4</bestPriority>"), xml);
        String more = xml.replace("<bestPriority>4<", "<bestPriority>1<");
        String element = FolderBestPriority.class.getName();
        String disguised = more.replaceAll(
                        "<" + element + "[^>]*>", "<p class='" + element.replace("Pri", "Pr&#105;") + "'>")
                .replace("</" + element + ">", "</p>");
        assertTrue(disguised.contains("Pr&#105;") && !disguised.contains(element), disguised);
        assertEquals(200, post("job/team/config.xml", more));
        assertEquals(200, post("job/team/createItem?name=made", disguised));
        // XStream's own way to write a letter in the name of an element.
        String escaped = more.replace(element, element.replaceFirst("y$", "_.0079"));
        assertEquals(200, post("job/team/createItem?name=escaped", escaped));
        assertEquals(new BestPriority(3, null), in("team"));
        assertEquals(new BestPriority(3, null), in("team/made"));
        assertEquals(new BestPriority(3, null), in("team/escaped"));
        j.jenkins.reload();
        assertEquals(new BestPriority(3, null), in("team"), "after loading what was saved");
        assertEquals(new BestPriority(3, null), in("team/made"), "after loading what was saved");
        assertEquals(new BestPriority(3, null), in("team/escaped"), "after loading what was saved");
    }

    @Test
    void aCopyOfAFolderDoesNotCopyItsLimitForThoseWhoMayNotSetIt() throws Exception {
        inner.addProperty(new FolderBestPriority(1));
        for (String who : new String[] {"owner", "admin"}) {
            try (ACLContext as = ACL.as2(User.getById(who, true).impersonate2())) {
                team.copy(inner, who);
            }
        }
        j.jenkins.reload();
        assertEquals(new BestPriority(1, "team/inner"), in("team/inner"));
        assertEquals(new BestPriority(3, null), in("team/owner"));
        assertEquals(new BestPriority(1, "team/admin"), in("team/admin"));
    }

    private BestPriority in(String folder) {
        return BestPriority.in((ItemGroup<?>) j.jenkins.getItemByFullName(folder));
    }

    private int post(String path, String xml) throws Exception {
        WebRequest sent = new WebRequest(new URL(j.getURL(), path), HttpMethod.POST);
        sent.setAdditionalHeader("Content-Type", "application/xml");
        sent.setAdditionalHeader(j.jenkins.getCrumbIssuer().getCrumbRequestField(), "test");
        sent.setRequestBody(xml);
        return as("owner").getPage(sent).getWebResponse().getStatusCode();
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
