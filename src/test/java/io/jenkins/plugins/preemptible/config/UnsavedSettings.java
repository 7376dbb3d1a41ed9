package io.jenkins.plugins.preemptible.config;

/** Settings that tests of other packages change without a file. */
public final class UnsavedSettings {

    private UnsavedSettings() {}

    /** Those of a new installation. */
    public static PreemptibleConfiguration fresh() {
        return new PreemptibleConfiguration(new PreemptibleConfiguration());
    }

    /** Gives Jenkins those of a new installation. */
    public static void reset() {
        PreemptibleConfiguration.get().take(new PreemptibleConfiguration());
    }
}
