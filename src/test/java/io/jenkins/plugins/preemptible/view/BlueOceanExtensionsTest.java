package io.jenkins.plugins.preemptible.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import net.sf.json.JSONArray;
import net.sf.json.JSONObject;
import org.junit.jupiter.api.Test;

/** What Blue Ocean reads to find the badges names what is there: it loads them by these names only. */
class BlueOceanExtensionsTest {

    private static final String BUNDLE = "org/jenkins/ui/jsmodules/preemptible/jenkins-js-extension.js";

    private static String resource(String name) throws IOException {
        try (InputStream in = BlueOceanExtensionsTest.class.getResourceAsStream("/" + name)) {
            assertNotNull(in, name);
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static JSONObject index() throws IOException {
        return JSONObject.fromObject(resource("jenkins-js-extension.json"));
    }

    @Test
    void theBundleRegistersEachComponentAtItsPoint() throws IOException {
        String bundle = resource(BUNDLE);
        JSONArray extensions = index().getJSONArray("extensions");
        assertEquals(3, extensions.size());
        for (Object one : extensions) {
            JSONObject extension = (JSONObject) one;
            String component = extension.getString("component");
            String registered = Pattern.quote(component) + ": \\[\""
                    + Pattern.quote(extension.getString("extensionPoint")) + "\", " + Pattern.quote(component) + "\\]";
            assertTrue(Pattern.compile(registered).matcher(bundle).find(), registered);
        }
    }

    /** Without its style sheet, Blue Ocean shows nothing at the first place of each point. */
    @Test
    void theStyleSheetIsThere() throws IOException {
        assertTrue(resource(index().getString("extensionCSS")).contains(".preemptible-badge"));
    }

    /** Blue Ocean skips what another plugin's class loader finds. */
    @Test
    void theIndexNamesThisPlugin() throws IOException {
        assertEquals("preemptible", index().getString("hpiPluginId"));
        assertTrue(resource(BUNDLE).contains("const ID = \"preemptible\""));
        assertTrue(resource(BUNDLE).contains("\"" + SuspendedStageAction.class.getName() + "\""));
    }
}
