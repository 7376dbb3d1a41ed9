package io.jenkins.plugins.preemptible.lifecycle.stage;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * A stage's workspace and temporary folder as they were when its image was made, sealed among its build's artifacts; and
 * the host that they are from, by which another one is compared without it.
 *
 * <p>Saved with the stage's record; never changes. The key is another one than the image's.
 */
public final class SealedLuggage {

    private static final Logger LOGGER = Logger.getLogger(SealedLuggage.class.getName());
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String file;
    private final Secret key;
    private final long archiveBytes;
    private final long contentBytes;
    /** Of {@link HostTraits}, as JSON. */
    private final String host;

    private final boolean treeEnded;
    /** Null in older records too. */
    @CheckForNull
    private final String base;

    @CheckForNull
    private transient volatile HostTraits read;

    private SealedLuggage(
            String file,
            Secret key,
            long archiveBytes,
            long contentBytes,
            String host,
            boolean treeEnded,
            @CheckForNull String base) {
        this.file = file;
        this.key = key;
        this.archiveBytes = archiveBytes;
        this.contentBytes = contentBytes;
        this.host = host;
        this.treeEnded = treeEnded;
        this.base = base;
    }

    /** Whether it is what the other one is, but for what became of the processes: each is sealed with a key of its own. */
    public boolean isSame(SealedLuggage other) {
        return key.getPlainText().equals(other.key.getPlainText());
    }

    /**
     * One whose stage's processes are still frozen.
     *
     * @param file its name beside the image's
     * @param contentBytes of all files in it
     * @param host that the stage was suspended on
     */
    public static SealedLuggage of(String file, Secret key, long archiveBytes, long contentBytes, HostTraits host) {
        try {
            return new SealedLuggage(file, key, archiveBytes, contentBytes, JSON.writeValueAsString(host), false, null);
        } catch (JsonProcessingException x) {
            throw new IllegalArgumentException("a host's traits cannot be written", x);
        }
    }

    /** The same; whether no process of the stage is left on the host, nor can begin there unless it is asked to. */
    public SealedLuggage withTreeEnded(boolean ended) {
        return ended == treeEnded ? this : new SealedLuggage(file, key, archiveBytes, contentBytes, host, ended, base);
    }

    /** The same, which refers to another archive for what did not change; null = to none. */
    public SealedLuggage against(@CheckForNull String full) {
        return new SealedLuggage(file, key, archiveBytes, contentBytes, host, treeEnded, full);
    }

    /** Name of the archive beside it that it refers to, sealed with the same key; null when it holds everything. */
    @CheckForNull
    public String base() {
        return base;
    }

    /** Its name beside the image's. */
    public String file() {
        return file;
    }

    /** Never shown. */
    public Secret key() {
        return key;
    }

    public long archiveBytes() {
        return archiveBytes;
    }

    public long contentBytes() {
        return contentBytes;
    }

    /** The host that the stage was suspended on; null when that cannot be read any more. */
    @CheckForNull
    public HostTraits host() {
        HostTraits known = read;
        if (known != null) {
            return known;
        }
        try {
            known = JSON.readValue(host, HostTraits.class);
            read = known;
            return known;
        } catch (JsonProcessingException | IllegalArgumentException x) {
            LOGGER.log(Level.WARNING, x, () -> "what is kept of a host cannot be read");
            return null;
        }
    }

    /**
     * Whether the host has answered that no process of the stage is left there. False after the stage was asked to resume
     * there, until it is known that it does not.
     */
    public boolean treeEnded() {
        return treeEnded;
    }
}
