package io.jenkins.plugins.preemptible.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.casc.ConfigurationAsCode;
import io.jenkins.plugins.casc.ConfigurationContext;
import io.jenkins.plugins.casc.ConfiguratorException;
import io.jenkins.plugins.casc.ConfiguratorRegistry;
import io.jenkins.plugins.casc.misc.ConfiguredWithCode;
import io.jenkins.plugins.casc.misc.JenkinsConfiguredWithCodeRule;
import io.jenkins.plugins.casc.misc.Util;
import io.jenkins.plugins.casc.misc.junit.jupiter.WithJenkinsConfiguredWithCode;
import io.jenkins.plugins.preemptible.engine.policy.FreezeOnly;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.policy.Slices;
import io.jenkins.plugins.preemptible.engine.policy.Undisturbed;
import io.jenkins.plugins.preemptible.engine.policy.UndumpableStages;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalTime;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.htmlunit.HttpMethod;
import org.htmlunit.WebRequest;
import org.htmlunit.WebResponse;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.jvnet.hudson.test.JenkinsRule;

@WithJenkinsConfiguredWithCode
class ConfigurationAsCodeTest {

    /** What configuration-as-code.yaml says. */
    private static final Limits LIMITS = new Limits(
            false,
            new Slices(
                    1_800_000,
                    List.of(new Slices.Rule("fuzz", 4, 5, 600_000), new Slices.Rule(null, 1, 1000, 3_600_000))),
            45_000,
            7,
            3,
            20,
            900_000,
            8192L << 20,
            2048L << 20,
            UndumpableStages.NEVER_PREEMPT,
            new Undisturbed(LocalTime.of(22, 0), LocalTime.of(6, 30), ZoneId.of("Europe/Berlin"), 7_200_000),
            new FreezeOnly(300_000, 10));

    /** One for all tests: most of their time is its start. */
    @ConfiguredWithCode("configuration-as-code.yaml")
    public static JenkinsConfiguredWithCodeRule jenkins;

    /** What one test has configured is not the next one's. */
    @BeforeEach
    void asInTheFile() throws Exception {
        jenkins.jenkins.setNumExecutors(2);
        ConfigurationAsCode.get()
                .configure(ConfigurationAsCodeTest.class
                        .getResource("configuration-as-code.yaml")
                        .toExternalForm());
    }

    @Test
    void isReadSavedExportedAndReadAgain(@TempDir Path folder) throws Exception {
        PreemptibleConfiguration configuration = PreemptibleConfiguration.get();
        assertEquals(LIMITS, configuration.limits());
        assertEquals(OwnerBy.FOLDER, configuration.ownerBy());
        configuration.load();
        assertEquals(LIMITS, configuration.limits(), "after loading what was saved");

        Path exported = Files.writeString(
                folder.resolve("jenkins.yaml"),
                "unclassified:\n  preemptible:\n" + section().indent(4));
        Map<String, Object> set = fields(configuration);
        // So that a setting which is added later is not forgotten here.
        fields(new PreemptibleConfiguration())
                .forEach((name, value) ->
                        assertNotEquals(value, set.get(name), name + " is at its default in this test's file"));
        ConfigurationAsCode.get()
                .configure(
                        Files.writeString(folder.resolve("other.yaml"), OTHER).toString());
        assertNotEquals(LIMITS, configuration.limits());
        assertNull(configuration.getStageDefaults(), "what a file leaves out goes back to its default");

        ConfigurationAsCode.get().configure(exported.toString());

        assertEquals(LIMITS, configuration.limits(), () -> "after importing " + exported);
        StageDefaults defaults = configuration.getStageDefaults();
        assertEquals(4, defaults.getPriority());
        assertEquals(20, defaults.getTimeSliceMinutes());
        assertEquals("close", defaults.getTcp());
        assertEquals(true, defaults.getRerun());
        assertEquals(OwnerBy.FOLDER, configuration.ownerBy());
        assertTrue(configuration.isMoveStages());
        assertEquals(512, configuration.getStoredWorkspaceMegabytes());
        assertEquals("**/cache/**", configuration.getMoveExcludes());
    }

    private static final String OTHER = """
            unclassified:
              preemptible:
                enabled: true
                timeSliceMinutes: 1
                sliceRules: []
                ownerBy: job
                exemptSeconds: 0
                mostSuspensions: 0
                mostSuspendedPerAgent: 0
                mostSuspended: 0
                ageingMinutes: 0
                memoryFloorMegabytes: 0
                imageLimitMegabytes: 0
                bestPriority: 1
                diskFloorMegabytes: 0
                diskFloorPercent: 0
                undumpable: freeze-only
                frozenOnlySeconds: 30
                frozenOnlyPercent: 0
                storedWorkspaceMegabytes: 0
                moveExcludes: "*.iso, build/tmp/"
                undisturbedHours:
                  from: "1:00"
                  to: "2:00"
            """;

    /** Values that are all right, and other ones than before; those of a refused file are in no order. */
    private static final String WITH_GOOD_ONES = """
            unclassified:
              preemptible:
                enabled: true
                exemptSeconds: 1
                mostSuspensions: 1
                mostSuspended: 1
                memoryFloorMegabytes: 1
                imageLimitMegabytes: 1
            """;

    @Test
    void aBadValueFailsWithASentenceAndNothingOfItsFileIsTakenOver(@TempDir Path folder) throws Exception {
        Map<String, String> sentences = new TreeMap<>(Map.of(
                "timeSliceMinutes: 10081", "Time slice is 10081, but must be a whole number from 0 to 10080.",
                "ageingMinutes: -1", "Ageing is -1, but must be a whole number from 0 to 10080.",
                "mostSuspendedPerAgent: 1001",
                        "Most suspended stages per agent is 1001, but must be a whole number from 0 to 1000.",
                "sliceRules: [{minutes: -5}]",
                        "Time slice of a rule is -5, but must be a whole number from 0 to 10080.",
                "sliceRules: [{minutes: 5, highestPriority: 4, lowestPriority: 2}]",
                        "the wrong way round: the highest is 4, the lowest 2.",
                "sliceRules: [{minutes: 5, label: 'a && b'}]", "must be one label, not an expression",
                "ownerBy: colour", "\u201ccolour\u201d, but must be one of these words: user, folder, job.",
                "undumpable: WAIT",
                        "\u201cWAIT\u201d, but must be one of these words: wait, rerun, never-preempt, freeze-only.",
                "undisturbedHours: {from: '24:00', to: '6:00'}",
                        "Begin of the quiet hours is \u201c24:00\u201d, but must be a time of day",
                "undisturbedHours: {from: '22:00', to: '6:00', zone: Mars}",
                        "Time zone of the quiet hours is \u201cMars\u201d"));
        sentences.put("stageDefaults: {tcp: keep}", "\u201ckeep\u201d, but must be one of these words: refuse, close.");
        for (Map.Entry<String, String> bad : sentences.entrySet()) {
            Path file =
                    Files.writeString(folder.resolve("jenkins.yaml"), WITH_GOOD_ONES + "    " + bad.getKey() + "\n");

            ConfiguratorException refused = assertThrows(
                    ConfiguratorException.class,
                    () -> ConfigurationAsCode.get().configure(file.toString()),
                    bad.getKey());

            assertTrue(sentences(refused).contains(bad.getValue()), () -> bad.getKey() + ": " + sentences(refused));
            assertEquals(LIMITS, PreemptibleConfiguration.get().limits(), bad.getKey());
            assertEquals(OwnerBy.FOLDER, PreemptibleConfiguration.get().ownerBy(), bad.getKey());
        }
        Path good = Files.writeString(
                folder.resolve("jenkins.yaml"), "unclassified:\n  preemptible:\n    undumpable: rerun\n");
        ConfigurationAsCode.get().configure(good.toString());
        assertEquals(
                new PreemptibleConfiguration().limits().withUndumpable(UndumpableStages.RERUN),
                PreemptibleConfiguration.get().limits(),
                "what was refused before is forgotten, and what is left out is at its default");
    }

    @Test
    void whatASectionLeavesOutGoesBackToItsDefault(@TempDir Path folder) throws Exception {
        PreemptibleConfiguration configuration = PreemptibleConfiguration.get();
        Map<String, Object> defaults = fields(new PreemptibleConfiguration());
        configure(folder, "jenkins:\n  numExecutors: 1\n");
        assertEquals(LIMITS, configuration.limits(), "a file without the section");

        configure(folder, "unclassified:\n  preemptible:\n    bestPriority: 2\n");
        Map<String, Object> expected = new TreeMap<>(defaults);
        expected.put("bestPriority", 2);
        assertEquals(expected, fields(configuration));
        configuration.load();
        assertEquals(expected, fields(configuration), "after loading what was saved");

        configure(folder, "unclassified:\n  preemptible: {}\n");
        assertEquals(defaults, fields(configuration));
    }

    /** Quiet hours are switched off by a file that has none, or that leaves them empty. */
    @Test
    void undisturbedHoursAreSwitchedOffAgain(@TempDir Path folder) throws Exception {
        PreemptibleConfiguration configuration = PreemptibleConfiguration.get();
        assertTrue(configuration.getUndisturbedHours() != null);
        String some = "unclassified:\n  preemptible:\n    undisturbedHours: {from: '1:00', to: '2:00'}\n";
        for (String none : List.of(
                "    undisturbedHours:\n",
                "    undisturbedHours: {}\n",
                "    undisturbedHours: ''\n",
                "    mostSuspended: 1\n")) {
            configure(folder, some);
            assertTrue(configuration.getUndisturbedHours() != null);
            configure(folder, "unclassified:\n  preemptible:\n" + none);
            assertNull(configuration.getUndisturbedHours(), none);
            configuration.load();
            assertNull(configuration.getUndisturbedHours(), none + ", as it is saved");
        }
    }

    /** Who reloads the configuration on its page sees the sentence, not only the controller's log. */
    @Test
    void aBadValueIsSaidOnThePageThatReloads(@TempDir Path folder) throws Exception {
        Path file =
                Files.writeString(folder.resolve("bad.yaml"), "unclassified:\n  preemptible:\n    ageingMinutes: -1\n");
        System.setProperty(ConfigurationAsCode.CASC_JENKINS_CONFIG_PROPERTY, file.toString());
        try {
            JenkinsRule.WebClient browser = jenkins.createWebClient().withThrowExceptionOnFailingStatusCode(false);
            WebResponse reload = browser.loadWebResponse(browser.addCrumb(
                    new WebRequest(new URL(jenkins.getURL(), "manage/configuration-as-code/reload"), HttpMethod.POST)));
            assertEquals(200, reload.getStatusCode());
            assertTrue(
                    reload.getContentAsString().contains("Ageing is -1, but must be a whole number from 0 to 10080."),
                    reload.getContentAsString());
        } finally {
            System.clearProperty(ConfigurationAsCode.CASC_JENKINS_CONFIG_PROPERTY);
        }
    }

    private static void configure(Path folder, String yaml) throws Exception {
        ConfigurationAsCode.get()
                .configure(Files.writeString(folder.resolve("file.yaml"), yaml).toString());
    }

    /** This plugin's section as Jenkins exports it. */
    private static String section() throws Exception {
        ConfigurationContext context = new ConfigurationContext(ConfiguratorRegistry.get());
        return Util.toYamlString(Util.getUnclassifiedRoot(context).get("preemptible"));
    }

    private static Map<String, Object> fields(PreemptibleConfiguration configuration) throws IllegalAccessException {
        Map<String, Object> values = new TreeMap<>();
        for (Field field : PreemptibleConfiguration.class.getDeclaredFields()) {
            if (!Modifier.isStatic(field.getModifiers()) && !Modifier.isTransient(field.getModifiers())) {
                field.setAccessible(true);
                values.put(field.getName(), Objects.requireNonNullElse(field.get(configuration), "null"));
            }
        }
        return values;
    }

    private static String sentences(Throwable refused) {
        StringBuilder all = new StringBuilder();
        for (Throwable cause = refused; cause != null; cause = cause.getCause()) {
            all.append(cause.getMessage()).append('\n');
        }
        return all.toString();
    }
}
