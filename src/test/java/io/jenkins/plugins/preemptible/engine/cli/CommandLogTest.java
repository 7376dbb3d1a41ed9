package io.jenkins.plugins.preemptible.engine.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

class CommandLogTest {

    private static final Logger ROOT = Logger.getLogger("");
    private static final Logger ENGINE = Logger.getLogger("io.jenkins.plugins.preemptible.engine.SomeClass");

    private final StringWriter err = new StringWriter();

    /** What an agent's log would get. */
    private static final class Agent extends Handler {
        private final List<String> seen = new ArrayList<>();

        @Override
        public void publish(LogRecord entry) {
            if (entry.getMessage().startsWith("test:")) {
                seen.add(entry.getMessage());
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }

    private void call(boolean debug) {
        try (CommandLog log = CommandLog.to(new PrintWriter(err, true), debug)) {
            ENGINE.info("test: frozen");
            ENGINE.log(Level.WARNING, "test: not restored", new IOException("no\nfile\033[31m"));
        }
    }

    @Test
    void aWarningIsOneLineAndTheRestIsLeftToTheAnswer() {
        call(false);
        assertEquals("preempt: test: not restored: no file?[31m." + System.lineSeparator(), err.toString());
    }

    @Test
    void parametersAreInTheirPlaces() {
        try (CommandLog log = CommandLog.to(new PrintWriter(err, true), false)) {
            ENGINE.log(Level.WARNING, "test: not tried: {0}", "no overlay");
        }
        assertEquals("preempt: test: not tried: no overlay." + System.lineSeparator(), err.toString());
    }

    @Test
    void debuggingShowsTheRestToo() {
        call(true);
        assertTrue(err.toString().startsWith("preempt: test: frozen." + System.lineSeparator()), err.toString());
    }

    @Test
    void whoeverUsesTheEngineWithoutTheCommandLineGetsAllOfItsLog() {
        Agent agent = new Agent();
        ROOT.addHandler(agent);
        try {
            call(false);
            assertEquals(List.of(), agent.seen);
            ENGINE.info("test: frozen again");
            assertEquals(List.of("test: frozen again"), agent.seen);
        } finally {
            ROOT.removeHandler(agent);
        }
    }
}
