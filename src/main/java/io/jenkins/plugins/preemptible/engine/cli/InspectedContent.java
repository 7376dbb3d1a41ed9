package io.jenkins.plugins.preemptible.engine.cli;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import io.jenkins.plugins.preemptible.engine.content.ImageContent;

/** The content of an image that was inspected, if this version can read it. */
sealed interface InspectedContent {

    record Known(@JsonUnwrapped ImageContent content) implements InspectedContent {}

    /**
     * An image of another version of CRIU, for instance.
     *
     * @param contentMissing why it cannot be read, for people
     */
    record Missing(String contentMissing) implements InspectedContent {}
}
