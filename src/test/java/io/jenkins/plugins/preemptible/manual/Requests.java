package io.jenkins.plugins.preemptible.manual;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.endsWith;
import static org.junit.jupiter.api.Assertions.assertEquals;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.cli.CLICommandInvoker;
import java.net.URL;
import java.util.HashMap;
import java.util.Map;
import net.sf.json.JSONArray;
import net.sf.json.JSONObject;
import org.htmlunit.HttpMethod;
import org.htmlunit.WebRequest;
import org.htmlunit.WebResponse;
import org.htmlunit.html.HtmlForm;
import org.htmlunit.html.HtmlPage;
import org.jvnet.hudson.test.JenkinsRule;

/** What users ask of a controller: by programs, in a browser, by commands. */
final class Requests {

    private final JenkinsRule j;
    private final Map<String, JenkinsRule.WebClient> clients = new HashMap<>();

    Requests(JenkinsRule j) {
        this.j = j;
    }

    /** A program's: nothing is rendered, which makes it fast, and nobody is led to a login. */
    JenkinsRule.WebClient client(@CheckForNull String user) {
        return clients.computeIfAbsent(String.valueOf(user), name -> {
            JenkinsRule.WebClient client = j.createWebClient().withThrowExceptionOnFailingStatusCode(false);
            return user == null ? client : client.withBasicCredentials(user);
        });
    }

    WebResponse post(@CheckForNull String user, String address) throws Exception {
        JenkinsRule.WebClient client = client(user);
        return client.loadWebResponse(client.addCrumb(new WebRequest(new URL(j.getURL(), address), HttpMethod.POST)));
    }

    WebResponse get(@CheckForNull String user, String address) throws Exception {
        return client(user).loadWebResponse(new WebRequest(new URL(j.getURL(), address)));
    }

    JSONObject state(String user) throws Exception {
        WebResponse response = get(user, "preemptible/api/json");
        assertEquals(200, response.getStatusCode());
        return JSONObject.fromObject(response.getContentAsString());
    }

    /** That the answer has this status, and a sentence with this text. */
    static void answers(int status, String text, WebResponse response) {
        assertEquals(status, response.getStatusCode(), response.getContentAsString());
        assertEquals("application/json", response.getContentType());
        JSONObject json = JSONObject.fromObject(response.getContentAsString());
        assertEquals(status == 200, json.getBoolean("ok"));
        assertThat(json.getString("message"), containsString(text));
    }

    static JSONObject only(JSONArray all, String key, String value) {
        return all.stream()
                .map(JSONObject.class::cast)
                .filter(one -> one.getString(key).equals(value))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no " + value + " in " + all));
    }

    CLICommandInvoker.Result command(String verb, String user, String... arguments) {
        return new CLICommandInvoker(j, "preemptible-" + verb).asUser(user).invokeWithArgs(arguments);
    }

    static void told(int status, String text, CLICommandInvoker.Result result) {
        assertEquals(status, result.returnCode(), result.stderr());
        assertThat(result.stderr(), containsString(text));
    }

    JenkinsRule.WebClient browser(String user) {
        JenkinsRule.WebClient client = j.createWebClient().withThrowExceptionOnFailingStatusCode(false);
        client.getOptions().setJavaScriptEnabled(false);
        return client.withBasicCredentials(user);
    }

    HtmlPage page(String user, String address) throws Exception {
        return browser(user).goTo(address);
    }

    /** What a browser sends for a button of a page, and that it is back on that page then. */
    void press(String user, String page, String verb) throws Exception {
        JenkinsRule.WebClient client = browser(user);
        WebRequest request = form(client.goTo(page), "/preemptible/" + verb).getWebRequest(null);
        WebResponse back = client.loadWebResponse(client.addCrumb(request));
        assertEquals(200, back.getStatusCode());
        assertThat(back.getWebRequest().getUrl().toString(), endsWith(page + "#preemptible-answer"));
    }

    private static HtmlForm form(HtmlPage page, String action) {
        return page.getForms().stream()
                .filter(form -> form.getActionAttribute().endsWith(action))
                .findFirst()
                .orElseThrow();
    }
}
