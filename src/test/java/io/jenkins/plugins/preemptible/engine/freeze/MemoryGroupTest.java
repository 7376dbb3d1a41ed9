package io.jenkins.plugins.preemptible.engine.freeze;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MemoryGroupTest {

    @TempDir
    Path group;

    private void has(String file, String text) throws IOException {
        Files.writeString(group.resolve(file), text);
    }

    @Test
    void ofVersionOneWithAllGroupsBelow() throws IOException {
        has("memory.usage_in_bytes", "1000\n");
        has("memory.stat", "inactive_file 1\ntotal_cache 900\ntotal_inactive_file 300\n");
        assertEquals(700, MemoryGroup.first(group));
    }

    @Test
    void ofVersionTwo() throws IOException {
        has("memory.current", "1000\n");
        has("memory.stat", "anon 5\ninactive_file 200\nactive_file 7\n");
        assertEquals(800, MemoryGroup.second(group));
        has("memory.stat", "inactive_file 2000\n");
        assertEquals(0, MemoryGroup.second(group), "the two are read one after the other");
    }

    @Test
    void withoutTheControllerNothingIsKnown() {
        assertEquals(0, MemoryGroup.first(group));
        assertEquals(0, MemoryGroup.second(group));
        assertEquals(0, MemoryGroup.bytes(List.of()));
    }
}
