package io.jenkins.plugins.preemptible.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
import io.jenkins.plugins.casc.model.Mapping;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@WithJenkinsConfiguredWithCode
class ConfigurationAsCodeTest {

    @Test
    @ConfiguredWithCode("configuration-as-code.yaml")
    void isRead(JenkinsConfiguredWithCodeRule jenkins) {
        PreemptibleConfiguration configuration = PreemptibleConfiguration.get();
        assertEquals(new Limits(false, 1_800_000, 45_000, 7), configuration.limits());
        assertEquals(2048L << 20, configuration.memoryFloorBytes());
        configuration.load();
        assertEquals(new Limits(false, 1_800_000, 45_000, 7), configuration.limits(), "after loading what was saved");
    }

    @Test
    @ConfiguredWithCode("configuration-as-code.yaml")
    void isExportedAsItWasRead(JenkinsConfiguredWithCodeRule jenkins) throws Exception {
        ConfigurationContext context = new ConfigurationContext(ConfiguratorRegistry.get());
        Mapping exported =
                Util.getUnclassifiedRoot(context).get("preemptible").asMapping();
        assertEquals("false", exported.getScalarValue("enabled"));
        assertEquals("30", exported.getScalarValue("timeSliceMinutes"));
        assertEquals("45", exported.getScalarValue("exemptSeconds"));
        assertEquals("7", exported.getScalarValue("mostSuspensions"));
        assertEquals("2048", exported.getScalarValue("memoryFloorMegabytes"));
        // Reading a value takes it out.
        assertTrue(exported.isEmpty(), exported::toString);
    }

    @Test
    @ConfiguredWithCode("configuration-as-code.yaml")
    void aValueOutOfRangeFailsWithASentence(JenkinsConfiguredWithCodeRule jenkins, @TempDir Path folder)
            throws Exception {
        Path file = Files.writeString(
                folder.resolve("jenkins.yaml"), "unclassified:\n  preemptible:\n    timeSliceMinutes: 10081\n");

        ConfiguratorException refused = assertThrows(
                ConfiguratorException.class,
                () -> ConfigurationAsCode.get().configure(file.toString()));

        assertTrue(
                sentences(refused).contains("Time slice is 10081, but must be a whole number from 0 to 10080."),
                () -> sentences(refused));
        assertEquals(30, PreemptibleConfiguration.get().getTimeSliceMinutes());
    }

    private static String sentences(Throwable refused) {
        StringBuilder all = new StringBuilder();
        for (Throwable cause = refused; cause != null; cause = cause.getCause()) {
            all.append(cause.getMessage()).append('\n');
        }
        return all.toString();
    }
}
