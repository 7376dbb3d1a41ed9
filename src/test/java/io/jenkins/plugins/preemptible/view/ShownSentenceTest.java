package io.jenkins.plugins.preemptible.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import java.io.IOException;
import java.io.InputStream;
import java.text.MessageFormat;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the engine says has words on pages, and in English these are the engine's own. */
class ShownSentenceTest {

    private static final String BUNDLE = "/io/jenkins/plugins/preemptible/view/Messages.properties";

    private static Properties words() throws IOException {
        Properties words = new Properties();
        try (InputStream in = ShownSentenceTest.class.getResourceAsStream(BUNDLE)) {
            words.load(in);
        }
        return words;
    }

    /** The keys and sentences that there have to be. */
    private static Properties expected() {
        Properties expected = new Properties();
        for (Reason reason : Reason.values()) {
            expected.setProperty(ShownSentence.key(reason), reason.sentence());
        }
        for (FailureReason reason : FailureReason.values()) {
            expected.setProperty(ShownSentence.key(reason), reason.sentence());
            expected.setProperty(ShownSentence.remedyKey(reason), reason.remedy());
        }
        return expected;
    }

    @Test
    void eachConstantHasItsSentence() throws Exception {
        Properties words = words();
        List<String> wrong = new ArrayList<>();
        expected().forEach((key, sentence) -> {
            String found = words.getProperty((String) key);
            if (found == null || !MessageFormat.format(found, new Object[0]).equals(sentence)) {
                wrong.add(key + "=" + ((String) sentence).replace("'", "''"));
            }
        });
        assertEquals("", String.join("\n", wrong), "these lines belong into " + BUNDLE);
    }

    @Test
    void noSentenceIsLeftOfAConstantThatIsGone() throws Exception {
        Set<String> left = new TreeSet<>(words().stringPropertyNames());
        left.removeIf(key -> !key.startsWith("Reason.") && !key.startsWith("FailureReason."));
        left.removeAll(expected().stringPropertyNames());
        assertEquals(Set.of(), left);
    }

    @ParameterizedTest
    @EnumSource(Reason.class)
    void aReasonIsShownByItsConstantAndByItsSentence(Reason reason) {
        assertEquals(reason.sentence(), ShownSentence.of(reason));
        assertEquals(reason.sentence(), ShownSentence.of(reason.sentence()));
        assertEquals(reason.sentence(), ShownSentence.of(reason.name(), "as an earlier version said it"));
    }

    /** With a detail, as refusals are saved and come from agents. */
    @ParameterizedTest
    @EnumSource(FailureReason.class)
    void aFailureKeepsItsDetail(FailureReason reason) {
        String detail = new EngineException(reason, "{0} isn't <b>there</b>").getMessage();
        assertEquals(detail, ShownSentence.of(detail));
        assertEquals(reason.sentence(), ShownSentence.of(reason.sentence()));
    }

    @Test
    void otherTextIsShownAsItIs() {
        assertEquals("It's {0}.", ShownSentence.of("It's {0}."));
        assertEquals("old words", ShownSentence.of("GONE_SINCE", "old words"));
        assertNull(ShownSentence.of((String) null));
    }
}
