package io.jenkins.plugins.preemptible.lifecycle.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class StageRecordTest {

    private final StageRecord stage = StageRecord.running(
            "preemptible-12345678", StageRecord.Form.OWN, "job#1", "preemptible", "worker", "/w", null, 5, 0);

    /** It was to be tried again in ten minutes, and then the system clock was set back by an hour. */
    @Test
    void clockThatIsSetBackDelaysNoRetry() {
        stage.retryAfterMillis = System.currentTimeMillis() + TimeUnit.MINUTES.toMillis(70);
        assertEquals(0, stage.retryAfterMillis());
    }

    @Test
    void itsMemoryIsSavedAndReadAgain() {
        assertEquals(-1, stage.residentBytes());
        String older = StageFiles.XSTREAM.toXML(stage).replaceAll("<residentBytes>.*</residentBytes>", "");
        assertEquals(-1, ((StageRecord) StageFiles.XSTREAM.fromXML(older)).residentBytes());
        StageChanges.had(3L << 30).accept(stage);
        StageRecord read = (StageRecord) StageFiles.XSTREAM.fromXML(StageFiles.XSTREAM.toXML(stage));
        assertEquals(3L << 30, read.residentBytes());
    }

    @Test
    void retryIsWaitedFor() {
        stage.retryAfterMillis = System.currentTimeMillis() + TimeUnit.MINUTES.toMillis(10);
        assertEquals(stage.retryAfterMillis, stage.retryAfterMillis());
        stage.retryAfterMillis = Long.MAX_VALUE;
        assertEquals(Long.MAX_VALUE, stage.retryAfterMillis());
    }
}
