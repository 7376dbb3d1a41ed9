package io.jenkins.plugins.preemptible.engine.api;

import java.util.Optional;

/**
 * The last check of a stage whose tree is frozen and not dumped yet.
 *
 * <ol>
 *   <li>The engine freezes the tree and calls the guard: nothing of the stage moves while the guard checks.
 *   <li>An empty answer allows the dump.
 *   <li>A sentence stops it: the tree is thawed and the sentence becomes the failure's message.
 * </ol>
 *
 * Called on the thread that dumps, with the stage's lock held: it must not call the engine for the same stage. An
 * exception from it counts as an objection.
 */
@FunctionalInterface
public interface DumpGuard {

    /** Never objects. */
    DumpGuard NONE = id -> Optional.empty();

    /** Returns why the stage must not be dumped now, as one sentence for people, or empty. */
    Optional<String> objection(StageId id);
}
