package io.jenkins.plugins.preemptible.acceptance;

import hudson.Main;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jenkinsci.plugins.workflow.support.steps.ExecutorStepExecution;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.jvnet.hudson.test.fixtures.FlagFixture;

/**
 * Periods of the plugin, of Pipeline and of Jenkins that are others during the tests of one class.
 *
 * <ol>
 *   <li>A static field with {@code @RegisterExtension}: they are set before the class starts a Jenkins, which asks for some of
 *       them then only.
 *   <li>They are put back after the class: the next one has the same JVM.
 *   <li>A class that extends another one has the periods of both; its own count.
 * </ol>
 */
final class Periods implements BeforeAllCallback, AfterAllCallback {

    private static final String OURS = "io.jenkins.plugins.preemptible.";

    private final List<FlagFixture<?>> wanted = new ArrayList<>();
    private final Deque<FlagFixture<?>> changed = new ArrayDeque<>();

    /** @param name of one of the plugin's own system properties, which are read at each use, without the package of the plugin */
    Periods with(String name, long value) {
        wanted.add(FlagFixture.systemProperty(OURS + name, String.valueOf(value)));
        return this;
    }

    /** @param name of a static field that is not final */
    Periods with(Class<?> type, String name, Object value) {
        wanted.add(new FlagFixture<>(() -> read(type, name), given -> write(type, name, given), value));
        return this;
    }

    /** For how long Pipeline waits for an agent of running steps, or after a restart; outside of tests, five minutes. */
    Periods stepsWait(Duration patience) {
        // As the harness does later: the class asks once.
        Main.isUnitTest = true;
        return with(ExecutorStepExecution.class, "TIMEOUT_WAITING_FOR_NODE_MILLIS", patience.toMillis());
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        for (FlagFixture<?> each : wanted) {
            each.setUp();
            changed.push(each);
        }
    }

    @Override
    public void afterAll(ExtensionContext context) {
        while (!changed.isEmpty()) {
            changed.pop().tearDown();
        }
    }

    private static Object read(Class<?> type, String name) {
        try {
            return field(type, name).get(null);
        } catch (ReflectiveOperationException x) {
            throw new IllegalStateException(x);
        }
    }

    private static void write(Class<?> type, String name, Object value) {
        try {
            field(type, name).set(null, value);
        } catch (ReflectiveOperationException x) {
            throw new IllegalStateException(x);
        }
    }

    private static Field field(Class<?> type, String name) throws NoSuchFieldException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
