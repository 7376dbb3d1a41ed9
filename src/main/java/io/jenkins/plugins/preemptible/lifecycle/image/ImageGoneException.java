package io.jenkins.plugins.preemptible.lifecycle.image;

import java.io.IOException;

/** The image of a stage cannot come back by waiting. */
public final class ImageGoneException extends IOException {
    private static final long serialVersionUID = 1L;

    public ImageGoneException(String message) {
        super(message);
    }
}
