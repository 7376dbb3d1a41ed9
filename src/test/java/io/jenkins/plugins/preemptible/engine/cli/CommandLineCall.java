package io.jenkins.plugins.preemptible.engine.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** One call of the command line inside the test, and what came of it. */
record CommandLineCall(int status, String out, String err) {

    static CommandLineCall of(Path home, String... args) {
        Map<String, String> environment = new HashMap<>(System.getenv());
        environment.put("PREEMPTIBLE_HOME", home.toString());
        environment.remove("PREEMPTIBLE_DEBUG");
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int status = Preempt.run(
                environment,
                home.toAbsolutePath().getParent(),
                new PrintWriter(out, true),
                new PrintWriter(err, true),
                args);
        return new CommandLineCall(status, out.toString(), err.toString());
    }

    CommandLineCall exits(int expected) {
        assertEquals(expected, status, () -> toString());
        return this;
    }

    /** One line on standard error, for people, that names these; and nothing on standard output. */
    CommandLineCall refuses(String... named) {
        exits(ExitStatus.USAGE);
        assertEquals("", out);
        return says(named);
    }

    CommandLineCall says(String... named) {
        assertTrue(err.matches("preempt: [^\\n]+\\.\\n"), () -> toString());
        assertFalse(err.contains("Exception") || err.contains("\tat "), () -> toString());
        for (String each : named) {
            assertTrue(err.contains(each), () -> "'" + each + "' is not in " + this);
        }
        return this;
    }

    JsonNode json() throws Exception {
        assertEquals(1, out.lines().count(), () -> toString());
        return new ObjectMapper().readTree(out);
    }
}
