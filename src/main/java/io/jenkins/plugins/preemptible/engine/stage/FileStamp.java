package io.jenkins.plugins.preemptible.engine.stage;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Tells a file from another one under its name, and from itself after a change.
 *
 * <p>stage.json has it as one text, the size first.
 *
 * @param size in bytes, or {@code unknown}
 * @param identity the inode's number and the time of its last change; why it is not known, if the size is not
 */
public record FileStamp(String size, String identity) {

    /** The stamp of a file now; one that equals no file's when it cannot be read. */
    public static FileStamp of(Path file) {
        try {
            Map<String, Object> seen = Files.readAttributes(file, "unix:size,ino,ctime");
            return new FileStamp(String.valueOf(seen.get("size")), seen.get("ino") + " " + seen.get("ctime"));
        } catch (IOException e) {
            return new FileStamp("unknown", e.getClass().getSimpleName());
        }
    }

    /** Whether both files have the same size, whatever else differs. */
    public boolean sameSize(FileStamp other) {
        return size.equals(other.size);
    }

    @JsonCreator
    static FileStamp parse(String text) {
        int blank = text.indexOf(' ');
        return blank < 0 ? new FileStamp(text, "") : new FileStamp(text.substring(0, blank), text.substring(blank + 1));
    }

    @JsonValue
    @Override
    public String toString() {
        return size + " " + identity;
    }
}
