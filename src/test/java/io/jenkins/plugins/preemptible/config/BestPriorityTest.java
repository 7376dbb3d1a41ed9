package io.jenkins.plugins.preemptible.config;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a step gets of what it asks for. */
class BestPriorityTest {

    @ParameterizedTest(name = "limit {0}, build {1}, asks for {2}: gets {3}")
    @CsvSource({
        // Less urgent than the build, or as urgent: always.
        "3, 3, 3, 3",
        "3, 3, 4, 4",
        "3, 1, 5, 5",
        "1, 3, 5, 5",
        // More urgent: up to the limit.
        "3, 5, 4, 4",
        "3, 5, 3, 3",
        "3, 5, 1, 3",
        "3, 3, 1, 3",
        "1, 3, 1, 1",
        // A build that is better than the limit keeps what it has, and its steps get no more.
        "3, 2, 1, 2",
        "3, 2, 2, 2",
        "5, 3, 1, 3",
        "5, 3, 3, 3",
        "5, 3, 4, 4"
    })
    void aStepGetsLessThanItsBuildAlwaysAndMoreUpToTheLimit(int limit, int ofBuild, int asked, int granted) {
        assertEquals(granted, new BestPriority(limit, null).granted(asked, ofBuild));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "team/a | 1 | 3 | This stage asks for priority 1 and gets 3: the folder 'team/a' lets no step ask for better"
                        + " than 3. Ask for 3, or ask an administrator to change that limit.",
                "       | 1 | 2 | This stage asks for priority 1 and gets 2: the global configuration lets no step ask for"
                        + " better than 3, and the build itself has 2. Ask for 2, or ask an administrator to change that"
                        + " limit.",
            })
    void theBuildLogNamesWhoHasSetIt(String folder, int asked, int granted, String sentence) {
        assertEquals(sentence, new BestPriority(3, folder).sentence(asked, granted));
    }
}
