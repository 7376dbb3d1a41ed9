package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HelperAnswerTest {

    @ParameterizedTest
    @ValueSource(strings = {"", "yes", "ok\nwithoutblank", "refused NO_SUCH_REASON sentence"})
    void anAnswerOfAnotherVersionSaysWhatToDo(String text) {
        IOException refused = assertThrows(IOException.class, () -> HelperAnswer.parse(Verb.STATUS, text));
        assertTrue(refused.getMessage().contains("install-helper"), refused::getMessage);
    }
}
