package io.jenkins.plugins.preemptible.engine.host;

import java.util.Optional;

/**
 * Reads what the kernel tells of a stage's processes only to processes of the stage's own user namespace.
 *
 * <p>Safe for any threads.
 */
@FunctionalInterface
public interface InsideReader extends AutoCloseable {

    /** For a stage whose processes this user may read. */
    InsideReader NONE = (question, path) -> Optional.empty();

    /** What can be asked for; the letter is the one that {@code helper/reader.c} knows it by. */
    enum Question {
        /** A file's bytes. */
        TEXT('t'),
        LINK('l'),
        /** The entries of a folder that begin with a digit, one a line. */
        NUMBERS('n'),
        /** Mode, number of names, bytes, blocks of 512 bytes, inode, and two device numbers as {@code major:minor}. */
        STATUS('s'),
        /** The protocol of a socket. */
        PROTOCOL('p'),
        /** The type of the file system and its used bytes. */
        FILE_SYSTEM('f'),
        /** {@code 1} for two processes with one working folder; two process ids in place of a path. */
        SHARES_FOLDER('k');

        private final char letter;

        Question(char letter) {
            this.letter = letter;
        }

        public char letter() {
            return letter;
        }
    }

    /**
     * @param path below {@code /proc}, beginning with a process id
     * @return empty where the kernel tells nothing, or there is no program to ask
     */
    Optional<byte[]> ask(Question question, String path);

    @Override
    default void close() {}
}
