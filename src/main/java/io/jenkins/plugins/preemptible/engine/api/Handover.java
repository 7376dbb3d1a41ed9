package io.jenkins.plugins.preemptible.engine.api;

/**
 * When the executor of a stage that is being suspended may be given to the preemptor.
 *
 * <ol>
 *   <li>{@code Engine.freeze} decides it once for each suspension, from what the host tells of its memory.
 *   <li>The frozen tree still has its memory until the dump is done and committed: the preemptor needs room beside it.
 *   <li>{@link #sentence} is for people and goes into logs; the constant is for programs.
 * </ol>
 */
public enum Handover {
    /** From the freeze on; the dump follows at idle priority while the preemptor runs. */
    AT_FREEZE(
            "The executor is free from the freeze on, since the host has memory enough for the preemptor beside the frozen"
                    + " stage"),
    /** Not before the dump is committed; the dump runs at normal priority, since the preemptor waits for it. */
    AFTER_DUMP(
            "The executor is free only after the dump, since the host is short of memory while the frozen stage has its own");

    private final String sentence;

    Handover(String sentence) {
        this.sentence = sentence;
    }

    public String sentence() {
        return sentence;
    }
}
