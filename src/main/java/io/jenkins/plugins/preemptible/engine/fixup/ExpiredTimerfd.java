package io.jenkins.plugins.preemptible.engine.fixup;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnknownFieldSet.Field;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Arms a periodic timerfd again that had expired and was not read yet.
 *
 * <ol>
 *   <li>The kernel starts such a timer anew only when its descriptor is read; until then it reports no time left. Most
 *       periodic timers are in this state, since a frozen program reads nothing.
 *   <li>CRIU writes that down as a value of 0, and a timer that is set to 0 is disarmed: the program reads the one
 *       expiry that was counted, and waits for the next for ever.
 *   <li>So in each such entry of {@code files.img} the value becomes the interval. One that has no interval, one that
 *       never expired and one that runs stay as they are.
 * </ol>
 *
 * Source: CRIU 4.2.1, {@code criu/timerfd.c} and {@code images/timerfd.proto}; Linux, {@code fs/timerfd.c}.
 */
final class ExpiredTimerfd implements ImageFixup {

    private static final int TIMERFD_OF_FILE = 12;
    private static final int TICKS = 5;
    private static final int VALUE_SECONDS = 7;
    private static final int VALUE_NANOS = 8;
    private static final int INTERVAL_SECONDS = 9;
    private static final int INTERVAL_NANOS = 10;

    @Override
    public String name() {
        return "expired-timerfd";
    }

    @Override
    public String why() {
        return "A periodic timerfd had expired and was not read yet, and CRIU would bring it back disarmed;"
                + " it is armed with its interval again";
    }

    @Override
    public boolean apply(Path imageFolder) throws IOException {
        Path files = imageFolder.resolve("files.img");
        return Files.exists(files) && EntryRewrite.rewrite(files, ExpiredTimerfd::armed);
    }

    private static UnknownFieldSet armed(UnknownFieldSet file) throws InvalidProtocolBufferException {
        if (!file.hasField(TIMERFD_OF_FILE)) {
            return file;
        }
        ByteString entry =
                file.getField(TIMERFD_OF_FILE).getLengthDelimitedList().get(0);
        UnknownFieldSet timer = UnknownFieldSet.parseFrom(entry);
        boolean running = ImageFile.number(timer, VALUE_SECONDS) != 0 || ImageFile.number(timer, VALUE_NANOS) != 0;
        boolean periodic =
                ImageFile.number(timer, INTERVAL_SECONDS) != 0 || ImageFile.number(timer, INTERVAL_NANOS) != 0;
        if (running || !periodic || ImageFile.number(timer, TICKS) == 0) {
            return file;
        }
        UnknownFieldSet armed = timer.toBuilder()
                .addField(VALUE_SECONDS, ImageFile.field(ImageFile.number(timer, INTERVAL_SECONDS)))
                .addField(VALUE_NANOS, ImageFile.field(ImageFile.number(timer, INTERVAL_NANOS)))
                .build();
        return file.toBuilder()
                .addField(
                        TIMERFD_OF_FILE,
                        Field.newBuilder()
                                .addLengthDelimited(armed.toByteString())
                                .build())
                .build();
    }
}
