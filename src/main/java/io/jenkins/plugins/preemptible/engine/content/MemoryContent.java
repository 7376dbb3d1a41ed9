package io.jenkins.plugins.preemptible.engine.content;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * How much memory of one kind there is.
 *
 * @param mapped bytes of address space
 * @param stored bytes of pages that are in the image
 */
public record MemoryContent(long mapped, long stored) {

    static final MemoryContent NONE = new MemoryContent(0, 0);

    /** In the order of the kinds, and not to be changed. */
    static Map<MemoryKind, MemoryContent> inOrder(Map<MemoryKind, MemoryContent> memory) {
        Map<MemoryKind, MemoryContent> ordered = new EnumMap<>(MemoryKind.class);
        ordered.putAll(memory);
        return Collections.unmodifiableMap(ordered);
    }

    MemoryContent plus(MemoryContent other) {
        return new MemoryContent(mapped + other.mapped, stored + other.stored);
    }
}
