package io.jenkins.plugins.preemptible.engine;

import java.util.ArrayList;
import java.util.List;

/** How these tests start a JVM of their own, whose output they read. */
public final class JavaCommand {

    private JavaCommand() {}

    /** The running JVM's {@code java}, and what keeps newer ones from warning of native code in JNR, zstd and Protobuf. */
    public static List<String> words(String... more) {
        List<String> words = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java"));
        if (Runtime.version().feature() >= 24) {
            words.addAll(List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"));
        }
        words.addAll(List.of(more));
        return words;
    }
}
