package io.jenkins.plugins.preemptible.engine.content.format;

import java.io.IOException;

/**
 * Says that a file of an image is not what CRIU writes, or is not all there.
 *
 * <ol>
 *   <li>It names the file and what is wrong with it.
 *   <li>It is thrown while the image is only read: nothing was changed.
 *   <li>An image that was authenticated and still throws it comes from another version of CRIU, or is a mistake here.
 * </ol>
 */
public final class ContentException extends IOException {

    private static final long serialVersionUID = 1L;

    public ContentException(String file, String finding, Throwable cause) {
        super(file + " is not as CRIU 4.2 writes it: " + finding, cause);
    }

    private ContentException(String message) {
        super(message);
    }

    /** The image is a difference, and what is asked for did not change since its parent. */
    public static ContentException inParent(String file) {
        return new ContentException(file + " is partly in the image's parent, which is not read here");
    }
}
