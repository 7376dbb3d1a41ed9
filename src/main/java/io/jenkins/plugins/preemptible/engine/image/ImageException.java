package io.jenkins.plugins.preemptible.engine.image;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Says why an image could not be written or read, in words for people and as a constant for programs.
 *
 * <ol>
 *   <li>{@link #reason()} is one of a few constants, each with a sentence and what the user can do.
 *   <li>{@link #getMessage()} names the file, then the sentence, then the remedy.
 *   <li>The thrower has removed what was half written; the archive that was read is left as it was.
 * </ol>
 */
public final class ImageException extends IOException {

    private static final long serialVersionUID = 1L;

    /** Why an image could not be written or read. */
    public enum Reason {
        /** There is no file of this name. */
        MISSING(
                "there is no such file, or it cannot be read",
                "check the path; a suspended stage's archive is shown by 'preempt list'"),
        /** The file does not begin as an image does. */
        NOT_AN_IMAGE("is no image of a suspended stage", "give the file that 'suspend --to' wrote"),
        /** The file is an image of a format that this version does not know. */
        OTHER_VERSION(
                "is an image of another format version",
                "read it with the version of the plugin or of preempt that wrote it"),
        /** The file ends before the image does. */
        TRUNCATED("is cut off: its end is missing", "copy it again from where it was written to, and check its size"),
        /** The content is not what was sealed with this key. */
        WRONG_KEY_OR_TAMPERED(
                "cannot be opened: it was sealed with another key, or it was changed since",
                "give the key file it was sealed with, or copy the image again"),
        /** The key itself cannot be used. */
        BAD_KEY("holds no usable image key", "give the key file that the image was sealed with"),
        /** Something in it must not be written to a disk: a path out of the folder, a link, a device. */
        UNSAFE_ENTRY(
                "holds something that an image must not hold", "use only images that this plugin or preempt wrote"),
        /** It is whole and authentic, but another image than the one that belongs here. */
        REPLAYED(
                "is not the image that is expected here",
                "give the archive of the stage's last suspension; 'preempt list' shows it"),
        /** An entry is not what the manifest says, although the archive is authentic. */
        BAD_CONTENT("does not hold what its manifest promises", "use an earlier image of the stage, if there is one"),
        /** A difference's full image is not there. */
        PARENT_MISSING(
                "is a difference, and the full image that it refers to is missing",
                "put the full image beside it, under the name it had, or say where it is"),
        /** The full image of a difference cannot be used. */
        PARENT_UNUSABLE(
                "is a difference, and what is at the place of its full image cannot be used",
                "put the full image that it was made against beside it, sealed with the same key"),
        /** A file changed while it was packed, so the image would not be of one moment. */
        CHANGED_MEANWHILE(
                "changed while it was packed",
                "keep others from writing to the stage's preserved paths, then suspend it again"),
        /** More than an image can hold. */
        TOO_LARGE("is more than an image can hold", "declare fewer or smaller preserved paths"),
        /** The caller wanted to stop. */
        CANCELLED("was given up, as was asked for", "try again when it suits"),
        /** The disk is full. */
        NO_SPACE("does not fit on the disk", "free some space there, or choose a folder on another disk"),
        /** The target folder is not empty, or the target file exists and is no file. */
        TARGET_IN_USE("cannot be used as the target", "give a new or empty one"),
        /** Reading or writing failed for a reason of the operating system's. */
        INPUT_OUTPUT("could not be read or written", "see the system's message, and try again");

        private final String sentence;
        private final String remedy;

        Reason(String sentence, String remedy) {
            this.sentence = sentence;
            this.remedy = remedy;
        }

        /** Whether the file itself is at fault, wherever it is read: not a disk, or the caller. */
        public boolean isOfImage() {
            return switch (this) {
                case NOT_AN_IMAGE,
                        OTHER_VERSION,
                        TRUNCATED,
                        WRONG_KEY_OR_TAMPERED,
                        UNSAFE_ENTRY,
                        REPLAYED,
                        BAD_CONTENT -> true;
                case PARENT_MISSING, PARENT_UNUSABLE -> true;
                default -> false;
            };
        }

        /** What happened, to be put after the file's name. */
        public String sentence() {
            return sentence;
        }

        /** What the user can do about it. */
        public String remedy() {
            return remedy;
        }
    }

    private final Reason reason;
    private final String finding;

    /**
     * @param subject the file or folder, as the user knows it
     * @param detail what is known beyond the reason's sentence; may be null
     * @param cause may be null
     */
    public ImageException(Reason reason, Object subject, String detail, Throwable cause) {
        super(finding(reason, subject, detail) + "; " + reason.remedy, cause);
        this.reason = reason;
        this.finding = finding(reason, subject, detail);
    }

    private static String finding(Reason reason, Object subject, String detail) {
        return subject + " " + reason.sentence + (detail == null || detail.isBlank() ? "" : " (" + detail + ")");
    }

    public Reason reason() {
        return reason;
    }

    /** The message without its remedy, for a message that has one of its own. */
    public String finding() {
        return finding;
    }

    /** An I/O error in words: the kind of error alone says nothing to people where it has a message. */
    public static String words(IOException e) {
        String message = e instanceof FileSystemException f ? f.getReason() : e.getMessage();
        return message == null || message.isBlank() ? e.getClass().getSimpleName() : message;
    }

    /** The failure of a write to a file system, which above all may be full. */
    public static ImageException writeFailed(Path where, IOException e) {
        if (e instanceof ImageException image) {
            return image;
        }
        String words = words(e);
        boolean full = words.contains("No space left") || words.contains("quota exceeded") || noRoomAt(where);
        return new ImageException(full ? Reason.NO_SPACE : Reason.INPUT_OUTPUT, where, words, e);
    }

    // The system's message is in the user's language, so the words alone do not decide.
    private static boolean noRoomAt(Path where) {
        try {
            Path folder = where.toAbsolutePath().getParent();
            return Files.getFileStore(folder).getUsableSpace() == 0;
        } catch (IOException e) {
            return false;
        }
    }
}
